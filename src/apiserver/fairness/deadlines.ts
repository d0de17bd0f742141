// Moments at which something is over that is mostly over before. Few lengths of time are in use, and what began first with the same
// length ends first: so they are kept in order without sorting, and one timer waits for the next of all.
import type { Clock } from "#base/clock.ts";

interface Deadline {
  readonly at: number;
  readonly expire: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  /** By length, in milliseconds; the oldest first. */
  readonly #byLength = new Map<number, Set<Deadline>>();
  #timerAt = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` after `ms`, unless what is returned is called before. */
  set(ms: number, expire: () => void): () => void {
    const deadline = { at: this.#clock.elapsed() + ms, expire };
    const same = this.#byLength.get(ms);
    if (same) same.add(deadline);
    else this.#byLength.set(ms, new Set([deadline]));
    if (deadline.at < this.#timerAt) this.#arm(deadline.at);
    return () => this.#remove(ms, deadline);
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#byLength.clear();
  }

  #remove(ms: number, deadline: Deadline): void {
    const same = this.#byLength.get(ms);
    if (same?.delete(deadline) && same.size === 0) this.#byLength.delete(ms);
  }

  #arm(at: number): void {
    this.#cancelTimer?.();
    this.#timerAt = at;
    this.#cancelTimer = this.#clock.after(at - this.#clock.elapsed(), () => this.#ring());
  }

  /** A timer may fire a little early: whatever is due within the same millisecond is over. */
  #ring(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.elapsed() + 1;
    let next = Number.POSITIVE_INFINITY;
    for (const [ms, same] of [...this.#byLength])
      for (const deadline of [...same]) {
        if (deadline.at > now) {
          next = Math.min(next, deadline.at);
          break;
        }
        this.#remove(ms, deadline);
        deadline.expire();
      }
    if (next < this.#timerAt) this.#arm(next);
  }
}
