// Asks drivers again how many volumes the node can have, as often as their CSIDriver wants it: what else is attached to a machine changes that.
// Upstream: pkg/volume/csi/csi_node_updater.go.
import type { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";

export interface DriverLimitsOptions {
  readonly drivers: { readonly names: readonly string[]; update(name: string, signal: AbortSignal): Promise<void> };
  readonly described: (driver: string) => Promise<CSIDriver | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/** No driver is asked more often than every ten seconds. */
const lookMs = 5000;

export class DriverLimits implements Component {
  readonly name = "limits of storage drivers";
  readonly #options: DriverLimitsOptions;
  /** When each driver was last asked, or was first seen to want it. */
  readonly #askedAt = new Map<string, number>();

  constructor(options: DriverLimitsOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(lookMs, signal);
      await this.#look(signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { drivers, described, clock, log } = this.#options;
    const now = clock.elapsed();
    for (const name of this.#askedAt.keys()) if (!drivers.names.includes(name)) this.#askedAt.delete(name);
    for (const name of drivers.names) {
      const seconds = (await described(name))?.spec.nodeAllocatableUpdatePeriodSeconds;
      const askedAt = this.#askedAt.get(name);
      if (seconds === undefined) this.#askedAt.delete(name);
      else if (askedAt === undefined) this.#askedAt.set(name, now);
      if (seconds === undefined || askedAt === undefined || now - askedAt < seconds * 1000) continue;
      this.#askedAt.set(name, now);
      try {
        await drivers.update(name, signal);
      } catch (error) {
        signal.throwIfAborted();
        log.warn("a driver does not say how many volumes the node can have", { driver: name, error: explain(error) });
      }
    }
  }
}
