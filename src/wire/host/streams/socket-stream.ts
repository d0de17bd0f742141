import type { Duplex } from "node:stream";
import { ByteQueue } from "../../streams/byte-queue.ts";
import type { ByteStream } from "../../streams/byte-stream.ts";

const readAhead = 64 * 1024;

/** A Node socket as a stream of bytes. `head` was read from it before it was ours. What comes after its reader left is discarded. */
export function socketStream(socket: Duplex, head: Uint8Array = new Uint8Array()): ByteStream {
  const queue = new ByteQueue(readAhead);
  let failure: Error | undefined;
  let hasEnded = false;
  const gone = () => failure ?? new Error("the connection is closed");
  // Many may wait for room at once: each stream of a connection that carries several.
  let waiting: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const settle = (act: (one: (typeof waiting)[number]) => void) => {
    const settled = waiting;
    waiting = [];
    for (const one of settled) act(one);
  };
  const take = (part: Uint8Array) => {
    socket.pause();
    queue.push(part).then(
      () => socket.resume(),
      () => undefined, // the queue failed because the socket did
    );
  };
  socket.on("data", take);
  // What came before the end is still to be read, even when the socket is gone by then.
  const fail = (error: Error) => {
    if (!hasEnded) queue.fail(error);
  };
  socket.once("end", () => {
    hasEnded = true;
    queue.end();
  });
  socket.on("error", (error) => {
    failure ??= error;
    fail(error);
  });
  socket.once("close", () => {
    fail(failure ?? new Error("the connection was closed"));
    settle(({ reject }) => reject(gone()));
  });
  socket.on("drain", () => settle(({ resolve }) => resolve()));
  if (head.length > 0) take(head);
  return {
    input: queue,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed || socket.writableEnded) return reject(gone());
        if (socket.write(bytes)) return resolve();
        waiting.push({ resolve, reject });
      }),
    end: () =>
      new Promise((resolve) => {
        if (socket.destroyed || socket.writableFinished) return resolve();
        socket.once("close", resolve);
        socket.once("finish", resolve);
        socket.end();
      }),
    destroy(reason) {
      failure ??= reason;
      socket.destroy();
    },
  };
}

/** Lets what was written arrive before a connection is dropped: one with unread input would be reset, and the client lose the end. */
export async function closeGently(socket: Duplex, graceMs: number): Promise<void> {
  if (socket.destroyed) return;
  const patience = AbortSignal.timeout(graceMs);
  await new Promise<void>((resolve) => {
    patience.addEventListener("abort", () => resolve(), { once: true });
    socket.once("close", () => resolve());
    socket.resume();
    socket.end();
  });
  socket.destroy();
}
