/** The node does not answer, since it is switched off. */
export class NodeUnreachable extends Error {
  override readonly name = "NodeUnreachable";
}
