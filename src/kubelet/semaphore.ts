import type { Clock } from "#base/clock.ts";
import { unlessAborted } from "#base/unless-aborted.ts";

export interface SemaphoreOptions {
  /** How many may hold it at the same time. */
  readonly count: number;
  /** A holder that takes longer is no longer counted: one that is stuck must not block all others. */
  readonly maxHoldMs: number;
  readonly clock: Clock;
}

/** A counting semaphore, first come, first served. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #waiting = new Set<() => void>();
  #held = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { count, maxHoldMs, clock } = this.#options;
    if (this.#held < count) this.#held++;
    else await this.#acquire(signal);
    let isCounted = true;
    const leave = () => {
      if (isCounted) this.#release();
      isCounted = false;
    };
    const cancel = clock.after(maxHoldMs, leave);
    try {
      return await work();
    } finally {
      cancel();
      leave();
    }
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      // It may have been granted at the same moment.
      if (!this.#waiting.delete(resolve)) this.#release();
      throw error;
    }
  }

  /** Passes the released slot to the next waiter, if there is one. */
  #release(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#held--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
