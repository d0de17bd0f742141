// What drivers of devices say of the health of their devices.
// Upstream: pkg/kubelet/cm/dra/healthinfo.go.
import type { ResourceHealth } from "#api/core/v1/container-status.ts";
import type { Clock } from "#base/clock.ts";

export interface DeviceReport {
  readonly pool: string;
  readonly device: string;
  readonly health: NonNullable<ResourceHealth["health"]>;
  readonly message: string;
  /** How long the report counts; 0 for the default. */
  readonly timeoutMs: number;
}

interface TimedReport extends DeviceReport {
  readonly at: number;
}

const defaultTimeoutMs = 30_000;
const longestMessage = 1024;
const unknown = { health: "Unknown", message: "" } as const;

export class DriverHealth {
  readonly #clock: Clock;
  readonly #drivers = new Map<string, Map<string, TimedReport>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Reports that are too old say nothing. */
  of(driver: string, pool: string, device: string): Pick<DeviceReport, "health" | "message"> {
    const report = this.#drivers.get(driver)?.get(keyOf(pool, device));
    return report && !this.#isOld(report) ? report : unknown;
  }

  /** Takes in what a driver says of all its devices. Returns those of which it says something new. */
  update(driver: string, reports: readonly DeviceReport[]): readonly DeviceReport[] {
    const at = this.#clock.elapsed();
    const before = this.#drivers.get(driver) ?? new Map<string, TimedReport>();
    this.#drivers.set(driver, before);
    const changed: DeviceReport[] = [];
    const told = new Set<string>();
    for (const { message, ...report } of reports) {
      const key = keyOf(report.pool, report.device);
      const old = before.get(key);
      const now = { ...report, message: shortened(message), at };
      told.add(key);
      if (old?.health !== now.health || old.message !== now.message || old.timeoutMs !== now.timeoutMs)
        changed.push(now);
      before.set(key, now);
    }
    for (const [key, report] of before)
      if (!told.has(key) && this.#isOld(report)) {
        before.delete(key);
        changed.push({ ...report, ...unknown });
      }
    return changed;
  }

  /** The driver says nothing any more. */
  forget(driver: string): readonly DeviceReport[] {
    const reports = [...(this.#drivers.get(driver)?.values() ?? [])];
    this.#drivers.delete(driver);
    return reports;
  }

  #isOld({ at, timeoutMs }: TimedReport): boolean {
    return this.#clock.elapsed() - at > (timeoutMs > 0 ? timeoutMs : defaultTimeoutMs);
  }
}

const keyOf = (pool: string, device: string): string => `${pool}/${device}`;

const shortened = (message: string): string =>
  message.length > longestMessage ? `${message.slice(0, longestMessage - 3)}...` : message;
