// The client's side of a WebSocket: what it sends to ask for one, and whether the answer is one.
import { toBase64 } from "#base/base64.ts";
import type { Clock } from "#base/clock.ts";
import type { ByteStream } from "./byte-stream.ts";
import { acceptKey, type WebSocket, webSocket } from "./websocket.ts";

/** The server's answer to a handshake is not one. */
export class WebSocketHandshakeError extends Error {
  override readonly name = "WebSocketHandshakeError";
}

export interface WebSocketHandshake {
  /** What the request for the upgrade carries. */
  readonly headers: Readonly<Record<string, string>>;
  /** The protocol that the server chose. Rejects with WebSocketHandshakeError. */
  protocolOf(answer: Readonly<Record<string, string | readonly string[] | undefined>>): Promise<string>;
}

/** A handshake that offers these protocols; the key is 16 bytes of chance. */
export function webSocketHandshake(protocols: readonly string[], bytes: Uint8Array): WebSocketHandshake {
  const key = toBase64(bytes.subarray(0, 16));
  return {
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
      "sec-websocket-protocol": protocols.join(", "),
    },
    async protocolOf(answer) {
      const chosen = String(answer["sec-websocket-protocol"] ?? "");
      if (String(answer.upgrade ?? "").toLowerCase() !== "websocket")
        throw new WebSocketHandshakeError("the server switched to another protocol than WebSocket");
      if (answer["sec-websocket-accept"] !== (await acceptKey(key)))
        throw new WebSocketHandshakeError("the server's Sec-WebSocket-Accept does not match our key");
      if (!protocols.includes(chosen))
        throw new WebSocketHandshakeError(`the server chose ${JSON.stringify(chosen)} of [${protocols.join(" ")}]`);
      return chosen;
    },
  };
}

export interface ClientWebSocketOptions {
  readonly clock: Clock;
  /** Four bytes of chance for each frame. */
  readonly newMask: () => Uint8Array;
  readonly messageLimit?: number;
  readonly pingMs?: number;
  /** How long the server may say nothing, not even to a ping. */
  readonly patienceMs?: number;
}

/** Pings the server every few seconds, and drops a connection on which nothing comes back. */
export function clientWebSocket(stream: ByteStream, options: ClientWebSocketOptions): WebSocket {
  const { clock, newMask, messageLimit = 16 * 1024 * 1024, pingMs = 5000, patienceMs = 61_000 } = options;
  let heardAt = clock.elapsed();
  const heard = () => {
    heardAt = clock.elapsed();
  };
  const socket = webSocket(watched(stream, heard), messageLimit, { newMask, onPong: heard });
  const beat = () => {
    if (clock.elapsed() - heardAt >= patienceMs)
      return socket.destroy(new Error(`the server has said nothing for ${patienceMs / 1000} s`));
    socket.ping().catch(() => undefined); // whoever reads or writes learns that it is gone
    cancel = clock.after(pingMs, beat);
  };
  let cancel = clock.after(pingMs, beat);
  return {
    ...socket,
    close(code, reason) {
      cancel();
      return socket.close(code, reason);
    },
    destroy(reason) {
      cancel();
      socket.destroy(reason);
    },
  };
}

function watched(stream: ByteStream, heard: () => void): ByteStream {
  async function* input(): AsyncGenerator<Uint8Array> {
    for await (const part of stream.input) {
      heard();
      yield part;
    }
  }
  return { ...stream, input: input() };
}
