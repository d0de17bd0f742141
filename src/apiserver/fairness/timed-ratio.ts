import type { Histogram } from "#base/metrics.ts";

const nanosecondsPerMs = 1e6;

/** A number as a part of its limit, over time: a histogram counts the nanoseconds for which it was so much. */
export class TimedRatio {
  readonly #histogram: Histogram;
  #value = 0;
  #limit = 1;
  #since: number;

  constructor(histogram: Histogram, now: number) {
    this.#histogram = histogram;
    this.#since = now;
  }

  /** Times are milliseconds that never jump back. */
  set(value: number, now: number): void {
    this.advance(now);
    this.#value = value;
  }

  add(by: number, now: number): void {
    this.set(this.#value + by, now);
  }

  setLimit(limit: number, now: number): void {
    this.advance(now);
    this.#limit = Math.max(limit, 1);
  }

  advance(now: number): void {
    const ms = now - this.#since;
    if (ms <= 0) return;
    this.#since = now;
    this.#histogram.observe(this.#value / this.#limit, Math.round(ms * nanosecondsPerMs));
  }
}
