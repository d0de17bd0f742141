// When a rejected client should come back: later while many are rejected, sooner again when few are.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/dropped_requests_tracker.go.

const mostSeconds = 32;

interface DroppedSecond {
  readonly second: number;
  count: number;
}

/** The rejections of one priority level. */
export class DroppedRequests {
  #retryAfter = 1;
  #raisedAt = 0;
  /** The newest last. */
  #seconds: DroppedSecond[] = [];

  /** Seconds that a client is told to wait. */
  get retryAfter(): number {
    return this.#retryAfter;
  }

  /** How many were counted in the second of the last one. */
  get inLastSecond(): number {
    return this.#seconds.at(-1)?.count ?? 0;
  }

  /** Counts a rejection; `now` is in milliseconds. */
  note(now: number): void {
    const second = Math.floor(now / 1000);
    const last = this.#seconds.at(-1);
    if (last?.second === second) {
      last.count++;
      return;
    }
    const kept = Math.min(2 * this.#retryAfter, mostSeconds);
    this.#seconds = this.#seconds.filter((one) => (last?.second ?? second) - one.second <= kept);
    this.#adjust(second);
    this.#seconds.push({ second, count: 1 });
  }

  /** As TCP does: doubled when there are too many, and taken back step by step. */
  #adjust(second: number): void {
    const retryAfter = this.#retryAfter;
    const dropped = this.#seconds.reduce((sum, one) => (second - one.second <= retryAfter ? sum + one.count : sum), 0);
    if (second - this.#raisedAt >= retryAfter && dropped >= 3 * retryAfter) {
      this.#retryAfter = Math.min(2 * retryAfter, mostSeconds);
      this.#raisedAt = second;
    } else if (dropped < retryAfter && retryAfter > 1) this.#retryAfter--;
  }
}
