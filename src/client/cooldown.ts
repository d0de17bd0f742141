import type { Clock } from "#base/clock.ts";

const factor = 5;
const longestMs = 500;
/** A reconcile that took less needs no rest. */
const shortMs = 2;

/**
 * What takes long is not done all the time: after a reconcile, changes of what the object owns wait for five times as long as it took.
 * A set of thousands of pods that start would else be counted anew after each of them, and have the time that they need to start.
 */
export class Cooldown {
  readonly #clock: Clock;
  /** Until when keys rest. What is over is forgotten when there are twice as many as there were then. */
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
