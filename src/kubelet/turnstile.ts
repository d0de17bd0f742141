import type { Clock } from "#base/clock.ts";
import { unlessAborted } from "#base/unless-aborted.ts";

export interface TurnstileOptions {
  /** How many may be inside at once. */
  readonly count: number;
  /** Who takes longer is no longer counted: one that is stuck must not keep all others out. */
  readonly patienceMs: number;
  readonly clock: Clock;
}

/** Lets few do at once what is done sooner one after another than all at a time, in the order in which they come. */
export class Turnstile {
  readonly #options: TurnstileOptions;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(options: TurnstileOptions) {
    this.#options = options;
  }

  async pass<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { count, patienceMs, clock } = this.#options;
    if (this.#inside < count) this.#inside++;
    else await this.#turn(signal);
    let isCounted = true;
    const leave = () => {
      if (isCounted) this.#letIn();
      isCounted = false;
    };
    const cancel = clock.after(patienceMs, leave);
    try {
      return await work();
    } finally {
      cancel();
      leave();
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      // It may have been let in at the same moment.
      if (!this.#waiting.delete(resolve)) this.#letIn();
      throw error;
    }
  }

  /** Whoever comes next takes the place of one who has left. */
  #letIn(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#inside--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
