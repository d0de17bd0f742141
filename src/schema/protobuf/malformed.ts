/** Bytes that are no message of the struct they were read as. Gathers the way to the field at fault while it passes up to the root. */
export class Malformed extends Error {
  override readonly name = "Malformed";
  path = "";

  /** Puts one more step in front of the path. */
  within(step: string): this {
    this.path = this.path === "" || this.path.startsWith("[") ? step + this.path : `${step}.${this.path}`;
    return this;
  }
}
