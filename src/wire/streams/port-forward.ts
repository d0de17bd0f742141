// The server's side of port-forward. Three ways lead to it: SPDY with a pair of streams for each connection, the same SPDY
// inside a WebSocket, and a WebSocket with a pair of channels for each port that the query names.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { HttpResponse } from "../http.ts";
import { ByteQueue } from "./byte-queue.ts";
import { type ByteStream, serveWhileMoving } from "./byte-stream.ts";
import { decodeChannelMessage, sendOnChannel } from "./channels.ts";
import { type SpdyCompression, SpdyConnection, type SpdyStream } from "./spdy.ts";
import { acceptSpdy } from "./spdy-upgrade.ts";
import {
  acceptWebSocket,
  isWebSocketRequest,
  offeredProtocols,
  refusal,
  type WebSocket,
  webSocketTunnel,
} from "./websocket.ts";

/** Connects a stream with a port of the pod until both are done. The client gets the message of its rejection. */
export type PortForwarder = (port: number, stream: ByteStream, signal: AbortSignal) => Promise<void>;

export interface PortForwardServer {
  /** For messages: `web, uid 1234`. */
  readonly pod: string;
  readonly forward: PortForwarder;
  readonly compression: () => SpdyCompression;
  readonly clock: Clock;
  /** How long the second stream of a pair may keep the first waiting. */
  readonly creationMs?: number;
  readonly idleMs?: number;
}

const portForwardProtocol = "portforward.k8s.io";
export const tunnelPrefix = "SPDY/3.1+";
const channelProtocols = ["", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"];
const fourHours = 4 * 3600 * 1000;
const queueLimit = 256 * 1024;

export const isTunnelRequest = (request: { readonly headers: Readonly<Record<string, string | undefined>> }): boolean =>
  isWebSocketRequest(request) && tunnelledProtocols(request.headers).length > 0;

/** The SPDY protocols a client wants to speak inside its WebSocket. */
export const tunnelledProtocols = (headers: Readonly<Record<string, string | undefined>>): readonly string[] =>
  offeredProtocols(headers)
    .filter((name) => name.startsWith(tunnelPrefix) && name.endsWith(".k8s.io"))
    .map((name) => name.slice(tunnelPrefix.length));

export async function servePortForward(
  request: { readonly headers: Readonly<Record<string, string | undefined>>; readonly query: URLSearchParams },
  server: PortForwardServer,
): Promise<HttpResponse> {
  const { clock, idleMs = fourHours } = server;
  const response = await answer(request, server);
  const { upgraded } = response;
  return upgraded ? { ...response, upgraded: (stream) => serveWhileMoving(stream, clock, idleMs, upgraded) } : response;
}

async function answer(
  { headers, query }: Parameters<typeof servePortForward>[0],
  server: PortForwardServer,
): Promise<HttpResponse> {
  if (!isWebSocketRequest({ headers }))
    return acceptSpdy(headers, {
      protocols: [portForwardProtocol],
      serve: (connection) => overSpdy(connection, server),
    });
  if (isTunnelRequest({ headers }))
    return acceptWebSocket(headers, {
      protocols: [tunnelPrefix + portForwardProtocol],
      serve: (socket) => overSpdy(webSocketTunnel(socket), server),
    });
  const ports = query.getAll("port").flatMap((text) => text.split(","));
  if (ports.length === 0) return refusal(400, 'query parameter "port" is required');
  const wrong = ports.find((text) => portOf(text) === undefined);
  if (wrong !== undefined) return refusal(400, `unable to parse ${JSON.stringify(wrong)} as a port`);
  if (ports.length > 100) return refusal(400, `${ports.length} ports are too many for one connection`);
  return acceptWebSocket(headers, {
    protocols: channelProtocols,
    serve: (socket, protocol) => overChannels(socket, protocol, ports.map(Number), server),
  });
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65535 ? port : undefined;
}

interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  cancel: () => void;
}

async function overSpdy(connection: ByteStream, server: PortForwardServer): Promise<void> {
  const { clock, creationMs = 30_000 } = server;
  const gone = new AbortController();
  const pairs = new Map<string, Pair>();
  const accept = (stream: SpdyStream) => {
    const { port, streamtype: type, requestid } = stream.headers;
    if (portOf(port) === undefined) throw new Error(`unable to parse ${JSON.stringify(port)} as a port`);
    if (type !== "data" && type !== "error") throw new Error(`invalid stream type ${JSON.stringify(type)}`);
    // Clients that send no id open the error stream and then, next to it, the data stream.
    const id = requestid || String(type === "error" ? stream.id : stream.id - 2);
    const pair = pairs.get(id) ?? begin(id);
    if (pair[type]) throw new Error(`${type} stream already assigned`);
    pair[type] = stream;
    if (!pair.data || !pair.error) return;
    pair.cancel();
    pairs.delete(id);
    void forwardPair(pair.data, pair.error, server, gone.signal);
  };
  const begin = (id: string): Pair => {
    const pair: Pair = {
      cancel: clock.after(creationMs, () => {
        pairs.delete(id);
        for (const stream of [pair.data, pair.error]) stream?.destroy(new Error("timed out waiting for streams"));
      }),
    };
    pairs.set(id, pair);
    return pair;
  };
  const spdy = new SpdyConnection({ connection, role: "server", compression: server.compression(), accept });
  try {
    await spdy.run();
  } finally {
    gone.abort(new Error("the client is gone"));
    for (const pair of pairs.values()) pair.cancel();
  }
}

async function forwardPair(
  data: SpdyStream,
  error: SpdyStream,
  server: PortForwardServer,
  signal: AbortSignal,
): Promise<void> {
  const port = Number(data.headers.port);
  try {
    await server.forward(port, data, signal);
    await data.end();
    await error.end();
  } catch (cause) {
    if (signal.aborted) return;
    // kubectl resets streams that it has read to the end, and drops all connections when one reports an error.
    if (!data.isCancelled) await error.write(failureText(port, server, cause)).catch(() => undefined); // the client may have left meanwhile
    await error.end().catch(() => undefined);
    data.destroy();
  }
}

async function overChannels(
  socket: WebSocket,
  protocol: string,
  ports: readonly number[],
  server: PortForwardServer,
): Promise<void> {
  const gone = new AbortController();
  const queues = ports.map(() => new ByteQueue(queueLimit));
  const reading = (async () => {
    for await (const message of socket.messages) {
      const event = decodeChannelMessage(protocol, message);
      if (event?.type === "data" && event.channel % 2 === 0) await queues[event.channel / 2]?.push(event.data);
    }
  })();
  const over = (error: unknown) => {
    const reason = error instanceof Error ? error : new Error("the client is gone");
    for (const queue of queues) queue.fail(reason);
    gone.abort(reason);
  };
  reading.then(over, over);

  const send = (channel: number, data: Uint8Array) => sendOnChannel(socket, protocol, channel, data);
  await Promise.all(
    ports.map(async (port, i) => {
      const number = new Uint8Array([port & 0xff, port >> 8]);
      await send(2 * i, number);
      await send(2 * i + 1, number);
      const input = queues[i] ?? new ByteQueue(0);
      const stream: ByteStream = {
        input,
        write: (bytes) => send(2 * i, bytes),
        end: async () => input.end(), // a channel cannot be half closed: when the pod is done, so is the client
        destroy: (reason) => input.fail(reason ?? new Error("the connection was dropped")),
      };
      try {
        await server.forward(port, stream, gone.signal);
      } catch (error) {
        if (!gone.signal.aborted) await send(2 * i + 1, failureText(port, server, error));
      }
    }),
  );
  await socket.close();
}

const failureText = (port: number, { pod }: PortForwardServer, cause: unknown): Uint8Array =>
  new TextEncoder().encode(`error forwarding port ${port} to pod ${pod}: ${explain(cause)}`);
