// Two directions of bytes, as a connection has them once its protocol was changed. Free of Node, so that what speaks over
// it can be tested, and run within one process, without a socket.
import type { Clock } from "#base/clock.ts";
import { ByteQueue } from "./byte-queue.ts";

export interface ByteStream {
  /** What the other side sends, until it says that it is done. Read by one reader, once. */
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when there is room for more; calls are sent in order. Rejects when the stream is gone. */
  write(bytes: Uint8Array): Promise<void>;
  /** Nothing more will be written; what was written still arrives. */
  end(): Promise<void>;
  /** Drops both directions at once. */
  destroy(reason?: Error): void;
}

/** Copies each way until one side is done or gone, as a proxy does. The backend is dropped then; the client's front sees to its own. */
export async function proxyBetween(client: ByteStream, backend: ByteStream): Promise<void> {
  const copies = [copy(client, backend), copy(backend, client)];
  for (const one of copies) one.catch(() => undefined); // the first copy to end decides; the other fails because of it
  try {
    await Promise.race(copies);
  } finally {
    backend.destroy();
  }
}

/** Copies each way until both sides are done: one may finish sending long before it has heard all. */
export async function relay(one: ByteStream, other: ByteStream): Promise<void> {
  try {
    await Promise.all([copy(one, other), copy(other, one)]);
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    one.destroy(reason);
    other.destroy(reason);
    throw error;
  }
}

/** Copies one way until the source is done, and says so to the other. */
export async function copy(from: ByteStream, to: ByteStream): Promise<void> {
  await copyBytes(from, to);
  await to.end();
}

/** Copies one way until the source is done, and leaves the other open. */
export async function copyBytes(from: ByteStream, to: ByteStream): Promise<void> {
  for await (const part of from.input) await to.write(part);
}

/** Two ends of one connection within the process; `limit` bytes may wait in each direction. */
export function byteStreamPair(limit = 64 * 1024): readonly [ByteStream, ByteStream] {
  const [there, back] = [new ByteQueue(limit), new ByteQueue(limit)];
  const destroy = (reason = new Error("the connection was dropped")) => {
    there.fail(reason);
    back.fail(reason);
  };
  const end = (input: ByteQueue, output: ByteQueue): ByteStream => ({
    input,
    write: (bytes) => output.push(bytes),
    end: async () => output.end(),
    destroy,
  });
  return [end(back, there), end(there, back)];
}

/** Serves a connection, and drops it when nothing moved for `ms` in either direction. */
export async function serveWhileMoving(
  stream: ByteStream,
  clock: Clock,
  ms: number,
  serve: (stream: ByteStream) => Promise<void>,
): Promise<void> {
  const drop = () => stream.destroy(new Error(`nothing was sent or received for ${ms} ms`));
  let cancel = clock.after(ms, drop);
  let isServed = false;
  const moved = () => {
    cancel();
    if (!isServed) cancel = clock.after(ms, drop);
  };
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const part of stream.input) {
      moved();
      yield part;
    }
  }
  const write = (bytes: Uint8Array) => {
    moved();
    return stream.write(bytes);
  };
  try {
    await serve({ ...stream, input: watched(), write });
  } finally {
    isServed = true;
    cancel();
  }
}
