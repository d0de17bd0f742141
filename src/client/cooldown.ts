import type { Clock } from "#base/clock.ts";

const factor = 5;
const longestMs = 500;
/** Reconciles shorter than this need no cooldown. */
const shortMs = 2;

/**
 * Rate limit for slow reconciles: after a reconcile, changes of the objects it owns wait for five times as long as the reconcile took.
 * Without it, a set of thousands of starting pods would count them all again after each one, and take the processor from the pods.
 */
export class Cooldown {
  readonly #clock: Clock;
  /** When the cooldown of each key ends. Entries in the past are swept whenever the map has doubled since the last sweep. */
  readonly #until = new Map<string, number>();
  #sweepAt = 1024;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  took(key: string, ms: number): void {
    if (ms < shortMs) return;
    if (this.#until.size >= this.#sweepAt) this.#sweep();
    this.#until.set(key, this.#clock.elapsed() + Math.min(ms * factor, longestMs));
  }

  leftMs(key: string): number {
    const until = this.#until.get(key);
    return until === undefined ? 0 : Math.max(0, until - this.#clock.elapsed());
  }

  #sweep(): void {
    const now = this.#clock.elapsed();
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key);
    this.#sweepAt = Math.max(1024, this.#until.size * 2);
  }
}
