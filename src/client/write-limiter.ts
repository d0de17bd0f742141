import type { Clock } from "#base/clock.ts";
import { fingerprint } from "./fingerprint.ts";

/**
 * The rate limit for reconciles of one key that write without progress: this many at once, then two a second. It bounds the harm of two
 * controllers that undo each other's work, and of one whose pods die as fast as it creates them.
 */
const burst = 100;
const perMs = 2 / 1000;
/** Fingerprints are compared, and progress costs no token, only below this many tokens: most keys never get there. */
const watched = burst / 2;
/** How many states are remembered per key: fights have short cycles. */
const mostSeen = 1024;
const sweepAt = 4096;

interface Bucket {
  tokens: number;
  at: number;
  /** Fingerprints of the object at its reconciles, and of what was written for it. */
  readonly seen: Set<number>;
}

/** A reconcile that wrote. */
export interface WrittenFor {
  /** The object as it was; undefined if it is gone. */
  readonly object: unknown;
  /** The other objects that were updated. Creations and deletions are not listed: their names are new each time. */
  readonly updated: readonly unknown[];
}

/**
 * Distinguishes progress from fighting: a reconcile makes progress if the object has a state that was not seen before (one more replica, a
 * new version), or if it wrote something that was not written before. A rollout of thousands of pods makes progress thousands of times;
 * a fight returns to earlier states.
 */
export class WriteLimiter {
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

  wrote(key: string, { object, updated }: WrittenFor): void {
    if (this.#buckets.size >= sweepAt) this.#sweep();
    const bucket = this.#buckets.get(key);
    const at = this.#clock.elapsed();
    const tokens = bucket ? this.#refilled(bucket) : burst;
    const seen = bucket && tokens < watched ? bucket.seen : new Set<number>();
    const isNew = tokens < watched && [object, ...updated].map((one) => remember(seen, one)).includes(true);
    this.#buckets.set(key, { tokens: isNew ? tokens : tokens - 1, at, seen });
  }

  #refilled({ tokens, at }: Bucket): number {
    return Math.min(burst, tokens + (this.#clock.elapsed() - at) * perMs);
  }

  #sweep(): void {
    for (const [key, bucket] of this.#buckets) if (this.#refilled(bucket) >= burst - 1) this.#buckets.delete(key);
  }
}

/** Adds the fingerprint of an object; whether it was not there yet. */
function remember(seen: Set<number>, object: unknown): boolean {
  if (object === undefined) return false;
  const print = fingerprint(object);
  if (seen.has(print)) return false;
  seen.add(print);
  const [oldest] = seen;
  if (seen.size > mostSeen && oldest !== undefined) seen.delete(oldest);
  return true;
}
