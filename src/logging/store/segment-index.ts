// What is in a segment, roughly enough to stay in memory: which sources, and for each chunk of some kilobytes which of them and from when.
import { decodeRecord, type StoredLine, type StoredSource } from "./record.ts";

/** A stretch of a segment. */
export interface Chunk {
  readonly from: number;
  to: number;
  /** Seconds since 1970 of the oldest and the newest line; none if there is no line. */
  oldest: number;
  newest: number;
  readonly sources: Set<number>;
}

const chunkBytes = 64 * 1024;

export class SegmentIndex {
  readonly sources: StoredSource[] = [];
  readonly chunks: Chunk[] = [];
  /** Of the last line of each source, by the source's number. */
  readonly positions: number[] = [];
  /** Bytes that are whole records. */
  bytes: number;
  lines = 0;
  readonly #numbers = new Map<string, number>();

  constructor(from: number) {
    this.bytes = from;
  }

  get oldest(): number {
    return this.chunks.reduce((least, chunk) => Math.min(least, chunk.oldest), Number.POSITIVE_INFINITY);
  }

  get newest(): number {
    return this.chunks.reduce((most, chunk) => Math.max(most, chunk.newest), Number.NEGATIVE_INFINITY);
  }

  numberOf(source: StoredSource): number | undefined {
    return this.#numbers.get(JSON.stringify(source));
  }

  addSource(number: number, source: StoredSource, end: number): void {
    this.sources[number] = source;
    this.#numbers.set(JSON.stringify(source), number);
    this.#chunk().to = end;
    this.bytes = end;
  }

  addLine({ source, seconds, position }: StoredLine, end: number): void {
    const chunk = this.#chunk();
    this.positions[source] = position;
    chunk.sources.add(source);
    chunk.oldest = Math.min(chunk.oldest, seconds);
    chunk.newest = Math.max(chunk.newest, seconds);
    chunk.to = end;
    this.bytes = end;
    this.lines++;
  }

  #chunk(): Chunk {
    const last = this.chunks.at(-1);
    if (last && this.bytes - last.from < chunkBytes) return last;
    const chunk = {
      from: this.bytes,
      to: this.bytes,
      oldest: Number.POSITIVE_INFINITY,
      newest: Number.NEGATIVE_INFINITY,
      sources: new Set<number>(),
    };
    this.chunks.push(chunk);
    return chunk;
  }
}

/** Reads a segment up to the first thing that is no record: a write that did not come to its end, or damage. */
export function readIndex(bytes: Uint8Array, from: number): SegmentIndex {
  const index = new SegmentIndex(from);
  for (let record = decodeRecord(bytes, from); record; record = decodeRecord(bytes, record.end))
    if (record.type === "source") index.addSource(record.number, record.source, record.end);
    else if (index.sources[record.line.source]) index.addLine(record.line, record.end);
    else break;
  return index;
}
