// A pool of connections that are opened inside a network namespace, to servers on its loopback, which nothing outside can reach.
import type { Socket } from "node:net";
import type { Address } from "./node-location.ts";
import { openInNamespace } from "./open-in-namespace.ts";

/** Entering the namespace takes some 50 ms, for one connection or several, and browsers open many at once. */
const batch = 4;

export class NamespaceConnections {
  readonly #namespace: string;
  /** Open and unused connections, by address. Those that the other end closes are removed. */
  readonly #spare = new Map<string, Set<Socket>>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  async connect({ host, port }: Address, signal: AbortSignal): Promise<Socket> {
    const key = `${host} ${port}`;
    const [spareSocket] = this.#spare.get(key) ?? [];
    if (spareSocket) return this.#take(key, spareSocket);
    const request = { address: host, port, protocol: "connection" } as const;
    const opened = await openInNamespace(
      this.#namespace,
      Array.from({ length: batch }, () => request),
      signal,
    );
    const sockets = opened.flatMap((one) => (one.protocol === "connection" ? [one.socket] : []));
    const [first, ...others] = sockets;
    if (!first) throw new Error(`no connection to ${host}:${port} came back`);
    for (const socket of others) this.#keep(key, socket);
    return first;
  }

  #keep(key: string, socket: Socket): void {
    const spare = this.#spare.get(key) ?? new Set();
    this.#spare.set(key, spare.add(socket));
    const discard = () => {
      socket.destroy();
      spare.delete(socket);
      if (spare.size === 0) this.#spare.delete(key);
    };
    for (const event of ["close", "error", "end"]) socket.once(event, discard);
    socket.resume().unref(); // a socket must be read to notice its end; servers send nothing before the first request
  }

  #take(key: string, socket: Socket): Socket {
    const spare = this.#spare.get(key);
    spare?.delete(socket);
    if (spare?.size === 0) this.#spare.delete(key);
    for (const event of ["close", "error", "end"]) socket.removeAllListeners(event);
    return socket.ref();
  }
}
