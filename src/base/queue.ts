// A queue of keys to work on: each key is waiting at most once, and never handed to two workers.

import type { Clock } from "./clock.ts";
import { type Backoff, backoffMs } from "./retry.ts";
import { TimerQueue } from "./timer-queue.ts";

/** Told what becomes of keys, by those who count. */
export interface QueueWitness {
  added(): void;
  taken(waitedMs: number): void;
  done(workedMs: number): void;
  retried(): void;
}

/** What there is to do. */
export interface QueueLoad {
  /** Keys that nobody works on yet, or not yet again. */
  readonly waiting: number;
  /** How long workers have been at the keys they have: all together, and the one that is slowest. */
  readonly unfinishedMs: number;
  readonly longestMs: number;
}

/** Since when, by key. */
type Times = Map<string, number>;

export class WorkQueue {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #witness: QueueWitness | undefined;
  readonly #ready: Times = new Map();
  readonly #working: Times = new Map();
  /** Keys that were added while a worker had them: they are ready again once it is done. */
  readonly #again: Times = new Map();
  readonly #delayed: TimerQueue<string>;
  readonly #failures = new Map<string, number>();
  readonly #waiters = new Set<(key: string) => void>();
  #isClosed = false;

  constructor(clock: Clock, backoff: Backoff = { firstMs: 5, maxMs: 1_000_000 }, witness?: QueueWitness) {
    this.#clock = clock;
    this.#backoff = backoff;
    this.#witness = witness;
    this.#delayed = new TimerQueue(clock, (key) => this.add(key));
  }

  /** Keys that are ready and not yet taken. */
  get size(): number {
    return this.#ready.size;
  }

  load(): QueueLoad {
    const now = this.#clock.elapsed();
    const times = [...this.#working.values()].map((since) => now - since);
    return {
      waiting: this.#ready.size + this.#again.size,
      unfinishedMs: times.reduce((sum, ms) => sum + ms, 0),
      longestMs: Math.max(0, ...times),
    };
  }

  add(key: string): void {
    if (this.#ready.has(key) || this.#again.has(key)) return;
    this.#witness?.added();
    const now = this.#clock.elapsed();
    if (this.#working.has(key)) this.#again.set(key, now);
    else this.#offer(key, now);
  }

  #offer(key: string, since: number): void {
    const [waiter] = this.#waiters;
    if (!waiter) {
      this.#ready.set(key, since);
      return;
    }
    this.#waiters.delete(waiter);
    this.#take(key, since);
    waiter(key);
  }

  #take(key: string, since: number): void {
    const now = this.#clock.elapsed();
    this.#working.set(key, now);
    this.#witness?.taken(now - since);
  }

  /** Adds the key after `ms`; of several delays for one key the earliest counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) this.add(key);
    else if (!this.#isClosed) this.#delayed.setNoLater(key, ms);
  }

  /** Adds the key again after a failure: after `ms` if that is known, else later each time. */
  retry(key: string, ms?: number): void {
    this.#witness?.retried();
    if (ms !== undefined) {
      this.addAfter(key, ms);
      return;
    }
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.addAfter(key, backoffMs(this.#backoff, failures));
  }

  /** Success: the next failure starts from the shortest delay. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, marked as being worked on until `done(key)`. */
  next(signal: AbortSignal): Promise<string> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const [first] = this.#ready;
    if (first !== undefined) {
      const [key, since] = first;
      this.#ready.delete(key);
      this.#take(key, since);
      return Promise.resolve(key);
    }
    return new Promise((resolve, reject) => {
      const aborted = () => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
      };
      const waiter = (taken: string) => {
        signal.removeEventListener("abort", aborted);
        resolve(taken);
      };
      this.#waiters.add(waiter);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }

  done(key: string): void {
    const since = this.#working.get(key);
    if (since !== undefined) this.#witness?.done(this.#clock.elapsed() - since);
    this.#working.delete(key);
    const added = this.#again.get(key);
    if (added === undefined) return;
    this.#again.delete(key);
    this.#offer(key, added);
  }

  /** Nothing is added later any more: no timer may outlive whoever works on the queue. */
  close(): void {
    this.#isClosed = true;
    this.#delayed.stop();
  }
}
