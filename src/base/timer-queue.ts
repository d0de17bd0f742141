// One timer for many targets: thousands of pods, nodes or keys cost a heap entry each, and nothing while they wait for nothing.
import type { Clock } from "./clock.ts";
import { Heap } from "./heap.ts";

interface Entry<T> {
  readonly target: T;
  readonly at: number;
}

export class TimerQueue<T> {
  readonly #clock: Clock;
  readonly #ring: (target: T) => void;
  readonly #slackMs: number;
  readonly #entries = new Map<T, Entry<T>>();
  /** An entry that is no longer in the map is stale, and skipped. */
  readonly #byTime = new Heap<Entry<T>>((a, b) => a.at - b.at);
  #cancel: (() => void) | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** With slack, those that are due within as many milliseconds of each other are woken together, late rather than early. */
  constructor(clock: Clock, ring: (target: T) => void, slackMs = 0) {
    this.#clock = clock;
    this.#ring = ring;
    this.#slackMs = slackMs;
  }

  /** Wakes the target in `ms`, in place of whatever was set before; Infinity for never. */
  set(target: T, ms: number): void {
    const present = this.#entries.get(target);
    if (ms === Number.POSITIVE_INFINITY) {
      if (present) this.#entries.delete(target);
      return;
    }
    const at = this.#clock.elapsed() + Math.max(0, ms);
    if (present?.at === at) return;
    const entry = { target, at };
    this.#entries.set(target, entry);
    this.#byTime.push(entry);
    this.#arm();
  }

  /** The same unless the target is woken sooner anyway. */
  setNoLater(target: T, ms: number): void {
    const present = this.#entries.get(target);
    if (!present || present.at > this.#clock.elapsed() + ms) this.set(target, ms);
  }

  delete(target: T): void {
    this.#entries.delete(target);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#entries.clear();
  }

  #arm(): void {
    const next = this.#byTime.peek();
    if (!next || next.at >= this.#timerAt) return;
    this.#cancel?.();
    const now = this.#clock.elapsed();
    this.#timerAt = next.at;
    this.#cancel = this.#clock.after(next.at - now + this.#slackMs, () => this.#release());
  }

  #release(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.elapsed();
    for (let entry = this.#byTime.peek(); entry && entry.at <= now; entry = this.#byTime.peek()) {
      this.#byTime.pop();
      if (this.#entries.get(entry.target) !== entry) continue;
      this.#entries.delete(entry.target);
      this.#ring(entry.target);
    }
    this.#arm();
  }
}
