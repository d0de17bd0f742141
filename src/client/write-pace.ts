import type { Clock } from "#base/clock.ts";

/** Reconciles of one key that write something: this many at once, then two a second. Two controllers that undo each other's work stay harmless. */
const burst = 100;
const perMs = 2 / 1000;
const sweepAt = 4096;

interface Bucket {
  tokens: number;
  at: number;
}

export class WritePace {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the key must wait before it may be reconciled again. */
  waitMs(key: string): number {
    const bucket = this.#buckets.get(key);
    if (!bucket) return 0;
    const tokens = this.#refilled(bucket);
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / perMs);
  }

  wrote(key: string): void {
    if (this.#buckets.size >= sweepAt) this.#sweep();
    const bucket = this.#buckets.get(key);
    const at = this.#clock.elapsed();
    this.#buckets.set(key, { tokens: (bucket ? this.#refilled(bucket) : burst) - 1, at });
  }

  #refilled({ tokens, at }: Bucket): number {
    return Math.min(burst, tokens + (this.#clock.elapsed() - at) * perMs);
  }

  #sweep(): void {
    for (const [key, bucket] of this.#buckets) if (this.#refilled(bucket) >= burst - 1) this.#buckets.delete(key);
  }
}
