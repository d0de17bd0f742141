import type { Histogram } from "#base/metrics.ts";

const nanosecondsPerMs = 1e6;

/**
 * A whole number as a part of its limit, over time: a histogram counts the nanoseconds for which it was so much. The number changes twice
 * with every request, so that its times are only added up, and told to the histogram when that is read.
 */
export class TimedRatio {
  readonly #histogram: Histogram;
  /** Milliseconds for which it was 0, 1, 2 and so on, that the histogram does not have yet. */
  #times: number[] = [0];
  #value = 0;
  #limit = 1;
  #since: number;

  constructor(histogram: Histogram, now: number) {
    this.#histogram = histogram;
    this.#since = now;
  }

  /** Times are milliseconds that never jump back. */
  set(value: number, now: number): void {
    this.#times[this.#value] = (this.#times[this.#value] ?? 0) + now - this.#since;
    this.#since = now;
    this.#value = value;
  }

  add(by: number, now: number): void {
    this.set(this.#value + by, now);
  }

  setLimit(limit: number, now: number): void {
    this.advance(now);
    this.#limit = Math.max(limit, 1);
  }

  /** Brings the histogram up to now. */
  advance(now: number): void {
    this.set(this.#value, now);
    this.#times.forEach((ms, value) => {
      if (ms > 0) this.#histogram.observe(value / this.#limit, Math.round(ms * nanosecondsPerMs));
    });
    this.#times = [0];
  }
}
