// Keeps lines in segments on disk, and finds them again. The oldest segments go when there is too much or when they are too old.
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { Log } from "#base/log.ts";
import { parseTime } from "#schema/time.ts";
import type { ContainerLine } from "../log-line.ts";
import type { LogRetention } from "../settings.ts";
import type { LineBatch } from "../store/batch.ts";
import type { Place } from "../store/place.ts";
import type { LineQuery } from "../store/query.ts";
import { encodeLine, encodeSource, type StoredLine, type StoredSource } from "../store/record.ts";
import { type SearchResult, search } from "../store/search.ts";
import { SegmentFile, SegmentPieces } from "./segment-file.ts";

export interface LogStoreOptions {
  readonly folder: string;
  /** Asked before each use: it may change. */
  readonly retention: () => LogRetention;
  readonly clock: Clock;
  readonly log: Log;
}

export interface AppendResult {
  readonly stored: number;
  /** Lines that were there already. */
  readonly known: number;
}

/** So that about a sixteenth of the lines goes at once. */
const segmentsPerStore = 16;
const segmentLimits = { least: 256 * 1024, most: 16 * 1024 * 1024 };

export class LogStore {
  readonly #options: LogStoreOptions;
  /** The last one grows. */
  #segments: SegmentFile[] = [];
  /** Up to where the lines of each log are kept. */
  #positions = new Map<string, number>();
  #turn: Promise<unknown> = Promise.resolve();
  /** Segments that were removed, for whatever reason. */
  removedSegments = 0;
  damagedBytes = 0;

  private constructor(options: LogStoreOptions) {
    this.#options = options;
  }

  static async open(options: LogStoreOptions): Promise<LogStore> {
    const store = new LogStore(options);
    await store.#load();
    return store;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { index }) => sum + index.bytes, 0);
  }
  get lines(): number {
    return this.#segments.reduce((sum, { index }) => sum + index.lines, 0);
  }
  get segments(): number {
    return this.#segments.length;
  }
  /** Seconds since 1970 of the oldest line; undefined if there is none. */
  get oldest(): number | undefined {
    const oldest = Math.min(...this.#segments.map(({ index }) => index.oldest));
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  /** The lines are on disk when it resolves. Batches are written one after another. */
  append(batch: LineBatch): Promise<AppendResult> {
    return this.#inTurn(() => this.#append(batch));
  }

  async search(query: LineQuery, signal: AbortSignal): Promise<SearchResult> {
    await using open = new AsyncDisposableStack();
    const segments = this.#segments.map(({ number, index, path }) => {
      const pieces = open.use(new SegmentPieces(path));
      return { number, index, read: (from: number, to: number) => pieces.read(from, to) };
    });
    return await search(segments, query, this.#arrived(), signal);
  }

  /** Removes what is too old. To be called now and then. */
  prune(): Promise<void> {
    return this.#inTurn(() => this.#prune(0));
  }

  async close(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#segments.at(-1)?.seal();
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined); // whoever asked is told
    return result;
  }

  #arrived(): Place {
    const last = this.#segments.at(-1);
    return { segment: last?.number ?? 0, offset: last?.index.bytes ?? 0 };
  }

  async #load(): Promise<void> {
    const { folder, log } = this.#options;
    makeFolder(folder);
    const names = (await readdir(folder)).filter((name) => /^\d{10}\.log$/.test(name)).toSorted();
    for (const name of names) {
      const path = join(folder, name);
      const { segment, damagedBytes } = await SegmentFile.load(Number.parseInt(name, 10), path);
      if (damagedBytes > 0) log.warn("a segment has bytes that are no lines", { path, bytes: damagedBytes });
      this.damagedBytes += damagedBytes;
      if (segment) this.#segments.push(segment);
    }
    this.#readPositions();
    // Names of segments are never used twice: whoever follows would not see what is new.
    const next = Math.max(0, ...names.map((name) => Number.parseInt(name, 10))) + 1;
    if (names.length > this.#segments.length || !this.#segments.length) await this.#begin(next);
  }

  #readPositions(): void {
    this.#positions = new Map();
    for (const { index } of this.#segments)
      for (const [number, source] of index.sources.entries())
        if (source) this.#reached(keyOf(source), index.positions[number] ?? 0);
  }

  #reached(key: string, position: number): void {
    this.#positions.set(key, Math.max(position, this.#positions.get(key) ?? 0));
  }

  async #append({ epoch, lines }: LineBatch): Promise<AppendResult> {
    const fresh = lines.filter((line) => line.position > (this.#positions.get(keyOf({ ...line.source, epoch })) ?? -1));
    const result = { stored: fresh.length, known: lines.length - fresh.length };
    if (fresh.length === 0) return result;
    const estimate = fresh.reduce((sum, { text }) => sum + text.length, 0);
    await this.#prune(estimate);
    await this.#roll(estimate);
    for (;;) {
      try {
        await this.#write(fresh, epoch);
        return result;
      } catch (error) {
        // A full disk: what is old goes first. With nothing left to give, the collectors keep their lines.
        if (!hasCode(error, "ENOSPC", "EDQUOT") || this.#segments.length < 2) throw error;
        await this.#removeOldest("the disk is full");
      }
    }
  }

  async #write(lines: readonly ContainerLine[], epoch: string): Promise<void> {
    const segment = this.#segments.at(-1);
    if (!segment) throw new Error("there is no segment");
    const { index } = segment;
    const numbers = new Map<ContainerLine["source"], number>();
    const records: { readonly bytes: Uint8Array; readonly note: (end: number) => void }[] = [];
    let next = index.sources.length;
    for (const { source, time, position, stream, isCut, text } of lines) {
      const stored: StoredSource = { ...source, epoch };
      let number = numbers.get(source) ?? index.numberOf(stored);
      if (number === undefined) {
        const own = next++;
        number = own;
        records.push({ bytes: encodeSource(own, stored), note: (end) => index.addSource(own, stored, end) });
      }
      numbers.set(source, number);
      const line: StoredLine = { ...parseTime(time), source: number, position, isCut, isStderr: stream === "stderr" };
      records.push({ bytes: encodeLine(line, text), note: (end) => index.addLine(line, end) });
    }
    await segment.append(Buffer.concat(records.map(({ bytes }) => bytes)));
    for (const { bytes, note } of records) note(index.bytes + bytes.length);
    for (const { source, position } of lines) this.#reached(keyOf({ ...source, epoch }), position);
  }

  /** Begins a new segment if the last one is full, or so old that its first lines would stay for too long. */
  async #roll(incoming: number): Promise<void> {
    const { maxBytes, maxAgeMs } = this.#options.retention();
    const { least, most } = segmentLimits;
    const limit = Math.min(most, Math.max(least, maxBytes / segmentsPerStore));
    const last = this.#segments.at(-1);
    if (!last || last.index.lines === 0) return;
    const ageMs = this.#options.clock.now() - last.index.oldest * 1000;
    if (last.index.bytes + incoming <= limit && ageMs <= maxAgeMs / segmentsPerStore) return;
    await this.#begin(last.number + 1);
  }

  async #begin(number: number): Promise<void> {
    const { folder } = this.#options;
    await this.#segments.at(-1)?.seal();
    this.#segments.push(await SegmentFile.create(number, join(folder, `${String(number).padStart(10, "0")}.log`)));
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close()); // the name is on disk, too
  }

  async #prune(incoming: number): Promise<void> {
    const { maxBytes, maxAgeMs } = this.#options.retention();
    const least = (this.#options.clock.now() - maxAgeMs) / 1000;
    const isTooOld = ({ index }: SegmentFile) => index.lines > 0 && index.newest < least;
    const [oldest] = this.#segments;
    if (this.#segments.length === 1 && oldest && isTooOld(oldest)) await this.#begin(oldest.number + 1);
    while (this.#segments.length > 1 && this.#segments[0] && isTooOld(this.#segments[0]))
      await this.#removeOldest("it is too old");
    while (this.#segments.length > 1 && this.bytes + incoming > maxBytes) await this.#removeOldest("there is too much");
  }

  async #removeOldest(reason: string): Promise<void> {
    const oldest = this.#segments.shift();
    if (!oldest) return;
    await oldest.remove();
    this.removedSegments++;
    this.#readPositions();
    this.#options.log.info("a segment was removed", { segment: oldest.number, lines: oldest.index.lines, reason });
  }
}

const keyOf = ({ epoch, uid, container, attempt }: StoredSource): string => `${epoch}/${uid}/${container}/${attempt}`;
