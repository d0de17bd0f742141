// A WebSocket: the server's handshake, and messages over the connection it yields; for a client's see websocket-client.ts.
// Written here and not taken from a library, because libraries want a Node socket, and ours may be a pair of queues in one process (docs/decisions/0006-own-websocket-frames.md).
import { toBase64 } from "#base/base64.ts";
import type { HttpResponse } from "../http.ts";
import type { ByteStream } from "./byte-stream.ts";
import {
  concat,
  encodeWebSocketFrame,
  WebSocketError,
  type WebSocketFrame,
  WebSocketFrameReader,
} from "./websocket-frames.ts";

export interface WebSocket {
  /** Whole messages, text as its bytes. Pings are answered while they are read. Ends when the client closes; throws WebSocketError. */
  readonly messages: AsyncIterable<Uint8Array>;
  send(type: "text" | "binary", data: Uint8Array): Promise<void>;
  /** Asks whether the other side is still there. */
  ping(): Promise<void>;
  /** Says goodbye; the client may still be talking. */
  close(code?: number, reason?: string): Promise<void>;
  destroy(reason?: Error): void;
}

export interface WebSocketMessage {
  readonly type: "text" | "binary";
  readonly data: Uint8Array;
}

/**
 * Sends all messages, then says goodbye. Whatever the client says is read, for its pings and its own goodbye, and forgotten. `over` is
 * aborted when the client has left, so that whoever makes the messages can stop.
 */
export async function sendMessages(
  socket: WebSocket,
  messages: AsyncIterable<WebSocketMessage>,
  over: AbortController,
): Promise<void> {
  const reading = (async () => {
    for await (const _ of socket.messages);
  })();
  const left = () => over.abort(new Error("the client has left"));
  reading.then(left, left); // a client that broke the protocol got a closing frame, and has left as well
  try {
    for await (const { type, data } of messages) await socket.send(type, data);
  } catch (error) {
    if (!over.signal.aborted) throw error;
  }
  await socket.close();
}

type Headers = Readonly<Record<string, string | undefined>>;

/** By the same rule as Node's parser, which decides whether what follows is a body. */
export const isUpgradeRequest = ({ headers }: { readonly headers: Headers }): boolean =>
  headers.upgrade !== undefined && /(^|,)[ \t]*upgrade[ \t]*(,|$)/i.test(headers.connection ?? "");

export const isWebSocketRequest = (request: { readonly headers: Headers }): boolean =>
  isUpgradeRequest(request) && request.headers.upgrade?.toLowerCase() === "websocket";

/** The subprotocols a client offers, in its order. */
export const offeredProtocols = (headers: Headers): readonly string[] =>
  (headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "");

export interface WebSocketOptions {
  /** What the server speaks; the empty name stands for clients that offer nothing. */
  readonly protocols: readonly string[];
  /** Longest message, in bytes. */
  readonly messageLimit?: number;
  readonly serve: (socket: WebSocket, protocol: string) => Promise<void>;
}

/** The answer to a client that asks for a WebSocket: the switch, or why not. */
export async function acceptWebSocket(headers: Headers, options: WebSocketOptions): Promise<HttpResponse> {
  const { protocols, messageLimit = 16 * 1024 * 1024, serve } = options;
  const key = headers["sec-websocket-key"]?.trim() ?? "";
  if (headers["sec-websocket-version"]?.trim() !== "13")
    return refusal(400, "missing or bad WebSocket Version", { "sec-websocket-version": "13" });
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) return refusal(400, "missing or bad WebSocket-Key");
  const offered = offeredProtocols(headers);
  const protocol = (offered.length === 0 ? [""] : offered).find((name) => protocols.includes(name));
  if (protocol === undefined)
    return refusal(
      403,
      `requested protocol(s) are not supported: [${offered.join(" ")}]; supports [${protocols.join(" ")}]`,
    );
  return {
    code: 101,
    headers: {
      upgrade: "websocket",
      connection: "Upgrade",
      "sec-websocket-accept": await acceptKey(key),
      ...(protocol !== "" && { "sec-websocket-protocol": protocol }),
    },
    body: "",
    upgraded: (stream) => serve(webSocket(stream, messageLimit), protocol),
  };
}

export const refusal = (code: number, text: string, headers: Readonly<Record<string, string>> = {}): HttpResponse => ({
  code,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body: `${text}\n`,
});

/** What a server answers to a client's key, so that the client knows that it was heard. */
export async function acceptKey(key: string): Promise<string> {
  const text = new TextEncoder().encode(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
  return toBase64(new Uint8Array(await crypto.subtle.digest("SHA-1", text)));
}

/** With `newMask` it is the client's side. `onPong` is told of each answer to a ping. */
export function webSocket(
  stream: ByteStream,
  messageLimit: number,
  { newMask, onPong }: { readonly newMask?: () => Uint8Array; readonly onPong?: () => void } = {},
): WebSocket {
  let closed = false;
  const send = async (opcode: WebSocketFrame["opcode"], payload: Uint8Array) => {
    if (!closed) await stream.write(encodeWebSocketFrame(opcode, payload, newMask?.()));
  };
  const close = async (code = 1000, reason = "") => {
    if (closed) return;
    const text = new TextEncoder().encode(reason).subarray(0, 123);
    const sent = send("close", concat(new Uint8Array([code >> 8, code & 0xff]), text));
    closed = true;
    await sent;
    await stream.end();
  };

  async function* messages(): AsyncGenerator<Uint8Array> {
    const reader = new WebSocketFrameReader(messageLimit, newMask ? "server" : "client");
    let parts: Uint8Array[] | undefined;
    try {
      for await (const bytes of stream.input) {
        for (const { opcode, fin, payload } of reader.feed(bytes)) {
          // Whoever has said all may be gone before it hears us; what it said still counts.
          if (opcode === "ping") await send("pong", payload).catch(() => undefined);
          else if (opcode === "pong") onPong?.();
          else if (opcode === "close") return await close(1000).catch(() => undefined);
          else {
            if ((opcode === "continuation") === (parts === undefined))
              throw new WebSocketError(1002, `a frame of type ${opcode} came out of turn`);
            parts = [...(parts ?? []), payload];
            if (parts.reduce((size, part) => size + part.length, 0) > messageLimit || parts.length > 4096)
              throw new WebSocketError(
                1009,
                `a message is larger than ${messageLimit} bytes or in more than 4096 parts`,
              );
            if (!fin) continue;
            const [only] = parts;
            yield parts.length === 1 && only ? only : concat(...parts);
            parts = undefined;
          }
        }
      }
    } catch (error) {
      if (error instanceof WebSocketError) await close(error.code, error.message);
      throw error;
    }
  }

  const ping = () => send("ping", new Uint8Array());
  return { messages: messages(), send, ping, close, destroy: (reason) => stream.destroy(reason) };
}

/** The bytes that binary messages carry, as a connection of their own: how SPDY travels inside a WebSocket. */
export function webSocketTunnel(socket: WebSocket): ByteStream {
  return {
    input: socket.messages,
    write: (bytes) => socket.send("binary", bytes),
    end: () => socket.close(),
    destroy: (reason) => socket.destroy(reason),
  };
}
