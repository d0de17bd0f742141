// The client side of the measurements.
import { type Http2Target, RawHttp2, type RawRequest, requestFields } from "#wire/testing/raw-http2.ts";

export interface Load {
  /** Requests under way on each connection. */
  readonly streams: number;
  /** How many requests in all. */
  readonly count: number;
  /** The request with this number. */
  readonly request: (i: number) => RawRequest;
}

export interface Outcome {
  readonly ms: number;
  /** Of all bodies. */
  readonly bytes: number;
}

/** Connections that are kept from one round to the next. */
export class Clients {
  readonly #connections: readonly RawHttp2[];
  #failed: (error: Error) => void = () => undefined;

  private constructor(connections: readonly RawHttp2[]) {
    this.#connections = connections;
    for (const { socket } of connections)
      socket.once("close", () => this.#failed(new Error("the server closed a connection")));
  }

  static async connect(target: Http2Target, count: number): Promise<Clients> {
    return new Clients(await Promise.all(Array.from({ length: count }, () => RawHttp2.connect(target))));
  }

  /** Sends so many requests, so many at a time on each connection. */
  async run({ streams, count, request }: Load): Promise<Outcome> {
    const start = performance.now();
    const heads = new Map<string, Buffer>();
    let [sent, ended, bytes] = [0, 0, 0];
    await new Promise<void>((resolve, reject) => {
      const next = (connection: RawHttp2) => {
        if (sent === count) return;
        const { body, ...rest } = request(sent++);
        const name = `${rest.method} ${rest.path}`;
        let head = heads.get(name);
        if (!head) {
          head = requestFields(rest);
          if (heads.size < 100) heads.set(name, head);
        }
        connection.request(head, body, (size) => {
          bytes += size;
          if (++ended === count) resolve();
          else next(connection);
        });
      };
      this.#failed = reject;
      for (let i = 0; i < streams; i++) for (const connection of this.#connections) next(connection);
    });
    return { ms: performance.now() - start, bytes };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}
