// Sending bodies piece by piece, at the pace of whoever reads them.
import type { Writable } from "node:stream";
import { createGzip } from "node:zlib";
import { turn } from "#base/breathe.ts";

/** A write for each object of a list would cost more than copying them together; larger pieces would keep others waiting. */
const pieceBytes = 128 * 1024;
const mostFree = 16;
/** So much is handed to all connections together in one turn of the event loop: to encrypt it takes about a millisecond. */
const turnBytes = 256 * 1024;

/**
 * Joins small parts in buffers that are used again. To allocate one for each piece of a list took longer than all else about
 * it, most of that in the garbage collector.
 */
export class Joiner {
  readonly #free: Buffer[] = [];
  /** What may still be handed over in this turn, and the next turn once something has been. */
  #left = turnBytes;
  #renewed: Promise<void> | undefined;

  /** A piece is only valid until the next one is asked for. */
  *pieces(parts: Iterable<Uint8Array>): Generator<Uint8Array> {
    const buffer = this.#free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes);
    let at = 0;
    for (const part of parts) {
      if (at + part.length > pieceBytes && at > 0) {
        yield buffer.subarray(0, at);
        at = 0;
      }
      if (part.length > pieceBytes) yield part;
      else {
        buffer.set(part, at);
        at += part.length;
      }
    }
    if (at > 0) yield buffer.subarray(0, at);
    // Not when it ended early: then the last piece may still be on its way.
    if (this.#free.length < mostFree) this.#free.push(buffer);
  }

  /** The same pieces at a pace that leaves room for others, however many clients get a list at once. */
  async *paced(parts: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for (const piece of this.pieces(parts)) {
      while (this.#left <= 0) await this.#renewed;
      this.#left -= piece.length;
      this.#renewed ??= turn().then(() => {
        this.#left = turnBytes;
        this.#renewed = undefined;
      });
      yield piece;
    }
  }
}

/** Writes piece by piece, the next one when the last has been taken. Ends early when the other end is gone. */
export async function pump(sink: Writable, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of pieces) {
    if (sink.destroyed) return;
    await new Promise<void>((resolve) => {
      sink.write(piece, () => resolve()); // an error also closes the sink, and is told there
    });
    if (sink.destroyed) return;
  }
}

export async function* gzipped(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1 });
  const fed = pump(gzip, pieces).then(() => gzip.end());
  yield* gzip;
  await fed;
}
