// A queue of keys to work on: each key is waiting at most once, and never handed to two workers.
import type { Clock } from "./clock.ts";
import { Heap } from "./heap.ts";
import { type Backoff, backoffMs } from "./retry.ts";

interface Delayed {
  readonly key: string;
  readonly at: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #ready = new Set<string>();
  readonly #working = new Set<string>();
  /** Keys that were added while a worker had them: they are ready again once it is done. */
  readonly #again = new Set<string>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #byTime = new Heap<Delayed>((a, b) => a.at - b.at);
  readonly #failures = new Map<string, number>();
  readonly #waiters = new Set<(key: string) => void>();
  #cancelTimer: (() => void) | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, backoff: Backoff = { firstMs: 5, maxMs: 1_000_000 }) {
    this.#clock = clock;
    this.#backoff = backoff;
  }

  /** Keys that are ready and not yet taken. */
  get size(): number {
    return this.#ready.size;
  }

  add(key: string): void {
    if (this.#working.has(key)) {
      this.#again.add(key);
      return;
    }
    const [waiter] = this.#waiters;
    if (waiter) {
      this.#waiters.delete(waiter);
      this.#working.add(key);
      waiter(key);
    } else this.#ready.add(key);
  }

  /** Adds the key after `ms`; of several delays for one key the earliest counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const at = this.#clock.elapsed() + ms;
    const present = this.#delayed.get(key);
    if (present && present.at <= at) return;
    const entry = { key, at };
    this.#delayed.set(key, entry); // an entry of the heap that is no longer in the map is stale, and skipped
    this.#byTime.push(entry);
    this.#arm();
  }

  /** Adds the key again after a failure, later each time. */
  retry(key: string): void {
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
    const [key] = this.#ready;
    if (key !== undefined) {
      this.#ready.delete(key);
      this.#working.add(key);
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
    this.#working.delete(key);
    if (this.#again.delete(key)) this.add(key);
  }

  /** Nothing is added later any more: no timer may outlive whoever works on the queue. */
  close(): void {
    this.#cancelTimer?.();
    this.#timerAt = Number.NEGATIVE_INFINITY; // sooner than any other, so that none is armed again
  }

  #arm(): void {
    const next = this.#byTime.peek();
    if (!next || next.at >= this.#timerAt) return;
    this.#cancelTimer?.();
    this.#timerAt = next.at;
    this.#cancelTimer = this.#clock.after(next.at - this.#clock.elapsed(), () => this.#release());
  }

  #release(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.elapsed();
    for (let entry = this.#byTime.peek(); entry && entry.at <= now; entry = this.#byTime.peek()) {
      this.#byTime.pop();
      if (this.#delayed.get(entry.key) !== entry) continue;
      this.#delayed.delete(entry.key);
      this.add(entry.key);
    }
    this.#arm();
  }
}
