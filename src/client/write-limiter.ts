import type { Clock } from "#base/clock.ts";
import { fingerprint } from "./fingerprint.ts";

/**
 * Reconciles of one key that write and get nowhere: this many at once, then two a second. Two controllers that undo each other's
 * work stay harmless, and so does one whose pods die as fast as it makes them.
 */
const burst = 100;
const perMs = 2 / 1000;
/** Below this, a reconcile that gets somewhere is free. Above, nobody looks: that is all there ever is of most keys. */
const watched = burst / 2;
/** Remembered per key; nobody fights in longer circles. */
const mostSeen = 1024;
const sweepAt = 4096;

interface Bucket {
  tokens: number;
  at: number;
  /** What the object said when it was reconciled, and what was written for it. */
  readonly seen: Set<number>;
}

/** A reconcile that wrote. */
export interface WrittenFor {
  /** The object as it was; undefined if it is gone. */
  readonly object: unknown;
  /** What other objects were made to say. What was created or deleted tells nothing: it has a new name each time. */
  readonly updated: readonly unknown[];
}

/**
 * Tells progress from fighting: a reconcile gets somewhere if the object has come to say something it did not say before (one more
 * replica is there, another version is wanted), or if something was written that was not written before. A rollout of
 * thousands of pods does so thousands of times; a fight comes back to where it was.
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

/** Whether nothing of the kind was seen. */
function remember(seen: Set<number>, object: unknown): boolean {
  if (object === undefined) return false;
  const print = fingerprint(object);
  if (seen.has(print)) return false;
  seen.add(print);
  const [oldest] = seen;
  if (seen.size > mostSeen && oldest !== undefined) seen.delete(oldest);
  return true;
}
