// The frames of a WebSocket (RFC 6455), as servers and clients read and write them.

/** What the other side sent breaks the protocol; `code` is what the closing frame says. */
export class WebSocketError extends Error {
  override readonly name = "WebSocketError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export type WebSocketOpcode = "continuation" | "text" | "binary" | "close" | "ping" | "pong";

export interface WebSocketFrame {
  readonly opcode: WebSocketOpcode;
  /** Whether a message ends with this frame. */
  readonly fin: boolean;
  readonly payload: Uint8Array;
}

const codes: Readonly<Record<WebSocketOpcode, number>> = {
  continuation: 0,
  text: 1,
  binary: 2,
  close: 8,
  ping: 9,
  pong: 10,
};
const opcodes = new Map(Object.entries(codes).map(([opcode, code]) => [code, opcode as WebSocketOpcode]));

/** A whole frame. Servers send it as it is; a client masks it with four bytes of chance. */
export function encodeWebSocketFrame(opcode: WebSocketOpcode, payload: Uint8Array, mask?: Uint8Array): Uint8Array {
  const { length } = payload;
  const wide = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const head = 2 + wide + (mask ? 4 : 0);
  const frame = new Uint8Array(head + length);
  const view = new DataView(frame.buffer);
  const masked = mask ? 0x80 : 0;
  frame[0] = 0x80 | codes[opcode];
  if (wide === 0) frame[1] = masked | length;
  else if (wide === 2) {
    frame[1] = masked | 126;
    view.setUint16(2, length);
  } else {
    frame[1] = masked | 127;
    view.setBigUint64(2, BigInt(length));
  }
  frame.set(payload, head);
  if (mask) {
    frame.set(mask.subarray(0, 4), 2 + wide);
    applyMask(frame.subarray(head), mask);
  }
  return frame;
}

function applyMask(bytes: Uint8Array, mask: Uint8Array): void {
  for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) ^ (mask[i & 3] ?? 0);
}

/** Cuts what the other side sends into frames. Keeps at most one frame of `limit` bytes. */
export class WebSocketFrameReader {
  readonly #limit: number;
  readonly #from: "client" | "server";
  #rest: Uint8Array = new Uint8Array();

  constructor(limit: number, from: "client" | "server" = "client") {
    this.#limit = limit;
    this.#from = from;
  }

  /** The frames that are complete now. Throws WebSocketError; nothing may be fed afterwards. */
  *feed(bytes: Uint8Array): Generator<WebSocketFrame> {
    let data = this.#rest.length === 0 ? bytes : concat(this.#rest, bytes);
    for (;;) {
      const size = this.#sizeOf(data);
      if (size === undefined || data.length < size.head + size.payload) break;
      yield this.#frame(data, size);
      data = data.subarray(size.head + size.payload);
    }
    this.#rest = new Uint8Array(data);
  }

  #sizeOf(data: Uint8Array): { readonly head: number; readonly payload: number } | undefined {
    const [first, second] = data;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0x70) !== 0) throw new WebSocketError(1002, "a reserved bit is set, but no extension was agreed on");
    const isMasked = (second & 0x80) !== 0;
    if (isMasked !== (this.#from === "client"))
      throw new WebSocketError(1002, isMasked ? "a server may not mask its frames" : "a client has to mask its frames");
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const short = second & 0x7f;
    if ((first & 0x08) !== 0 && (short > 125 || (first & 0x80) === 0))
      throw new WebSocketError(1002, "a control frame is too long or in parts");
    const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
    if (data.length < 2 + wide) return undefined;
    const payload = wide === 0 ? short : wide === 2 ? view.getUint16(2) : Number(view.getBigUint64(2));
    if (payload > this.#limit)
      throw new WebSocketError(1009, `a frame of ${payload} bytes is too large, the limit is ${this.#limit}`);
    return { head: 2 + wide + (isMasked ? 4 : 0), payload };
  }

  #frame(data: Uint8Array, { head, payload }: { readonly head: number; readonly payload: number }): WebSocketFrame {
    const first = data[0] ?? 0;
    const opcode = opcodes.get(first & 0x0f);
    if (opcode === undefined) throw new WebSocketError(1002, `opcode ${first & 0x0f} is not known`);
    const plain = new Uint8Array(data.subarray(head, head + payload));
    if (this.#from === "client") applyMask(plain, data.subarray(head - 4, head));
    return { opcode, fin: (first & 0x80) !== 0, payload: plain };
  }
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
