// Back-off for failed pods: without it, a kubelet that rejects a pod would get the next one at once, and reject that, too.
// Upstream: pkg/controller/daemon/daemon_controller.go.
import type { Clock } from "#base/clock.ts";

const firstMs = 1000;
const maxMs = 15 * 60_000;
const cleanEveryMs = 60_000;

interface Wait {
  readonly ms: number;
  readonly since: number;
}

export class Patience {
  readonly #waits = new Map<string, Wait>();
  #cleanedAt = 0;

  /** How long to wait before a failed pod may be deleted; 0 if it may be now, and the next has to wait twice as long. */
  waitMs(key: string, clock: Clock): number {
    const now = clock.elapsed();
    const last = this.#waits.get(key);
    const known = last && !isOver(last, now) ? last : undefined;
    if (known && now - known.since < known.ms) return known.since + known.ms - now;
    this.#clean(now);
    this.#waits.set(key, { ms: known ? Math.min(maxMs, known.ms * 2) : firstMs, since: now });
    return 0;
  }

  #clean(now: number): void {
    if (now - this.#cleanedAt < cleanEveryMs) return;
    this.#cleanedAt = now;
    for (const [key, wait] of this.#waits) if (isOver(wait, now)) this.#waits.delete(key);
  }
}

const isOver = ({ since }: Wait, now: number): boolean => now - since > 2 * maxMs;
