import type { Duplex } from "node:stream";
import { ByteQueue } from "../../streams/byte-queue.ts";
import type { ByteStream } from "../../streams/byte-stream.ts";

const readAhead = 64 * 1024;

/** A Node socket as a stream of bytes. `head` was read from it before it was ours. What comes after its reader left is discarded. */
export function socketStream(socket: Duplex, head: Uint8Array = new Uint8Array()): ByteStream {
  const queue = new ByteQueue(readAhead);
  let failure: Error | undefined;
  const take = (part: Uint8Array) => {
    socket.pause();
    queue.push(part).then(
      () => socket.resume(),
      () => undefined, // the queue failed because the socket did
    );
  };
  socket.on("data", take);
  socket.once("end", () => queue.end());
  socket.on("error", (error) => {
    failure ??= error;
    queue.fail(error);
  });
  socket.once("close", () => queue.fail(failure ?? new Error("the connection was closed")));
  if (head.length > 0) take(head);
  const gone = () => failure ?? new Error("the connection is closed");
  return {
    input: queue,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed || socket.writableEnded) return reject(gone());
        if (socket.write(bytes)) return resolve();
        const settle = (act: () => void) => () => {
          socket.off("drain", drained).off("close", closed);
          act();
        };
        const drained = settle(resolve);
        const closed = settle(() => reject(gone()));
        socket.once("drain", drained).once("close", closed);
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
