// Finds lines: the index says which chunks may have some, those are read, and the best lines so far are kept.
import { Heap } from "#base/heap.ts";
import { sizeOfText } from "../log-line.ts";
import { compareInstants, compareMoments, comparePlaces, type Moment, type Place } from "./place.ts";
import type { LineQuery } from "./query.ts";
import { decodeRecord, type StoredLine, type StoredSource } from "./record.ts";
import type { Chunk, SegmentIndex } from "./segment-index.ts";

export interface SearchedSegment {
  readonly number: number;
  readonly index: SegmentIndex;
  /** Undefined if the segment was removed meanwhile. */
  read(from: number, to: number): Promise<Uint8Array | undefined>;
}

export interface FoundLine {
  readonly moment: Moment;
  readonly line: StoredLine;
  readonly source: StoredSource;
  readonly text: string;
}

export interface SearchResult {
  readonly lines: readonly FoundLine[];
  /** There may be more. */
  readonly isLimited: boolean;
  /** What came up to here was searched. */
  readonly end: Place;
}

/** What the lines of an answer may take. */
const mostBytes = 4 * 1024 * 1024;

interface Candidate {
  readonly segment: SearchedSegment;
  readonly chunk: Chunk;
  readonly selected: ReadonlySet<number>;
}

/** `arrived` is where the next line will be put. */
export async function search(
  segments: readonly SearchedSegment[],
  query: LineQuery,
  arrived: Place,
  signal: AbortSignal,
): Promise<SearchResult> {
  const end = query.end ?? arrived;
  const candidates = segments.flatMap((segment) => candidatesIn(segment, query, end));
  const found =
    query.order === "arrival"
      ? new Arrivals(query, candidates, end)
      : new BestLines(query, candidates, query.order === "first" ? 1 : -1);
  for (const candidate of found.candidates) {
    signal.throwIfAborted();
    if (found.needsNone(candidate)) break;
    for await (const line of linesIn(candidate, query, end)) found.add(line);
  }
  return { lines: found.lines(), isLimited: found.isLimited, end: found.end ?? end };
}

function candidatesIn(segment: SearchedSegment, query: LineQuery, end: Place): readonly Candidate[] {
  const { since, until, after, from } = query;
  const { sources, chunks } = segment.index;
  const selected = new Set([...sources.keys()].filter((number) => sources[number] && query.selects(sources[number])));
  if (selected.size === 0) return [];
  const least = Math.max(since?.seconds ?? 0, query.order === "first" ? (after?.seconds ?? 0) : 0);
  return chunks
    .filter(
      (chunk) =>
        chunk.newest >= least &&
        chunk.oldest <= (until?.seconds ?? Number.POSITIVE_INFINITY) &&
        comparePlaces({ segment: segment.number, offset: chunk.from }, end) < 0 &&
        (!from || comparePlaces({ segment: segment.number, offset: chunk.to }, from) > 0) &&
        !chunk.sources.isDisjointFrom(selected),
    )
    .map((chunk) => ({ segment, chunk, selected }));
}

async function* linesIn(
  { segment, chunk, selected }: Candidate,
  query: LineQuery,
  end: Place,
): AsyncGenerator<FoundLine> {
  const { since, until, after, from, matches } = query;
  const bytes = await segment.read(chunk.from, chunk.to);
  if (!bytes) return;
  let at = 0;
  for (let record = decodeRecord(bytes, 0); record; record = decodeRecord(bytes, at)) {
    const place = { segment: segment.number, offset: chunk.from + at };
    at = record.end;
    if (record.type !== "line" || !selected.has(record.line.source)) continue;
    const { line } = record;
    const moment = { ...place, seconds: line.seconds, nanos: line.nanos };
    if (comparePlaces(place, end) >= 0) return;
    if (since && compareInstants(line, since) < 0) continue;
    if (until && compareInstants(line, until) >= 0) continue;
    if (from && comparePlaces(place, from) < 0) continue;
    if (after && compareMoments(moment, after) <= 0) continue;
    const source = segment.index.sources[line.source];
    const text = record.text();
    if (source && matches(text)) yield { moment, line, source, text };
  }
}

/** The oldest lines, or the newest, in the order of time. */
class BestLines {
  readonly end = undefined;
  readonly candidates: readonly Candidate[];
  readonly #limit: number;
  readonly #sign: 1 | -1;
  /** The worst on top. */
  readonly #heap: Heap<FoundLine>;
  #bytes = 0;
  /** The best line that had to go. Nothing beyond it is taken, or there would be a gap. */
  #bound: Moment | undefined;

  constructor({ limit }: LineQuery, candidates: readonly Candidate[], sign: 1 | -1) {
    this.#limit = limit;
    this.#sign = sign;
    this.#heap = new Heap((a, b) => this.#compare(b.moment, a.moment));
    this.candidates = candidates.toSorted((a, b) => this.#bestIn(a) - this.#bestIn(b));
  }

  get isLimited(): boolean {
    return this.#bound !== undefined;
  }

  /** All that are left are worse than what had to go. */
  needsNone(candidate: Candidate): boolean {
    return this.#bound !== undefined && this.#bestIn(candidate) > this.#sign * this.#bound.seconds;
  }

  add(line: FoundLine): void {
    if (this.#bound && this.#compare(line.moment, this.#bound) >= 0) return;
    this.#heap.push(line);
    this.#bytes += sizeOfText(line.text);
    while (this.#heap.size > this.#limit || (this.#bytes > mostBytes && this.#heap.size > 1)) {
      const worst = this.#heap.pop();
      if (!worst) return;
      this.#bytes -= sizeOfText(worst.text);
      this.#bound = worst.moment;
    }
  }

  lines(): readonly FoundLine[] {
    const lines: FoundLine[] = [];
    for (let line = this.#heap.pop(); line; line = this.#heap.pop()) lines.push(line);
    return this.#sign === 1 ? lines.toReversed() : lines;
  }

  #bestIn({ chunk }: Candidate): number {
    return this.#sign === 1 ? chunk.oldest : -chunk.newest;
  }

  #compare(a: Moment, b: Moment): number {
    return this.#sign * compareMoments(a, b);
  }
}

/** Lines as they came, for those who follow. */
class Arrivals {
  readonly candidates: readonly Candidate[];
  readonly #limit: number;
  readonly #lines: FoundLine[] = [];
  #bytes = 0;
  /** Where to go on; that of the first line that did not fit, if there is one. */
  end: Place;
  isLimited = false;

  constructor({ limit }: LineQuery, candidates: readonly Candidate[], end: Place) {
    this.candidates = candidates;
    this.#limit = limit;
    this.end = end;
  }

  needsNone(): boolean {
    return this.isLimited;
  }

  add(line: FoundLine): void {
    if (this.isLimited) return;
    this.#bytes += sizeOfText(line.text);
    if (this.#lines.length >= this.#limit || (this.#bytes > mostBytes && this.#lines.length > 0)) {
      this.isLimited = true;
      this.end = line.moment;
    } else this.#lines.push(line);
  }

  lines(): readonly FoundLine[] {
    return this.#lines;
  }
}
