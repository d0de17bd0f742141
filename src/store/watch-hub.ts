import type { Clock } from "#base/clock.ts";
import { type Change, Compacted, type Revision, Unavailable, type WatchBatch } from "./engine.ts";

/** What watchers read from: the store's history as far as it is published. */
export interface ChangeHistory {
  newest(): Revision;
  oldest(): Revision;
  /**
   * Some of what happened under the prefix after `after`, which is at least `oldest`; the batch's revision is beyond `after`,
   * unless the signal has aborted.
   */
  read(prefix: string, after: Revision, signal: AbortSignal): WatchBatch | Promise<WatchBatch>;
}

/** A change that is told only to those who asked for its key. */
export interface KeyChange {
  readonly key: string;
  change(): Change;
}

interface Waiter {
  readonly since: number;
  readonly wake: (woken: WatchBatch | ProgressNotice | undefined) => void;
}

/** Up to where whoever waited has heard of everything, though nothing was for it. */
interface ProgressNotice {
  readonly heard: Revision;
}

/** A watcher hears at the latest after twice this time, for it may just have missed a round. */
const progressMs = 30_000;

/**
 * Feeds watchers. A watcher is only a position in history: what it has not read yet takes no memory, however slow it is.
 * Those that have read everything wait, grouped by prefix, and each new batch is filtered once per group.
 */
export class WatchHub {
  readonly #history: ChangeHistory;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<Waiter>>();
  #ended = false;
  #cancelTimer: (() => void) | undefined;

  constructor(history: ChangeHistory, clock: Clock) {
    this.#history = history;
    this.#clock = clock;
  }

  /** Whether anyone waits to be told. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  publish(changes: readonly Change[]): void {
    this.announce(changes.map((change) => ({ key: change.entry.key, change: () => change })));
  }

  /** Tells those who wait. What is published is the newest, in order, and already part of the history. */
  announce(published: readonly KeyChange[]): void {
    const revision = this.#history.newest();
    for (const [prefix, waiters] of this.#waiting) {
      const matching = published.filter(({ key }) => key.startsWith(prefix));
      if (matching.length === 0) continue;
      this.#waiting.delete(prefix);
      const batch = batchOf(matching, revision);
      for (const { wake } of waiters) wake(batch);
    }
  }

  async *watch(prefix: string, from: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch> {
    if (this.#ended) throw new Unavailable("watch: the store is closed");
    const history = this.#history;
    let seen = from;
    let isTold = false;
    while (!signal.aborted && !this.#ended) {
      if (seen < history.oldest()) throw new Compacted(seen, history.oldest());
      if (seen < history.newest()) {
        const batch = await history.read(prefix, seen, signal);
        seen = batch.revision;
        if (batch.changes.length > 0 && !signal.aborted) yield batch;
      } else if (!isTold && seen === history.newest()) {
        isTold = true;
        yield { changes: [], revision: seen };
      } else {
        const batch = await this.#wait(prefix, signal);
        if (!batch) continue; // ended, or what was published could not be read
        if ("heard" in batch) {
          seen = Math.max(seen, batch.heard);
          continue;
        }
        if (batch.revision < seen) continue; // not yet where the watcher wants to begin
        const changes = batch.changes.filter(({ entry }) => entry.modified > seen);
        seen = batch.revision;
        isTold = true;
        yield changes.length === batch.changes.length ? batch : { changes, revision: seen };
      }
    }
  }

  /**
   * Lets all who wait look at the history again: it may have broken off. They have missed nothing until now, however long ago they were
   * last told something: what the history forgets meanwhile is nothing to them.
   */
  stir(): void {
    const stirred = { heard: this.#history.newest() };
    for (const waiters of this.#waiting.values()) for (const { wake } of waiters) wake(stirred);
    this.#waiting.clear();
  }

  end(): void {
    this.#ended = true;
    this.#cancelTimer?.();
    this.stir();
  }

  #wait(prefix: string, signal: AbortSignal): Promise<WatchBatch | ProgressNotice | undefined> {
    this.#cancelTimer ??= this.#clock.after(progressMs, () => this.#report());
    return new Promise((resolve) => {
      const aborted = () => {
        const group = this.#waiting.get(prefix);
        if (group?.delete(waiter) && group.size === 0) this.#waiting.delete(prefix);
        resolve(undefined);
      };
      const waiter: Waiter = {
        since: this.#clock.elapsed(),
        wake: (woken) => {
          signal.removeEventListener("abort", aborted);
          resolve(woken);
        },
      };
      signal.addEventListener("abort", aborted, { once: true });
      const group = this.#waiting.get(prefix);
      if (group) group.add(waiter);
      else this.#waiting.set(prefix, new Set([waiter]));
    });
  }

  /** Tells everyone who has waited long that nothing happened. */
  #report(): void {
    this.#cancelTimer = undefined;
    const notice = { changes: [], revision: this.#history.newest() };
    const before = this.#clock.elapsed() - progressMs;
    for (const [prefix, waiters] of this.#waiting) {
      for (const waiter of waiters) {
        if (waiter.since > before) continue;
        waiters.delete(waiter);
        waiter.wake(notice);
      }
      if (waiters.size === 0) this.#waiting.delete(prefix);
    }
    if (this.#waiting.size > 0) this.#cancelTimer = this.#clock.after(progressMs, () => this.#report());
  }
}

/** Undefined if history cannot be read: whoever is woken reads it again, and meets the error where it can be told. */
function batchOf(published: readonly KeyChange[], revision: Revision): WatchBatch | undefined {
  try {
    return { changes: published.map((one) => one.change()), revision };
  } catch {
    return undefined;
  }
}
