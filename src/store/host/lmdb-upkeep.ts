// What an embedded store does beside reading and writing: bringing the index on disk up to the log, removing history
// that is no longer kept, and watching how much room is left.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { ImageEntry } from "../copy.ts";
import { OutOfSpace, type Revision } from "../engine.ts";
import type { Committer } from "./lmdb-commit.ts";
import type { LmdbHistory } from "./lmdb-history.ts";
import type { Databases, NumberName, OpenedFile } from "./lmdb-open.ts";
import { encodeIndexed, encodeLog, encodeRevision, type IndexEntry, type LogRecord } from "./lmdb-records.ts";
import type { Reserve } from "./reserve.ts";

export interface UpkeepOptions {
  readonly databases: Databases;
  readonly loaded: OpenedFile;
  readonly history: LmdbHistory;
  readonly committer: Committer;
  readonly reserve: Reserve;
  readonly clock: Clock;
  readonly log: Log;
  readonly quotaBytes?: number;
  readonly keepRevisions?: number;
}

/** So many keys may be behind on disk, and by so many revisions, before they are written; after a crash those are read again. */
const dirtyKeys = 8_192;
const dirtyRevisions = 32_768;
/** How much is handed to one transaction. */
const keyChunk = 128;
const sweepChunk = 256;
/** Under full load each transaction carries some hundred writes: a sweep that falls behind takes larger steps. */
const sweepHurry = { behind: 1_024, chunk: 640 };
/** Room is measured at most this often. */
const measureMs = 1_000;

export class LmdbUpkeep {
  readonly #databases: Databases;
  readonly #history: LmdbHistory;
  readonly #committer: Committer;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #quotaBytes: number;
  readonly #keepRevisions: number;
  readonly #reserve: Reserve;
  /** Keys whose entry on disk is behind, with what it should be; undefined if it should not be. */
  #dirty: Map<string, IndexEntry | undefined>;
  #checkpointed: Revision;
  #checkpointing: Promise<void> | undefined;
  /** As the file has it, and as the newest transaction under way leaves it. History in memory may be ahead of both. */
  #compacted: { onDisk: Revision; underWay: Revision };
  #swept: Revision;
  #sweeping: Promise<void> | undefined;
  #measuredAt = Number.NEGATIVE_INFINITY;
  #quotaAlarm: string | undefined;

  constructor({ databases, loaded, history, committer, reserve, clock, log, ...options }: UpkeepOptions) {
    this.#databases = databases;
    this.#history = history;
    this.#committer = committer;
    this.#clock = clock;
    this.#log = log;
    this.#quotaBytes = options.quotaBytes ?? 8 * 2 ** 30;
    this.#keepRevisions = options.keepRevisions ?? 10_000;
    this.#reserve = reserve;
    this.#dirty = loaded.dirty;
    this.#checkpointed = loaded.checkpoint;
    this.#compacted = { onDisk: loaded.compacted, underWay: loaded.compacted };
    this.#swept = loaded.swept;
    if (loaded.swept < loaded.compacted) this.#inBackground(this.#sweepTo());
  }

  /** A key has changed on disk, in the log. */
  wrote(key: string, indexed: IndexEntry | undefined): void {
    this.#dirty.set(key, indexed);
  }

  /** To be called after every transaction. */
  look(): void {
    const isBehind = this.#dirty.size >= dirtyKeys || this.#history.newest() - this.#checkpointed >= dirtyRevisions;
    if (isBehind && !this.#checkpointing) this.#inBackground(this.checkpoint());
    const now = this.#clock.elapsed();
    if (now - this.#measuredAt < measureMs) return;
    this.#measuredAt = now;
    this.#watchQuota();
  }

  /** Brings the index on disk up to the log. */
  async checkpoint(): Promise<void> {
    await this.#checkpointing;
    this.#checkpointing ??= this.#writeDirty().finally(() => {
      this.#checkpointing = undefined;
    });
    await this.#checkpointing;
  }

  /** Forgets what is before a revision, and removes it from the file. */
  async forget(revision: Revision): Promise<void> {
    if (revision > this.#history.oldest()) this.#history.forget(revision);
    if (revision > this.#compacted.onDisk) {
      // Without this, a record that is needed to bring up the index could be removed.
      if (this.#checkpointed < revision) await this.checkpoint();
      await this.#putCompacted(revision);
    }
    while (this.#swept < revision) await this.#sweepTo();
  }

  forgetInBackground(revision: Revision): void {
    this.#inBackground(this.forget(revision));
  }

  /** Why puts are refused, in a sentence. */
  get alarm(): string | undefined {
    return this.#reserve.alarm ?? this.#quotaAlarm;
  }

  refuseIfFull(): void {
    if (this.alarm === undefined) return;
    this.#reserve.look();
    if (this.#quotaAlarm) this.#watchQuota();
    if (this.alarm !== undefined) throw new OutOfSpace(this.alarm);
  }

  /** Whether that gave room to what makes more. */
  diskIsFull(error: OutOfSpace): boolean {
    const hasRoom = this.#reserve.release(error.message);
    this.#log.error("disk is full: puts are refused", { path: this.#databases.path, error });
    return hasRoom;
  }

  measure(): { sizeBytes: number; usedBytes: number } {
    return measure(this.#databases);
  }

  /** Writes an image into a fresh store. Until it is whole the file says so, and cannot be opened. */
  async adopt(
    revision: Revision,
    entries: AsyncIterable<ImageEntry>,
    onKey: (key: string, indexed: IndexEntry) => void,
  ): Promise<void> {
    await this.#committer.write(64, () => this.#putNumber("adopting", revision));
    const chunk: [LogRecord, IndexEntry][] = [];
    const flush = async () => {
      const written = chunk.splice(0);
      const bytes = written.reduce((sum, [{ value }]) => sum + value.length, 0);
      await this.#committer.write(bytes, () => {
        for (const [record] of written)
          void this.#databases.log.put(encodeRevision(record.revision), encodeLog(record));
        this.#putKeys(written.map(([{ key }, indexed]) => [key, indexed]));
      });
      for (const [{ key }, indexed] of written) onKey(key, indexed);
    };
    for await (const { key, value, created, modified, ttlSeconds } of entries) {
      const ttlMs = ttlSeconds === undefined ? undefined : ttlSeconds * 1000;
      const expiry = ttlMs === undefined ? undefined : { at: this.#clock.now() + ttlMs, ttlMs };
      const record: LogRecord = { type: "put", key, revision: modified, created, previous: 0, expiry, value };
      if (chunk.push([record, { created, modified, expiry }]) >= keyChunk) await flush();
    }
    await flush();
    this.#history.beginAt(revision);
    this.#checkpointed = this.#swept = revision;
    this.#compacted = { onDisk: revision, underWay: revision };
    await this.#committer.write(256, () => {
      for (const name of ["checkpoint", "compacted", "swept"] as const) this.#putNumber(name, revision);
      void this.#databases.meta.remove(Buffer.from("adopting"));
    });
  }

  async end(): Promise<void> {
    await this.#sweeping;
    if (this.alarm === undefined) await this.checkpoint();
    await this.#committer.settled();
  }

  async #writeDirty(): Promise<void> {
    const upTo = this.#history.newest();
    const dirty = this.#dirty;
    if (upTo === this.#checkpointed) return;
    this.#dirty = new Map();
    try {
      const all = [...dirty];
      for (let from = 0; from < all.length; from += keyChunk) {
        const chunk = all.slice(from, from + keyChunk);
        await this.#committer.write(chunk.length * 256, () => this.#putKeys(chunk));
      }
      await this.#committer.write(64, () => this.#putNumber("checkpoint", upTo));
      this.#checkpointed = upTo;
    } catch (error) {
      this.#dirty = new Map([...dirty, ...this.#dirty]);
      throw error;
    }
  }

  #putKeys(chunk: readonly [string, IndexEntry | undefined][]): void {
    const { keys } = this.#databases;
    for (const [text, indexed] of chunk) {
      const key = Buffer.from(text);
      if (indexed) void keys.put(key, encodeIndexed(key, indexed));
      else void keys.remove(key);
    }
  }

  async #putCompacted(revision: Revision): Promise<void> {
    const compacted = this.#compacted;
    await this.#committer.write(64, () => {
      compacted.underWay = Math.max(compacted.underWay, revision);
      this.#putNumber("compacted", compacted.underWay);
    });
    compacted.onDisk = Math.max(compacted.onDisk, revision);
  }

  #sweepTo(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  /** Removes what compaction has made unreachable, once the file says so: else a watch from before would miss it after a crash. */
  async #sweep(): Promise<void> {
    const { log } = this.#databases;
    while (this.#swept < this.#compacted.onDisk) {
      const target = this.#compacted.onDisk;
      const limit = target - this.#swept > sweepHurry.behind ? sweepHurry.chunk : sweepChunk;
      const { revisions, upTo } = this.#history.unreachable(this.#swept, target, limit);
      await this.#committer.write(revisions.length * 64, () => {
        for (const revision of revisions) void log.remove(encodeRevision(revision));
        this.#putNumber("swept", upTo);
      });
      this.#swept = upTo;
    }
  }

  #putNumber(name: NumberName, value: number): void {
    const key = Buffer.from(name);
    void this.#databases.meta.put(key, encodeIndexed(key, { created: value, modified: 0, expiry: undefined }));
  }

  #watchQuota(): void {
    const { usedBytes } = this.measure();
    const newest = this.#history.newest();
    if (usedBytes > this.#quotaBytes * 0.8 && newest - this.#keepRevisions > this.#history.oldest())
      this.forgetInBackground(newest - this.#keepRevisions);
    if (usedBytes > this.#quotaBytes) {
      this.#quotaAlarm ??= `store ${this.#databases.path} uses ${mebibytes(usedBytes)} of its quota of ${mebibytes(this.#quotaBytes)}; delete objects, or raise the quota`;
      if (newest > this.#history.oldest()) this.forgetInBackground(newest);
    } else if (usedBytes < this.#quotaBytes * 0.95) this.#quotaAlarm = undefined;
  }

  /** What fails here is tried again when it is next due, and stops no reader or writer meanwhile. */
  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => this.#log.warn("upkeep of the store failed", { path: this.#databases.path, error }));
  }
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

interface TableStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
  readonly lastPageNumber: number;
}

/** Bytes of the file, and those of them that hold something. */
export function measure({ log, keys, meta }: Databases): { sizeBytes: number; usedBytes: number } {
  const stats = [log, keys, meta].map((table) => table.getStats() as TableStats);
  const pages = stats.reduce((sum, s) => sum + s.treeBranchPageCount + s.treeLeafPageCount + s.overflowPages, 0);
  const { pageSize = 4096, lastPageNumber = 0 } = stats[0] ?? {};
  return { sizeBytes: (lastPageNumber + 1) * pageSize, usedBytes: pages * pageSize };
}
