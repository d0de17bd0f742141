// What a simulated container uses. It may change while the container runs, so processor time is added up from one reading to the next.
import type { RuntimeUsage } from "../runtime.ts";

export interface UseRate {
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

export class SimulatedUse {
  #rate: UseRate;
  #cpuSeconds = 0;
  #readAt = 0;

  constructor(rate: UseRate) {
    this.#rate = rate;
  }

  /** What was used until now. `next` is what is used from now on, where that has changed. */
  read(startedAt: number, now: number, next: Partial<UseRate> = {}): RuntimeUsage {
    const since = Math.max(startedAt, this.#readAt);
    this.#cpuSeconds += (this.#rate.cpuCores * Math.max(0, now - since)) / 1000;
    this.#readAt = now;
    this.#rate = { ...this.#rate, ...next };
    return { cpuSeconds: this.#cpuSeconds, memoryBytes: this.#rate.memoryBytes, at: now };
  }
}
