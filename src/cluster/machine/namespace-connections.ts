// Connections that begin inside a network namespace, for servers that listen on its loopback: nobody outside of it can reach those, pods included.
import type { Socket } from "node:net";
import { openInNamespace } from "./open-in-namespace.ts";

/** To enter the namespace takes some 50 ms, whether for one connection or for several: a browser asks for many at once. */
const batch = 4;

interface Address {
  readonly host: string;
  readonly port: number;
}

export class NamespaceConnections {
  readonly #namespace: string;
  /** Open and unused, by where they lead. Those that the other end closes leave by themselves. */
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
    socket.resume().unref(); // only who reads is told of an end; servers say nothing before they are asked
  }

  #take(key: string, socket: Socket): Socket {
    const spare = this.#spare.get(key);
    spare?.delete(socket);
    if (spare?.size === 0) this.#spare.delete(key);
    for (const event of ["close", "error", "end"]) socket.removeAllListeners(event);
    return socket.ref();
  }
}
