// etcd's recent history, kept in memory for all watchers of this process: one stream from etcd feeds them all.
// While nobody watches, nothing runs.
import type { Change, Revision, WatchBatch } from "../../engine.ts";
import type { ChangeHistory } from "../../watch-hub.ts";
import { type Batch, follow } from "./follow.ts";
import type { Pool } from "./pool.ts";

/** What is kept for watchers that are behind; those further behind read from etcd. */
const keptChanges = 8_192;
const keptBytes = 8 << 20;
/** How many changes a watcher that is behind gets at once. */
const batchChanges = 1_000;

export interface RecentHistoryOptions {
  readonly pool: Pool;
  /** Called after each batch with the changes that have become part of the history. */
  readonly onChanges: (changes: readonly Change[]) => void;
  /** Called when the history breaks off: `oldest` throws from now on. */
  readonly onFailure: () => void;
}

export class RecentHistory implements ChangeHistory {
  readonly #options: RecentHistoryOptions;
  #changes: Change[] = [];
  #bytes = 0;
  /** Everything after this revision, up to `#newest`, is in `#changes`. */
  #start: Revision = 0;
  #newest: Revision = 0;
  #readers = 0;
  #run: AbortController | undefined;
  #failure: unknown;
  readonly #waiting = new Set<() => void>();

  constructor(options: RecentHistoryOptions) {
    this.#options = options;
  }

  newest(): Revision {
    return this.#newest;
  }

  /** How old etcd's history is, etcd says when asked for it. */
  oldest(): Revision {
    if (this.#failure !== undefined) throw this.#failure;
    return 0;
  }

  read(prefix: string, after: Revision, signal: AbortSignal): WatchBatch | Promise<WatchBatch> {
    if (after < this.#start) return this.#readFromEtcd(prefix, after, signal);
    const from = firstAfter(this.#changes, after);
    let end = Math.min(from + batchChanges, this.#changes.length);
    while (end < this.#changes.length && modified(this.#changes, end) === modified(this.#changes, end - 1)) end++;
    return {
      changes: this.#changes.slice(from, end).filter(({ entry }) => entry.key.startsWith(prefix)),
      revision: end < this.#changes.length ? modified(this.#changes, end - 1) : this.#newest,
    };
  }

  /**
   * Begins to follow etcd, unless that is so already, for a reader who wants what comes after `from`. After a failure it begins anew,
   * even while readers from before are still busy with what they have: they go on from etcd.
   */
  join(from: Revision): void {
    this.#readers++;
    if (this.#run && this.#failure === undefined) return;
    this.#run?.abort();
    this.#forget();
    this.#start = from;
    this.#newest = from;
    this.#run = new AbortController();
    void this.#follow(this.#run.signal); // never rejects: failures go to the readers
  }

  /** To be called once per `join`; after the last reader nothing is kept. */
  leave(): void {
    if (--this.#readers > 0) return;
    this.#run?.abort();
    this.#run = undefined;
    this.#forget();
  }

  #forget(): void {
    this.#failure = undefined;
    this.#changes = [];
    this.#bytes = 0;
  }

  /** Resolves when the history has come to that revision, has broken off, or the signal has aborted. */
  async reach(revision: Revision, signal: AbortSignal): Promise<void> {
    while (this.#newest < revision && this.#failure === undefined && !signal.aborted)
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal.removeEventListener("abort", wake);
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
        signal.addEventListener("abort", wake, { once: true });
      });
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { pool, onFailure, onChanges } = this.#options;
    try {
      for await (const batch of follow(pool, this.#newest, AbortSignal.any([signal, pool.closing]))) {
        if (signal.aborted) return;
        this.#append(batch);
        onChanges(batch.changes);
        this.#wake();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#failure = error;
      onFailure();
      this.#wake();
    }
  }

  #append({ changes, revision }: Batch): void {
    for (const change of changes) {
      this.#changes.push(change);
      this.#bytes += sizeOf(change);
    }
    this.#newest = revision;
    // Dropping moves all the rest, so it is done once in a while.
    if (this.#changes.length <= 1.25 * keptChanges && this.#bytes <= 1.25 * keptBytes) return;
    let dropped: Revision = this.#start;
    const end = this.#changes.findIndex((change, i) => {
      const isEnough = this.#changes.length - i <= keptChanges && this.#bytes <= keptBytes;
      if (isEnough && change.entry.modified !== dropped) return true;
      this.#bytes -= sizeOf(change);
      dropped = change.entry.modified;
      return false;
    });
    this.#changes = end < 0 ? [] : this.#changes.slice(end);
    this.#start = dropped;
  }

  /** For a reader too far behind: on a connection of its own, until it has caught up with what is kept here. */
  async #readFromEtcd(prefix: string, after: Revision, signal: AbortSignal): Promise<WatchBatch> {
    const { pool } = this.#options;
    const changes: Change[] = [];
    let revision = after;
    for await (const batch of follow(pool, after, AbortSignal.any([signal, pool.closing]))) {
      for (const change of batch.changes) if (change.entry.key.startsWith(prefix)) changes.push(change);
      revision = batch.revision;
      if (revision >= this.#start || changes.length >= batchChanges) break;
    }
    return { changes, revision };
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}

const sizeOf = ({ entry, previous }: Change) => 200 + entry.value.length + (previous?.value.length ?? 0);

const modified = (changes: readonly Change[], index: number) => changes[index]?.entry.modified ?? 0;

function firstAfter(changes: readonly Change[], revision: Revision): number {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (modified(changes, middle) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
