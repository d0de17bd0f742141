/** The connection to the server failed, so it is unknown whether a write was done. The caller reads again, or resumes its watch. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}
