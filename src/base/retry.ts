import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Each wait is this many times the last; defaults to 2. */
  readonly factor?: number;
  /** Up to this share is added by chance, so that many waiters do not return at once; defaults to 0. */
  readonly jitter?: number;
}

/** How long to wait before try number `attempt + 1`, the first retry being attempt 0. */
export function backoffMs(backoff: Backoff, attempt: number, random?: Random): number {
  const wait = Math.min(backoff.maxMs, backoff.firstMs * (backoff.factor ?? 2) ** attempt);
  return wait * (1 + (backoff.jitter ?? 0) * (random?.next() ?? 0));
}

export interface RetryOptions extends Backoff {
  readonly clock: Clock;
  readonly random?: Random;
  /** Gives up after this many tries, throwing the last error; without it, tries until the signal aborts. */
  readonly tries?: number;
  /** Which errors are worth another try; defaults to all of them. */
  readonly when?: (error: unknown) => boolean;
}

/** Calls `attempt` until it resolves, waiting longer each time. */
export async function retry<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  options: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    try {
      return await attempt(signal);
    } catch (error) {
      if (signal.aborted || failures + 1 >= (options.tries ?? Infinity) || options.when?.(error) === false) throw error;
    }
    await options.clock.sleep(backoffMs(options, failures, options.random), signal);
  }
}
