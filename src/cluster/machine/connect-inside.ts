// Connections that begin inside a network namespace, for servers that listen on its loopback: nobody outside of it can reach those, pods included.
import type { Socket } from "node:net";
import { openInside } from "./open-inside.ts";

/** To enter the namespace takes some 50 ms, whether for one connection or for several: a browser asks for many at once. */
const batch = 4;

interface Address {
  readonly host: string;
  readonly port: number;
}

export class InsideConnections {
  readonly #namespace: string;
  /** Open and unused, by where they lead. Those that the other end closes leave by themselves. */
  readonly #spare = new Map<string, Set<Socket>>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  async connect({ host, port }: Address, signal: AbortSignal): Promise<Socket> {
    const place = `${host} ${port}`;
    const [known] = this.#spare.get(place) ?? [];
    if (known) return this.#taken(place, known);
    const wanted = { address: host, port, protocol: "connection" } as const;
    const opened = await openInside(
      this.#namespace,
      Array.from({ length: batch }, () => wanted),
      signal,
    );
    const sockets = opened.flatMap((one) => (one.protocol === "connection" ? [one.socket] : []));
    const [first, ...others] = sockets;
    if (!first) throw new Error(`no connection to ${host}:${port} came back`);
    for (const socket of others) this.#keep(place, socket);
    return first;
  }

  #keep(place: string, socket: Socket): void {
    const spare = this.#spare.get(place) ?? new Set();
    this.#spare.set(place, spare.add(socket));
    const gone = () => {
      socket.destroy();
      spare.delete(socket);
      if (spare.size === 0) this.#spare.delete(place);
    };
    for (const event of ["close", "error", "end"]) socket.once(event, gone);
    socket.resume().unref(); // only who reads is told of an end; servers say nothing before they are asked
  }

  #taken(place: string, socket: Socket): Socket {
    const spare = this.#spare.get(place);
    spare?.delete(socket);
    if (spare?.size === 0) this.#spare.delete(place);
    for (const event of ["close", "error", "end"]) socket.removeAllListeners(event);
    return socket.ref();
  }
}
