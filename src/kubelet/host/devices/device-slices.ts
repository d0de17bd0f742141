// Removes the slices of drivers that are gone from this node, so that nobody is given devices that nobody can prepare.
// Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go.
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import type { Clock } from "#base/clock.ts";
import { retry } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Client } from "#client/client.ts";
import { WorkerPool } from "../../worker-pool.ts";

export interface DeviceSlicesOptions {
  readonly node: string;
  readonly client: Client;
  readonly clock: Clock;
}

/** A driver may only be on its way to its next version. */
const absenceMs = 30_000;
const delays = { firstMs: 1000, maxMs: 300_000 };
const allDrivers = "";

export class DeviceSlices implements Component {
  readonly name = "device slices";
  readonly #options: DeviceSlicesOptions;
  readonly #workers: WorkerPool<string>;
  readonly #registered = Promise.withResolvers<void>();
  /** How not to remove the slices of drivers that have gone. */
  readonly #absent = new Map<string, () => void>();

  constructor(options: DeviceSlicesOptions) {
    this.#options = options;
    this.#workers = new WorkerPool({
      name: this.name,
      count: 1,
      work: (driver, signal) => this.#remove(driver, signal),
    });
  }

  /** Drivers of a kubelet that starts publish anew when they have registered. */
  run(signal: AbortSignal): Promise<void> {
    this.#workers.add(allDrivers);
    return this.#workers.run(signal);
  }

  /** The node is in the API. */
  registered(): void {
    this.#registered.resolve();
  }

  came(driver: string): void {
    this.#absent.get(driver)?.();
    this.#absent.delete(driver);
  }

  went(driver: string): void {
    this.came(driver);
    this.#absent.set(
      driver,
      this.#options.clock.after(absenceMs, () => this.#workers.add(driver)),
    );
  }

  async #remove(driver: string, signal: AbortSignal): Promise<void> {
    const { node, client, clock } = this.#options;
    await unlessAborted(this.#registered.promise, signal);
    const fieldSelector = `spec.nodeName=${node}${driver === allDrivers ? "" : `,spec.driver=${driver}`}`;
    await retry(
      (stop) => client.bound({ signal: stop }).deleteCollection(ResourceSlice, { fieldSelector }),
      { ...delays, clock },
      signal,
    );
  }
}
