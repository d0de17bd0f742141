// Looks how the node is, as often as upstream's kubelet does where that matters: whether its runtime answers and can run pods, what it
// runs out of, which images it has.
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

/** What a node watches of itself. */
export interface Watched {
  /** Why the runtime cannot run pods, if it cannot; rejects if it does not answer. */
  runtimeNotReady(signal: AbortSignal): Promise<string | undefined>;
  machine(): Promise<MachineState>;
  /** Upstream's unless told. */
  readonly thresholds?: EvictionThresholds;
  images(signal: AbortSignal): Promise<readonly Image[]>;
  /** Does something about what the node runs out of. */
  relieve?(found: ReadonlySet<Pressure>, signal: AbortSignal): Promise<void>;
}

export interface NodeWatchOptions {
  readonly watched: Watched;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each look. */
  readonly tell: (health: NodeHealth) => void;
}

const lookMs = 10_000;
/** As upstream: a runtime that is restarted in less is not missed. */
const downMs = 30_000;
const imagesMs = 30_000;
const mostImages = 50;
const mostNames = 5;

export const runtimeDown = "container runtime is down";

export class NodeWatch implements Component {
  readonly name = "node watch";
  readonly #options: NodeWatchOptions;
  readonly #pressures = new PressureMemory();
  #images: NodeHealth["images"];
  #imagesAt = Number.NEGATIVE_INFINITY;
  /** When the runtime last answered. */
  #answeredAt: number | undefined;
  #isMissed = false;
  #notReady: string | undefined;
  #found: ReadonlySet<Pressure> = new Set();

  constructor(options: NodeWatchOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, tell } = this.#options;
    while (!signal.aborted) {
      tell(await this.look(signal));
      await this.#relieve(signal);
      await clock.sleep(lookMs, signal);
    }
    throw signal.reason;
  }

  async #relieve(signal: AbortSignal): Promise<void> {
    const { watched, log } = this.#options;
    try {
      await watched.relieve?.(this.#found, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn("nothing could be done for a pressed node", { error: explain(error) });
    }
  }

  async look(signal: AbortSignal): Promise<NodeHealth> {
    const { watched, clock, log } = this.#options;
    const limit = new AbortController();
    const cancel = clock.after(lookMs, () => limit.abort(new Error(`no answer within ${lookMs} ms`)));
    const soon = AbortSignal.any([signal, limit.signal]);
    try {
      this.#notReady = await unlessAborted(watched.runtimeNotReady(soon), soon);
      this.#answeredAt = clock.elapsed();
      if (this.#isMissed) log.info("the container runtime answers again");
      this.#isMissed = false;
      await this.#lookAtImages(soon);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#isMissed) log.warn("the container runtime does not answer", { error: explain(error) });
      this.#isMissed = true;
    } finally {
      cancel();
    }
    const isDown = clock.elapsed() - (this.#answeredAt ?? Number.NEGATIVE_INFINITY) >= downMs;
    const notReady = isDown ? runtimeDown : this.#notReady;
    try {
      this.#found = pressuresOf(await watched.machine(), watched.thresholds ?? evictionThresholds);
    } catch (error) {
      log.warn("the machine does not tell what it has left", { error: explain(error) });
    }
    return {
      ...(notReady !== undefined && { notReady }),
      ...this.#pressures.note(this.#found, clock.elapsed()),
      ...(this.#images && { images: this.#images }),
    };
  }

  async #lookAtImages(signal: AbortSignal): Promise<void> {
    const { watched, clock } = this.#options;
    if (clock.elapsed() - this.#imagesAt < imagesMs) return;
    this.#images = nodeImages(await watched.images(signal));
    this.#imagesAt = clock.elapsed();
  }
}

/** The largest, with a few of their names each: a node's status is not to grow without end. */
export const nodeImages = (images: readonly Image[]): NonNullable<NodeHealth["images"]> =>
  images
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes || ((a.names[0] ?? "") < (b.names[0] ?? "") ? -1 : 1))
    .slice(0, mostImages)
    .map(({ names, sizeBytes }) => ({ names: names.slice(0, mostNames), sizeBytes }));
