/** Nobody answers: the node is switched off. */
export class NodeUnreachable extends Error {
  override readonly name = "NodeUnreachable";
}
