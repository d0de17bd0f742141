// Connections that carry streams: over a WebSocket, and over SPDY/3.1 to servers that know no WebSocket for it
// (upstream: client-go/tools/remotecommand/fallback.go and tools/portforward/fallback_dialer.go).
import { ApiError } from "#base/errors.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { ByteStream } from "#wire/streams/byte-stream.ts";
import { tunnelPrefix } from "#wire/streams/port-forward.ts";
import { SpdyConnection } from "#wire/streams/spdy.ts";
import { type WebSocket, webSocketTunnel } from "#wire/streams/websocket.ts";
import { clientWebSocket, WebSocketHandshakeError, webSocketHandshake } from "#wire/streams/websocket-client.ts";
import type { Query } from "../../rest/request.ts";
import type { Session } from "../../session.ts";

export interface UpgradeRequest {
  readonly path: string;
  readonly query?: Query;
  /** Ends it; the session's own signal always does. */
  readonly signal?: AbortSignal;
}

/** Whether a server's answer means that it knows no WebSocket here, or leaves that open. */
const mayKnowSpdyOnly = (error: unknown): boolean =>
  error instanceof ApiError || error instanceof WebSocketHandshakeError;

/** As upstream reads its switches: anything but a plain no leaves them on. */
export const isSwitchedOff = (value: string | undefined): boolean =>
  ["false", "0", "no", "n", "off"].includes(value?.toLowerCase() ?? "");

/** Runs `first` over a WebSocket, or `second` over SPDY where the server does not agree to one. */
export async function withFallback<T>(isFirst: boolean, first: () => Promise<T>, second: () => Promise<T>): Promise<T> {
  if (!isFirst) return second();
  try {
    return await first();
  } catch (error) {
    if (!(error instanceof UpgradeRefusal)) throw error;
    return second();
  }
}

/** The server does not agree to a WebSocket; nothing has been sent over it. */
class UpgradeRefusal extends Error {}

/** A WebSocket to a path of the server; it is closed when `run` is over. Rejects with UpgradeRefusal for `withFallback`. */
export async function overWebSocket<T>(
  session: Session,
  request: UpgradeRequest,
  protocol: string,
  run: (socket: WebSocket) => Promise<T>,
): Promise<T> {
  const { clock, random } = session.io;
  const handshake = webSocketHandshake([protocol], random.bytes(16));
  const connection = await upgraded(session, request, handshake.headers, handshake.protocolOf).catch(
    (error: unknown) => {
      throw mayKnowSpdyOnly(error) ? new UpgradeRefusal("", { cause: error }) : error;
    },
  );
  const socket = clientWebSocket(connection, { clock, newMask: () => random.bytes(4) });
  return during(session, request, socket, () => run(socket));
}

class SpdyRefusal extends Error {}

/** A connection on which the server speaks SPDY; it is closed when `run` is over. */
export async function overSpdy<T>(
  session: Session,
  request: UpgradeRequest,
  protocol: string,
  run: (spdy: SpdyConnection, over: Promise<void>) => Promise<T>,
): Promise<T> {
  const headers = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": protocol };
  const connection = await upgraded(session, { ...request, isSpdy: true }, headers, async () => protocol).catch(
    (error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      throw new SpdyRefusal(`unable to upgrade connection: ${error.message}`, { cause: error });
    },
  );
  return during(session, request, connection, () => speakSpdy(connection, run));
}

/** The same SPDY inside a WebSocket, as servers since 1.31 take it for port-forward. */
export const overTunnel = <T>(
  session: Session,
  request: UpgradeRequest,
  protocol: string,
  run: (spdy: SpdyConnection, over: Promise<void>) => Promise<T>,
): Promise<T> =>
  overWebSocket(session, request, tunnelPrefix + protocol, (socket) => speakSpdy(webSocketTunnel(socket), run));

async function speakSpdy<T>(
  connection: ByteStream,
  run: (spdy: SpdyConnection, over: Promise<void>) => Promise<T>,
): Promise<T> {
  const spdy = new SpdyConnection({ connection, role: "client", compression: spdyCompression(), cancelEnds: true });
  const over = spdy.run().catch(() => undefined); // an error of the connection also fails its streams
  try {
    return await run(spdy, over);
  } finally {
    connection.destroy();
    await over;
  }
}

async function upgraded(
  session: Session,
  { path, query, signal, isSpdy = false }: UpgradeRequest & { readonly isSpdy?: boolean },
  headers: Readonly<Record<string, string>>,
  check: (answer: Readonly<Record<string, string | readonly string[] | undefined>>) => Promise<string>,
): Promise<ByteStream> {
  const {
    socket,
    head,
    headers: answer,
  } = await (await session.client()).upgrade({
    method: isSpdy ? "POST" : "GET",
    path,
    ...(query && { query }),
    ...(signal && { signal }),
    headers,
  });
  const connection = socketStream(socket, head);
  try {
    await check(answer);
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return connection;
}

/** Drops the connection when the person has had enough, and when `run` is over. */
async function during<T>(
  { io }: Session,
  { signal = io.signal }: UpgradeRequest,
  connection: { destroy(reason?: Error): void },
  run: () => Promise<T>,
): Promise<T> {
  const either = AbortSignal.any([io.signal, signal]);
  const interrupted = () => connection.destroy(new Error("interrupted"));
  either.addEventListener("abort", interrupted, { once: true });
  if (either.aborted) interrupted();
  try {
    return await run();
  } catch (error) {
    throw either.aborted ? either.reason : error;
  } finally {
    either.removeEventListener("abort", interrupted);
    connection.destroy();
  }
}
