import type { Clock } from "#base/clock.ts";
import { unlessAborted } from "#base/unless-aborted.ts";

export interface SemaphoreOptions {
  /** How many may be inside at once. */
  readonly count: number;
  /** Who takes longer is no longer counted: one that is stuck must not keep all others out. */
  readonly maxHoldMs: number;
  readonly clock: Clock;
}

/** Lets few do at once what is done sooner one after another than all at a time, in the order in which they come. */
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
      // It may have been let in at the same moment.
      if (!this.#waiting.delete(resolve)) this.#release();
      throw error;
    }
  }

  /** Whoever comes next takes the place of one who has left. */
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
