// All that the API server needs from a store, and nothing more: an ordered key-value history with watch.
// It knows bytes, not kinds. Engines: memory (the reference), embedded (host/lmdb.ts), a real etcd (host/etcd.ts).
// Two writes, both conditional: there is no unconditional put, so no lost update can be written by mistake.
// One suite, engine.suite.ts, holds every engine to these words.

/**
 * Position in the store's history. Every write gets the next one; it becomes the object's resourceVersion. Never reused,
 * not even after a crash or by a write that failed. A number will do: 2^53 writes at 100,000 a second last 2,800 years.
 * A fresh store stands at 1, because clients read 0 as "any".
 */
export type Revision = number;

export interface Entry {
  readonly key: string;
  /** Shared with every reader: must not be changed. Two reads of one entry give equal bytes, which need not be the same array. */
  readonly value: Uint8Array;
  /** The revision that created the key, and the one that wrote this value. */
  readonly created: Revision;
  readonly modified: Revision;
  /** Why the value could not be decrypted; it is empty then. Only lists, watches and conflicts have such entries: `get` throws. */
  readonly unreadable?: TransformError;
}

export interface Change {
  readonly type: "put" | "delete";
  /** The entry as written; of a delete, the key with an empty value and `modified` the revision of the delete. */
  readonly entry: Entry;
  /**
   * What the key held before, if it existed and history still has it. Always there for a delete in kept history. Its value may have to be
   * read for whoever asks, so it must be asked for in the turn in which the change came.
   */
  readonly previous?: Entry;
}

/** Changes in the order of their revisions. An empty batch is a progress notice: nothing happened under the prefix up to `revision`. */
export interface WatchBatch {
  readonly changes: readonly Change[];
  /** The watcher has now seen everything up to and including this revision, and may resume from it. */
  readonly revision: Revision;
}

export interface RangeOptions {
  /** The past revision to read; defaults to the newest one. */
  readonly at?: Revision;
  /** Start behind this key. */
  readonly after?: string;
  /** At most this many entries; defaults to all. */
  readonly limit?: number;
}

export interface Page {
  readonly entries: readonly Entry[];
  /** The revision the page was read at: `at`, or the newest one. Pass it as `at` for the following pages. */
  readonly revision: Revision;
  /** How many entries lie behind this page at that revision. */
  readonly remaining: number;
}

export interface PutOptions {
  /** The key is deleted by the store within a second after this time, unless written again before. */
  readonly ttlSeconds?: number | undefined;
  /** A step on the way to a delete: a store that keeps some room for deletes gives it to this write as well. */
  readonly makesRoom?: boolean;
}

/** A write that is on its way, and may still fail. */
export interface BegunWrite {
  readonly entry: Entry;
  /** Rejects as `put` does. */
  readonly durable: Promise<unknown>;
}

export interface StoreStatus {
  /** The newest revision. */
  readonly revision: Revision;
  /** The oldest revision that list and watch still know. */
  readonly compacted: Revision;
  /** Bytes the store occupies, and how many of them are in use; undefined where that cannot be known. */
  readonly sizeBytes: number | undefined;
  readonly usedBytes: number | undefined;
  /** Why writes are refused at present, in a sentence; undefined when they are not. */
  readonly alarm: string | undefined;
}

export interface StoreEngine {
  /** The entry, or undefined if the key is absent. Linearizable: sees every write acknowledged before the call. */
  get(key: string, signal?: AbortSignal): Promise<Entry | undefined>;

  /**
   * Entries whose key starts with `prefix`, in key order (by UTF-16 code unit; keys are ASCII), all from one revision. Linearizable without `at`.
   * Throws Compacted if `at` is gone, FutureRevision if it has not come.
   */
  list(prefix: string, options?: RangeOptions, signal?: AbortSignal): Promise<Page>;

  /**
   * Writes if the key's modified revision is `expected` (0: must not exist). Resolves only when the write is durable.
   * Throws Conflict with the present entry, OutOfSpace beyond the quota, Unavailable when the outcome may be unknown.
   * Takes no signal: once sent, a write cannot be unsent. The value belongs to the store from now on and must not be changed; that of
   * the entry is equal, but may be another.
   */
  put(key: string, value: Uint8Array, expected: Revision, options?: PutOptions): Promise<Entry>;

  /**
   * As `put`, for an engine that can say at once which revision a write will have: the next write of the key can build on it before
   * it is durable. Undefined if it cannot say so now; then `put` can. When a write fails, all that build on it fail. The value is
   * copied: it is the caller's again when this returns.
   */
  begin?(key: string, value: Uint8Array, expected: Revision, options?: PutOptions): BegunWrite | undefined;

  /** Removes if the key's modified revision is `expected`; resolves with the revision of the removal. Throws as `put` does. */
  delete(key: string, expected: Revision): Promise<Revision>;

  /**
   * Every change under `prefix` after revision `from`, in order, each once, without gaps, until the signal aborts (then it ends quietly).
   * All changes of one revision are in one batch. A progress notice is sent at once when the watcher has caught up, and then
   * at least every minute of silence. Throws Compacted if `from` is gone, also later when the watcher reads too slowly to keep up.
   * A `from` that has not come is waited for. Ends quietly, too, when the store is closed.
   */
  watch(prefix: string, from: Revision, signal: AbortSignal): AsyncIterable<WatchBatch>;

  /** The newest revision. Linearizable: at least that of every write acknowledged before the call. */
  revision(signal?: AbortSignal): Promise<Revision>;

  /** The same at once, from an engine that nobody else writes to. */
  newest?(): Revision;

  /** Whether the value of a key is kept in a form that is no longer the one to write, such as under an older key of encryption. */
  isStale?(key: string): Promise<boolean>;

  /**
   * Forgets history before `revision`; the entries present at it stay. A revision already compacted is no error;
   * one that has not come is FutureRevision.
   */
  compact(revision: Revision): Promise<void>;

  status(signal?: AbortSignal): Promise<StoreStatus>;

  /** Ends all watches, finishes writes under way and releases what is held. Idempotent; every other call then throws Unavailable. */
  close(): Promise<void>;
}

/** The key was not as the writer expected. */
export class Conflict extends Error {
  override readonly name = "Conflict";
  readonly key: string;
  /** What the key holds; undefined if it is absent. */
  readonly present: Entry | undefined;

  constructor(key: string, expected: Revision, present: Entry | undefined) {
    super(
      `${key}: expected ${expected === 0 ? "no entry" : `revision ${expected}`}, found ${present ? `revision ${present.modified}` : "no entry"}`,
    );
    this.key = key;
    this.present = present;
  }
}

/** The revision asked for is no longer kept. */
export class Compacted extends Error {
  override readonly name = "Compacted";
  readonly oldest: Revision;

  constructor(revision: Revision, oldest: Revision) {
    super(`revision ${revision} is compacted; the oldest kept is ${oldest}`);
    this.oldest = oldest;
  }
}

/** The revision asked for has not been written yet. */
export class FutureRevision extends Error {
  override readonly name = "FutureRevision";
  readonly newest: Revision;

  constructor(revision: Revision, newest: Revision) {
    super(`revision ${revision} has not been written; the newest is ${newest}`);
    this.newest = newest;
  }
}

/** No room: the quota or the disk is full. Deletes and compaction still work. */
export class OutOfSpace extends Error {
  override readonly name = "OutOfSpace";
}

/** The store could not be reached or did not answer in time. Of a write, the outcome may be unknown. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** A value could not be encrypted or decrypted. The message has upstream's words, and names the resource and the key of encryption. */
export class TransformError extends Error {
  override readonly name = "TransformError";
}

/** What is on disk is not, or no longer, a store of ours: nothing was written, and a person must look. */
export class Damaged extends Error {
  override readonly name = "Damaged";
}
