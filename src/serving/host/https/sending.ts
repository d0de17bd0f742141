// Answers on their way out: whole or as they come, compressed where that is worth it, by either protocol.
import { type IncomingMessage, ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Clock } from "#base/clock.ts";
import { closeGently, socketStream } from "#wire/host/streams/socket-stream.ts";
import { type HttpResponse, isParts, isStream } from "#wire/http.ts";
import { gzipped, type Joiner, pump } from "./body-pieces.ts";

const noHeaders: NonNullable<HttpResponse["headers"]> = {};

const zip = promisify(gzip);
/** Smaller answers are not worth the work; upstream draws the same line. */
const gzipFrom = 128 * 1024;
/** How long a client may take to read the end of an upgraded connection, or an answer that came before all was sent. */
const lingerMs = 1000;

/** The answer ready to be sent: compressed where that is wanted and worth it. */
export function encoded(
  response: HttpResponse,
  accepted: string | undefined,
  joiner: Joiner,
): Sendable | Promise<Sendable> {
  const { code, body, headers = noHeaders, upgraded } = response;
  if (isStream(body)) return { code, headers, body, upgraded };
  const size = isParts(body) ? body.size : body.length;
  const isZipped = size >= gzipFrom && accepted !== undefined && accepted.includes("gzip");
  if (!isZipped) return { code, headers, body: isParts(body) ? joiner.paced(body) : body, upgraded };
  const zipped = { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" };
  if (isParts(body)) return { code, headers: zipped, body: gzipped(joiner.pieces(body)), upgraded };
  return zip(body, { level: 1 }).then((bytes) => ({ code, headers: zipped, body: bytes, upgraded }));
}

export interface Sendable {
  readonly code: number;
  readonly headers: NonNullable<HttpResponse["headers"]>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly upgraded: HttpResponse["upgraded"];
}

export async function sendHttp1(response: ServerResponse, { code, headers, body }: Sendable): Promise<void> {
  if (code === 101) throw new Error("the connection cannot be upgraded");
  const head = { ...headers } as Record<string, string | string[] | number>;
  if (typeof body === "string" || body instanceof Uint8Array) {
    if (body.length > 0) head["content-length"] = Buffer.byteLength(body);
    response.writeHead(code, head).end(body);
    return;
  }
  response.writeHead(code, head);
  response.flushHeaders();
  await pump(response, body);
  response.end();
}

/** A request to upgrade, with the connection, and what came on it behind the request. */
export interface Upgrade {
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Hands the connection over, or answers as if nothing had been asked of it; in either case it is closed at the end. */
export async function sendUpgrade(
  { message, socket, head }: Upgrade,
  answer: Sendable,
  signal: AbortSignal,
): Promise<void> {
  if (!answer.upgraded) {
    const response = new ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    await sendHttp1(response, answer);
    return closeGently(socket, lingerMs);
  }
  const lines = Object.entries(answer.headers).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one) => `${name}: ${one}\r\n`),
  );
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
  const stop = () => socket.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await answer.upgraded(socketStream(socket, head));
  } finally {
    signal.removeEventListener("abort", stop);
    await closeGently(socket, lingerMs);
  }
}

export function sendHttp2(stream: ServerHttp2Stream, { code, headers, body }: Sendable): Promise<void> | undefined {
  if (stream.destroyed || stream.closed) return undefined;
  stream.respond(fieldsOf(code, headers));
  if (typeof body === "string" || body instanceof Uint8Array) {
    stream.end(body);
    return undefined;
  }
  return pump(stream, body).then(() => void stream.end());
}

/** Names and values in turn: of an object Node would make two others first. */
function fieldsOf(code: number, headers: Sendable["headers"]): string[] {
  const fields = [constants.HTTP2_HEADER_STATUS, String(code)];
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === "string") fields.push(name, value);
    else for (const one of value ?? []) fields.push(name, one);
  }
  return fields;
}

/** Whether the client has left meanwhile, which is no failure of the server. */
export const isDisconnect = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["ERR_HTTP2_INVALID_STREAM", "ERR_STREAM_DESTROYED", "EPIPE", "ECONNRESET", "ERR_STREAM_WRITE_AFTER_END"].includes(
    String(error.code),
  );

/** An answer may come before its request has. What still comes is read and forgotten for a while, so that the client gets to see the answer. */
export function lingerFor(message: IncomingMessage, clock: Clock): void {
  if (message.complete || message.destroyed) return;
  const cancel = clock.after(lingerMs, () => message.socket.destroy());
  for (const last of ["end", "close"]) message.once(last, cancel);
  message.resume();
}
