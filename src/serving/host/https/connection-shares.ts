import type { Socket } from "node:net";
import type { Log } from "#base/log.ts";

/** Keeps one address from taking all connections: it gets half of them at most, whoever is behind it. */
export class ConnectionShares {
  readonly #share: number;
  readonly #log: Log;
  readonly #counts = new Map<string, number>();

  /** Without a limit of connections there are no shares of it. */
  constructor(connections: number | undefined, log: Log) {
    this.#share = connections === undefined ? Number.POSITIVE_INFINITY : Math.ceil(connections / 2);
    this.#log = log;
  }

  /** Whether the connection may stay; one that may not is dropped. */
  take(socket: Socket): boolean {
    const address = socket.remoteAddress ?? "";
    const count = this.#counts.get(address) ?? 0;
    if (count >= this.#share) {
      this.#log.warn("connection dropped: too many are open from one address", { address, limit: this.#share });
      socket.destroy();
      return false;
    }
    this.#counts.set(address, count + 1);
    socket.once("close", () => {
      const left = (this.#counts.get(address) ?? 1) - 1;
      if (left === 0) this.#counts.delete(address);
      else this.#counts.set(address, left);
    });
    return true;
  }
}
