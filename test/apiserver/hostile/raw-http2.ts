// An HTTP/2 client that sends whatever it is told to, frame by frame.
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";

export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

export const END_STREAM = 1;
export const END_HEADERS = 4;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Headers as literals that nobody need remember, with lengths below 127. */
export const headerBlock = (headers: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );

export const getHeaders = headerBlock({ ":method": "GET", ":scheme": "https", ":authority": "x", ":path": "/version" });

/** Of a request whose body is still to come. */
export const postHeaders = headerBlock({
  ":method": "POST",
  ":scheme": "https",
  ":authority": "x",
  ":path": "/api/v1/namespaces/default/configmaps",
  "content-type": "application/json",
});

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export class RawHttp2 {
  readonly socket: TLSSocket;
  readonly closed: Promise<unknown>;
  readonly #frames: Frame[] = [];
  #held = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined); // being cut off is what these tests are about
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.once("close", () => this.#wake());
  }

  static async connect(port: number, ca: string): Promise<RawHttp2> {
    const socket = connect({ port, host: "127.0.0.1", ca, ALPNProtocols: ["h2"] });
    await once(socket, "secureConnect");
    const client = new RawHttp2(socket);
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(frame(SETTINGS, 0, 0));
    return client;
  }

  /** Resolves when the bytes have left, or the connection is closed: a flood goes at the pace at which it is taken. */
  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.socket.destroyed) return resolve();
      this.socket.write(bytes, () => resolve());
    });
  }

  /** The next frame of a type, or undefined when the connection ends before one comes. */
  async next(type: number): Promise<Frame | undefined> {
    for (;;) {
      const at = this.#frames.findIndex((one) => one.type === type);
      if (at >= 0) return this.#frames.splice(at, 1)[0];
      if (this.socket.destroyed) return undefined;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #take(bytes: Buffer): void {
    this.#held = Buffer.concat([this.#held, bytes]);
    while (this.#held.length >= 9) {
      const length = this.#held.readUIntBE(0, 3);
      if (this.#held.length < 9 + length) break;
      this.#frames.push({
        type: this.#held[3] ?? 0,
        flags: this.#held[4] ?? 0,
        stream: this.#held.readUInt32BE(5),
        payload: this.#held.subarray(9, 9 + length),
      });
      this.#held = this.#held.subarray(9 + length);
    }
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
