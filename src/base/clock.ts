// Time as an argument. Nothing outside this folder may ask the machine what time it is, so that the whole
// system can run on a clock that a test or a simulation moves by hand.

import { turn } from "./breathe.ts";
import { Heap } from "./heap.ts";

export interface Clock {
  /** Milliseconds since 1970, as the cluster believes it to be. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start that never jump back; for measuring how long something took. */
  elapsed(): number;
  /** Calls `run` once after `ms`, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void;
  /** Resolves after `ms`; rejects with `signal.reason` when aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** `setTimeout` takes at most a signed 32-bit number; a longer wait is made of several. */
const longestTimeoutMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, run) {
    let timer: ReturnType<typeof setTimeout>;
    const arm = (left: number) => {
      const step = Math.min(left, longestTimeoutMs);
      timer = setTimeout(() => (left > step ? arm(left - step) : run()), step);
    };
    arm(Math.max(0, ms));
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
};

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until `advance` is called. */
export class ManualClock implements Clock {
  #now: number;
  #elapsed = 0;
  #order = 0;
  readonly #timers = new Heap<Timer>((a, b) => a.at - b.at || a.order - b.order);

  constructor(now: number | string = 0) {
    this.#now = typeof now === "string" ? Date.parse(now) : now;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, run };
    this.#timers.push(timer);
    return () => {
      this.#timers.remove(timer);
    };
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Moves time forward, running every timer on its moment and letting the work it wakes settle before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await turn();
    for (let next = this.#timers.peek(); next && next.at <= end; next = this.#timers.peek()) {
      this.#timers.pop();
      this.#move(next.at);
      next.run();
      await turn();
    }
    this.#move(end);
    await turn();
  }

  /** Sets the wall clock without running anything, as when an administrator corrects the machine's time. */
  jumpTo(now: number): void {
    this.#now = now;
  }

  #move(elapsed: number): void {
    this.#now += elapsed - this.#elapsed;
    this.#elapsed = elapsed;
  }
}

function sleepOn(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const aborted = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    });
    signal.addEventListener("abort", aborted, { once: true });
  });
}
