import type { Clock } from "#base/clock.ts";
import { Heap } from "#base/heap.ts";
import type { Revision } from "./engine.ts";

interface Lease {
  readonly key: string;
  /** The write that set the time: a later write of the key makes this lease void. */
  readonly modified: Revision;
  readonly at: number;
}

/** Keys that are to be deleted at a time. One timer, set to the earliest; nothing runs while there is none. */
export class Leases {
  readonly #clock: Clock;
  readonly #expire: (key: string, modified: Revision) => void;
  readonly #byTime = new Heap<Lease>((a, b) => a.at - b.at);
  readonly #byKey = new Map<string, Lease>();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  /** `expire` is called once per lease that has run out; it must check that the key still has that revision. */
  constructor(clock: Clock, expire: (key: string, modified: Revision) => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  /** A write of the key: it now lives for `ttlMs`, or for ever. */
  set(key: string, modified: Revision, ttlMs: number | undefined): void {
    if (ttlMs === undefined) {
      this.#byKey.delete(key);
      return;
    }
    const lease = { key, modified, at: this.#clock.elapsed() + ttlMs };
    this.#byKey.set(key, lease);
    this.#byTime.push(lease);
    this.#arm();
  }

  /** Milliseconds the key has left; undefined if it lives for ever. */
  leftMs(key: string): number | undefined {
    const lease = this.#byKey.get(key);
    return lease && Math.max(0, lease.at - this.#clock.elapsed());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#byKey.clear();
  }

  #arm(): void {
    const next = this.#byTime.peek();
    if (!next || (this.#timer && this.#timer.at <= next.at)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(next.at - this.#clock.elapsed(), () => {
      this.#timer = undefined;
      this.#fire();
      this.#arm();
    });
    this.#timer = { at: next.at, cancel };
  }

  #fire(): void {
    const now = this.#clock.elapsed();
    for (let next = this.#byTime.peek(); next && next.at <= now; next = this.#byTime.peek()) {
      this.#byTime.pop();
      if (this.#byKey.get(next.key) !== next) continue;
      this.#byKey.delete(next.key);
      this.#expire(next.key, next.modified);
    }
  }
}
