// Checks the health of a node at upstream's intervals: whether its runtime answers and can run pods, what it
// runs out of, which images it has.
// Upstream: pkg/kubelet/runtime.go and pkg/kubelet/eviction/eviction_manager.go.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Image } from "../runtime.ts";
import type { NodeHealth } from "./description.ts";
import {
  type EvictionThresholds,
  evictionThresholds,
  type MachineState,
  type Pressure,
  PressureMemory,
  pressuresOf,
} from "./pressure.ts";

/** What the health of a node is measured by. */
export interface NodeSensors {
  /** Why the runtime cannot run pods, if it cannot; rejects if it does not answer. */
  runtimeNotReady(signal: AbortSignal): Promise<string | undefined>;
  machine(): Promise<MachineState>;
  /** Defaults to upstream's. */
  readonly thresholds?: EvictionThresholds;
  images(signal: AbortSignal): Promise<readonly Image[]>;
  /** Devices of plugins, where there can be some. */
  devices?(): NonNullable<NodeHealth["devices"]>;
  /** Frees what the node runs out of. */
  relieve?(found: ReadonlySet<Pressure>, signal: AbortSignal): Promise<void>;
}

export interface NodeHealthMonitorOptions {
  readonly sensors: NodeSensors;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the result of each check. */
  readonly report: (health: NodeHealth) => void;
}

const checkMs = 10_000;
/** As upstream: a runtime may be restarted in less without the node becoming unready. */
const runtimeDownMs = 30_000;
const imagesMs = 30_000;
const maxImages = 50;
const maxNames = 5;

export const runtimeDown = "container runtime is down";

export class NodeHealthMonitor implements Component {
  readonly name = "node watch";
  readonly #options: NodeHealthMonitorOptions;
  readonly #pressures = new PressureMemory();
  #images: NodeHealth["images"];
  #imagesAt = Number.NEGATIVE_INFINITY;
  /** When the runtime last answered. */
  #answeredAt: number | undefined;
  #isRuntimeSilent = false;
  #notReady: string | undefined;
  #foundPressures: ReadonlySet<Pressure> = new Set();

  constructor(options: NodeHealthMonitorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, report } = this.#options;
    while (!signal.aborted) {
      report(await this.check(signal));
      await this.#relieve(signal);
      await clock.sleep(checkMs, signal);
    }
    throw signal.reason;
  }

  async #relieve(signal: AbortSignal): Promise<void> {
    const { sensors, log } = this.#options;
    try {
      await sensors.relieve?.(this.#foundPressures, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn("nothing could be done for a pressed node", { error: explain(error) });
    }
  }

  async check(signal: AbortSignal): Promise<NodeHealth> {
    const { sensors, clock, log } = this.#options;
    const limit = new AbortController();
    const cancel = clock.after(checkMs, () => limit.abort(new Error(`no answer within ${checkMs} ms`)));
    const soon = AbortSignal.any([signal, limit.signal]);
    try {
      this.#notReady = await unlessAborted(sensors.runtimeNotReady(soon), soon);
      this.#answeredAt = clock.elapsed();
      if (this.#isRuntimeSilent) log.info("the container runtime answers again");
      this.#isRuntimeSilent = false;
      await this.#checkImages(soon);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#isRuntimeSilent) log.warn("the container runtime does not answer", { error: explain(error) });
      this.#isRuntimeSilent = true;
    } finally {
      cancel();
    }
    const isDown = clock.elapsed() - (this.#answeredAt ?? Number.NEGATIVE_INFINITY) >= runtimeDownMs;
    const notReady = isDown ? runtimeDown : this.#notReady;
    try {
      this.#foundPressures = pressuresOf(await sensors.machine(), sensors.thresholds ?? evictionThresholds);
    } catch (error) {
      log.warn("the machine does not tell what it has left", { error: explain(error) });
    }
    return {
      ...(notReady !== undefined && { notReady }),
      ...this.#pressures.note(this.#foundPressures, clock.elapsed()),
      ...(this.#images && { images: this.#images }),
      ...(sensors.devices && { devices: sensors.devices() }),
    };
  }

  async #checkImages(signal: AbortSignal): Promise<void> {
    const { sensors, clock } = this.#options;
    if (clock.elapsed() - this.#imagesAt < imagesMs) return;
    this.#images = nodeImages(await sensors.images(signal));
    this.#imagesAt = clock.elapsed();
  }
}

/** The largest, with a few of their names each: a node's status is not to grow without end. */
export const nodeImages = (images: readonly Image[]): NonNullable<NodeHealth["images"]> =>
  images
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes || ((a.names[0] ?? "") < (b.names[0] ?? "") ? -1 : 1))
    .slice(0, maxImages)
    .map(({ names, sizeBytes }) => ({ names: names.slice(0, maxNames), sizeBytes }));
