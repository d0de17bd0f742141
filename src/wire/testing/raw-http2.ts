// HTTP/2 by hand, for tests that must break its rules and for benchmarks whose client must cost next to nothing: requests
// are bytes made once, and of an answer only the frame heads are looked at.
import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";

export const frames = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const flags = { endStream: 1, ack: 1, endHeaders: 4 } as const;

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const headBytes = 9;

export interface Http2Target {
  readonly port: number;
  readonly cert?: string;
  readonly key?: string;
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export function frame(type: number, flag: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields as literals that nobody has to remember. */
export const fields = (headers: Iterable<readonly [string, string]>): Buffer =>
  Buffer.concat([...headers].flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]));

function literal(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

export const requestFields = ({ method, path, headers = {} }: RawRequest): Buffer =>
  fields([
    [":method", method],
    [":scheme", "https"],
    [":authority", "127.0.0.1"],
    [":path", path],
    ...Object.entries(headers),
  ]);

/** One connection. What happens to streams is told to callbacks, so that a thousand of them cost nothing else. */
export class RawHttp2 {
  readonly socket: TLSSocket;
  /** Called with each frame that belongs to a stream. The payload is only valid during the call. */
  onFrame: (frame: Frame) => void = () => undefined;
  #nextStream = 1;
  #rest: Buffer = Buffer.alloc(0);
  #unacknowledged = 0;
  /** How many streams are open, and what to call when one has ended. */
  readonly #open = new Map<number, (bytes: number) => void>();
  readonly #bytes = new Map<number, number>();

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => undefined); // a test that breaks rules is cut off; "close" follows
  }

  static async connect({ port, cert, key }: Http2Target): Promise<RawHttp2> {
    const socket = connectTls({
      host: "127.0.0.1",
      port,
      ALPNProtocols: ["h2"],
      rejectUnauthorized: false,
      ...(cert && { cert }),
      ...(key && { key }),
    });
    await once(socket, "secureConnect");
    socket.setNoDelay(true);
    const raw = new RawHttp2(socket);
    // No header table, and windows that never close.
    const settings = Buffer.from("000100000000" + "00047fffffff", "hex");
    socket.write(preface);
    raw.send(frame(frames.settings, 0, 0, settings), frame(frames.windowUpdate, 0, 0, increment(0x7fff0000 - 65_535)));
    return raw;
  }

  send(...parts: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
  }

  newStream(): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    return stream;
  }

  /** Sends a request; `done` learns the size of the answer's body. Gives the stream. */
  request(head: Buffer, body: Uint8Array | undefined, done: (bytes: number) => void): number {
    const stream = this.newStream();
    this.#open.set(stream, done);
    this.#bytes.set(stream, 0);
    const flag = flags.endHeaders | (body ? 0 : flags.endStream);
    const parts = [frame(frames.headers, flag, stream, head)];
    if (body) parts.push(frame(frames.data, flags.endStream, stream, body));
    this.send(...parts);
    return stream;
  }

  /** A request with all of its answer's body. */
  fetch(request: RawRequest): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const before = this.onFrame;
      this.socket.once("close", () => reject(new Error("the connection was closed")));
      const stream = this.request(requestFields(request), request.body, () => {
        this.onFrame = before;
        resolve(Buffer.concat(chunks));
      });
      this.onFrame = (one) => {
        before(one);
        if (one.stream === stream && one.type === frames.data) chunks.push(Buffer.from(one.payload));
      };
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= headBytes) {
      const length = bytes.readUIntBE(at, 3);
      const end = at + headBytes + length;
      if (end > bytes.length) break;
      this.#take({
        type: bytes[at + 3] as number,
        flags: bytes[at + 4] as number,
        stream: bytes.readUInt32BE(at + 5) & 0x7fffffff,
        payload: bytes.subarray(at + headBytes, end),
      });
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  #take(one: Frame): void {
    if (one.type === frames.settings && !(one.flags & flags.ack)) this.send(frame(frames.settings, flags.ack, 0));
    else if (one.type === frames.ping && !(one.flags & flags.ack))
      this.send(frame(frames.ping, flags.ack, 0, one.payload));
    if (one.type === frames.data) {
      this.#bytes.set(one.stream, (this.#bytes.get(one.stream) ?? 0) + one.payload.length);
      this.#unacknowledged += one.payload.length;
      if (this.#unacknowledged > 1 << 28) {
        this.send(frame(frames.windowUpdate, 0, 0, increment(this.#unacknowledged)));
        this.#unacknowledged = 0;
      }
    }
    this.onFrame(one);
    const ends =
      one.type === frames.rstStream ||
      ((one.type === frames.data || one.type === frames.headers) && (one.flags & flags.endStream) !== 0);
    if (!ends) return;
    const done = this.#open.get(one.stream);
    const bytes = this.#bytes.get(one.stream) ?? 0;
    this.#open.delete(one.stream);
    this.#bytes.delete(one.stream);
    done?.(bytes);
  }
}

function increment(by: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(by);
  return payload;
}
