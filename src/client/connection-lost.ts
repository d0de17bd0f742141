/** The connection to the server failed: whether a write was done is not known. Reading again, or watching on, is the cure. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}
