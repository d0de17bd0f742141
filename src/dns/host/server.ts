// The sockets of a DNS server.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { createServer, isIPv6, type Server, type Socket as TcpSocket } from "node:net";
import type { Log } from "#base/log.ts";
import type { DnsTransport } from "../message.ts";

/** Answers a message; undefined for what is no query. */
export interface DnsAnswerer {
  answer(query: Buffer, transport: DnsTransport, client: string): Buffer | Promise<Buffer> | undefined;
}

export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface DnsServerOptions {
  readonly resolver: DnsAnswerer;
  readonly address: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly log: Log;
}

const tcp = { idleMs: 10_000, connections: 1_000, inFlight: 100 };

/** Serves over UDP and TCP on one port. Rejects if it cannot have the port. */
export async function serveDns(options: DnsServerOptions): Promise<DnsServer> {
  const { address } = options;
  const open = new Set<TcpSocket>();
  const stream = createServer((socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    serveStream(socket, options);
  });
  stream.maxConnections = tcp.connections;
  const port = await listen(stream, options);
  const datagrams = createSocket({ type: isIPv6(address) ? "udp6" : "udp4" });
  datagrams.on("message", (query, from) => {
    const reply = options.resolver.answer(query, "udp", from.address);
    if (reply === undefined) return;
    const send = (bytes: Buffer) => datagrams.send(bytes, from.port, from.address);
    if (Buffer.isBuffer(reply)) send(reply);
    else reply.then(send, (error: unknown) => options.log.error("dns question failed", { error }));
  });
  try {
    await bound(datagrams, address, port);
  } catch (error) {
    stream.close();
    throw error;
  }
  // A datagram to a client that is gone comes back as an error of the socket, and is ignored.
  datagrams.on("error", (error) => options.log.debug("dns datagram was refused", { error: error.message }));
  return {
    port,
    async close() {
      datagrams.close();
      stream.close();
      for (const socket of open) socket.destroy(); // idle connections would keep the server open
      await once(stream, "close");
    },
  };
}

async function listen(server: Server, { address, port }: DnsServerOptions): Promise<number> {
  server.listen(port, address);
  await once(server, "listening");
  const place = server.address();
  return typeof place === "object" && place ? place.port : port;
}

async function bound(socket: Socket, address: string, port: number): Promise<void> {
  socket.bind(port, address);
  await once(socket, "listening");
}

/** Each message is preceded by its length; answers go back in the order in which they are ready. */
function serveStream(socket: TcpSocket, { resolver, log }: DnsServerOptions): void {
  let got = Buffer.alloc(0);
  let waiting = 0;
  const client = socket.remoteAddress ?? "";
  socket.setTimeout(tcp.idleMs, () => socket.destroy());
  socket.on("error", () => undefined); // the asker went away
  const send = (bytes: Buffer) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    if (socket.writable) socket.write(Buffer.concat([length, bytes]));
  };
  socket.on("data", (bytes: Buffer) => {
    got = Buffer.concat([got, bytes]);
    while (got.length >= 2 && got.length >= 2 + got.readUInt16BE(0)) {
      const query = got.subarray(2, 2 + got.readUInt16BE(0));
      got = got.subarray(2 + query.length);
      const reply = resolver.answer(query, "tcp", client);
      if (reply === undefined || waiting >= tcp.inFlight) {
        socket.destroy();
        return;
      }
      if (Buffer.isBuffer(reply)) {
        send(reply);
        continue;
      }
      waiting++;
      reply
        .then(send, (error: unknown) => log.error("dns question failed", { error }))
        .finally(() => {
          waiting--;
        });
    }
  });
}
