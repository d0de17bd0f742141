// The past of an embedded store: the newest changes in memory, the rest in the log.
import { breathe } from "#base/breathe.ts";
import { type Change, Compacted, Damaged, type Entry, type Revision, type WatchBatch } from "../engine.ts";
import type { Undo } from "../past.ts";
import type { Databases } from "./lmdb-open.ts";
import { decodeLog, decodeRevision, encodeRevision, type IndexEntry, type LogRecord } from "./lmdb-records.ts";
import { Trail } from "./lmdb-trail.ts";

/** The newest changes are kept in memory up to this many bytes of values, or this many. */
const recentBytes = 2 << 20;
const recentCount = 5_000;
/** How much of the log is read before others get a turn. */
const chunk = 100;
/** A watcher that is behind gets so many changes at once. */
const batch = 1_000;
const nothing = new Uint8Array();

export class LmdbHistory {
  readonly #databases: Databases;
  readonly #scratch = Buffer.allocUnsafe(8);
  #newest: Revision;
  #compacted: Revision;
  /** Every change after `#floor`, in order, from `#first` on; those before have been dropped. */
  #recent: LogRecord[] = [];
  #first = 0;
  #recentBytes = 0;
  #floor: Revision;
  readonly #trail: Trail;
  readonly #undos = new Map<Revision, { upTo: Revision; readonly undo: Map<string, IndexEntry | undefined> }>();

  constructor(databases: Databases, newest: Revision, compacted: Revision) {
    this.#databases = databases;
    this.#newest = newest;
    this.#floor = newest;
    this.#compacted = compacted;
    this.#trail = new Trail(newest);
  }

  /** The newest revision that is on disk. */
  newest(): Revision {
    return this.#newest;
  }

  oldest(): Revision {
    return this.#compacted;
  }

  /** Takes in a change that is on disk. */
  append(record: LogRecord): void {
    this.#newest = record.revision;
    this.#trail.append(record);
    this.#recent.push(record);
    this.#recentBytes += record.value.length;
    while (this.#recentBytes > recentBytes || this.#recent.length - this.#first > recentCount) this.#dropOldest();
  }

  /** The store begins at a revision that another one had reached. */
  beginAt(revision: Revision): void {
    this.#newest = this.#floor = this.#compacted = revision;
    this.#trail.beginAt(revision);
  }

  /** From now on what is before `revision` is unknown. */
  forget(revision: Revision): void {
    this.#compacted = revision;
    for (const at of this.#undos.keys()) if (at < revision) this.#undos.delete(at);
  }

  /** The entry that was written at a revision of kept history. */
  entry(key: string, { created, modified }: IndexEntry): Entry {
    return { key, value: this.record(modified).value, created, modified };
  }

  record(revision: Revision): LogRecord {
    const recent = revision > this.#floor ? this.#recent[this.#firstAfter(revision - 1)] : undefined;
    if (recent?.revision === revision) return recent;
    const bytes = this.#bytesOf(revision);
    if (!bytes) throw new Damaged(`store ${this.#databases.path}: the record of revision ${revision} is missing`);
    return this.#decode(bytes, revision);
  }

  /** lmdb reads for about a millisecond by the same view of the file, which may be older than a commit that we have heard of since. */
  #bytesOf(revision: Revision): Buffer | undefined {
    const { log, root } = this.#databases;
    const key = encodeRevision(revision, this.#scratch);
    const bytes = log.getBinary(key);
    if (bytes) return bytes;
    root.resetReadTxn();
    return log.getBinary(key);
  }

  /** What a watcher is told of a change. */
  change({ type, key, created, revision, previous, value }: LogRecord): Change {
    const entry = { key, value: type === "put" ? value : nothing, created, modified: revision };
    if (previous === 0) return { type, entry };
    return { type, entry, previous: new ReplacedEntry(key, created, previous, this) };
  }

  /** What happened under a prefix after a revision, up to a bounded amount. */
  async read(prefix: string, after: Revision): Promise<WatchBatch> {
    const changes: Change[] = [];
    let bytes = 0;
    const pause = breathe();
    let revision = after;
    while (revision < this.#newest && changes.length < batch && bytes < recentBytes) {
      if (revision < this.#compacted) throw new Compacted(revision, this.#compacted);
      for (const record of this.#after(revision)) {
        revision = record.revision;
        if (!record.key.startsWith(prefix)) continue;
        changes.push(this.change(record));
        bytes += record.value.length;
        if (changes.length >= batch || bytes >= recentBytes) break;
      }
      if (pause.due() && changes.length < batch) await pause.now();
    }
    return { changes, revision };
  }

  /** What has to be taken back from the present to see the store as it was. Valid until the next wait of the caller. */
  async undo(at: Revision): Promise<Undo<IndexEntry>> {
    let cached = this.#undos.get(at);
    if (!cached) {
      cached = { upTo: at, undo: new Map() };
      this.#undos.set(at, cached);
      const oldest = this.#undos.keys().next();
      if (this.#undos.size > 16 && !oldest.done) this.#undos.delete(oldest.value);
    }
    const { undo } = cached;
    const pause = breathe();
    while (cached.upTo < this.#newest) {
      if (at < this.#compacted) throw new Compacted(at, this.#compacted);
      for (const { key, created, previous, revision } of this.#after(cached.upTo)) {
        if (!undo.has(key))
          undo.set(key, previous === 0 ? undefined : { created, modified: previous, expiry: undefined });
        cached.upTo = revision;
      }
      if (pause.due()) await pause.now();
    }
    return undo;
  }

  /** Some of the changes after a revision, up to the newest on disk; at least one if there are any. */
  #after(revision: Revision): readonly LogRecord[] {
    if (revision >= this.#floor) {
      const from = this.#firstAfter(revision);
      return this.#recent.slice(from, from + chunk);
    }
    return this.#logged(revision, chunk);
  }

  /**
   * The revisions whose records nobody can reach once history before `target` is forgotten, as far as the next `limit` changes after `after`
   * tell, and how far that is. A change at or before `target` makes the one before it of the same key unreachable; a delete there is
   * unreachable itself.
   */
  unreachable(
    after: Revision,
    target: Revision,
    limit: number,
  ): { readonly revisions: readonly Revision[]; readonly upTo: Revision } {
    if (after >= this.#trail.start) {
      const upTo = Math.min(target, after + limit);
      const revisions = this.#trail.unreachable(after, upTo);
      this.#trail.forget(upTo);
      return { revisions, upTo };
    }
    const logged = this.#logged(after, limit);
    const records = logged.filter(({ revision }) => revision <= target);
    const revisions = records.flatMap(({ type, previous, revision }) => [
      ...(previous > 0 ? [previous] : []),
      ...(type === "delete" ? [revision] : []),
    ]);
    return { revisions, upTo: records.length < limit ? target : (records.at(-1)?.revision ?? target) };
  }

  /** Changes after a revision as they are in the log: without those that compaction has removed. */
  #logged(after: Revision, limit: number): LogRecord[] {
    const records: LogRecord[] = [];
    for (const { key, value } of this.#databases.log.getRange({ start: encodeRevision(after + 1), limit })) {
      const revision = decodeRevision(key);
      // Written, but not flushed yet: nobody may see it.
      if (revision > this.#newest) break;
      records.push(this.#decode(value, revision));
    }
    return records;
  }

  #decode(bytes: Buffer, revision: Revision): LogRecord {
    try {
      return decodeLog(bytes, revision);
    } catch (cause) {
      throw new Damaged(`store ${this.#databases.path} is damaged; restore it from a snapshot`, { cause });
    }
  }

  #firstAfter(revision: Revision): number {
    let low = this.#first;
    let high = this.#recent.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#recent[middle] as LogRecord).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #dropOldest(): void {
    const dropped = this.#recent[this.#first++];
    if (!dropped) return;
    this.#recentBytes -= dropped.value.length;
    this.#floor = dropped.revision;
    // Until they are cut off, those that were dropped are still held.
    if (this.#first > this.#recent.length >> 2) {
      this.#recent = this.#recent.slice(this.#first);
      this.#first = 0;
    }
  }
}

/**
 * What a change has replaced. Its value is read when someone asks for it, which few do: to read it is to bring pages of the file
 * into memory, and after a while all of them.
 */
class ReplacedEntry implements Entry {
  readonly key: string;
  readonly created: Revision;
  readonly modified: Revision;
  readonly #history: LmdbHistory;

  constructor(key: string, created: Revision, modified: Revision, history: LmdbHistory) {
    this.key = key;
    this.created = created;
    this.modified = modified;
    this.#history = history;
  }

  get value(): Uint8Array {
    return this.#history.record(this.modified).value;
  }
}
