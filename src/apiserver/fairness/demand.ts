// What a priority level could have used over time: the input to borrowing.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/integrator.go.

export interface DemandPeriod {
  readonly seconds: number;
  readonly most: number;
  readonly average: number;
  readonly deviation: number;
}

/** Integrates a number over time. Times are milliseconds that never jump back. */
export class DemandIntegral {
  #value = 0;
  #since: number;
  #start: number;
  #most = 0;
  #sum = 0;
  #sumOfSquares = 0;

  constructor(now: number) {
    this.#since = now;
    this.#start = now;
  }

  set(value: number, now: number): void {
    this.#advance(now);
    this.#value = value;
    if (value > this.#most) this.#most = value;
  }

  /** What was seen since the last call. */
  take(now: number): DemandPeriod {
    this.#advance(now);
    const seconds = (now - this.#start) / 1000;
    const average = seconds > 0 ? this.#sum / seconds : 0;
    const variance = seconds > 0 ? this.#sumOfSquares / seconds - average * average : 0;
    const period = { seconds, most: this.#most, average, deviation: Math.sqrt(Math.max(0, variance)) };
    this.#start = now;
    this.#sum = 0;
    this.#sumOfSquares = 0;
    this.#most = this.#value;
    return period;
  }

  #advance(now: number): void {
    const seconds = (now - this.#since) / 1000;
    this.#since = now;
    this.#sum += seconds * this.#value;
    this.#sumOfSquares += seconds * this.#value * this.#value;
  }
}

export interface DemandStats {
  readonly most: number;
  readonly average: number;
  readonly deviation: number;
  /** Follows a rise at once, and a fall with a half-life of five minutes. */
  readonly smoothed: number;
}

export const noDemand: DemandStats = { most: 0, average: 0, deviation: 0, smoothed: 0 };

const smoothing = 0.977;

export function demandAfter(stats: DemandStats, { seconds, most, average, deviation }: DemandPeriod): DemandStats {
  if (seconds <= 0) return { ...stats, most };
  const envelope = average + deviation;
  const smoothed = Math.max(envelope, smoothing * stats.smoothed + (1 - smoothing) * envelope);
  return { most, average, deviation, smoothed };
}
