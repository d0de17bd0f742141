// The images that a cluster brings to its nodes: those to try it with, and those that a person loaded. Nothing waits for them: a pod
// that comes before its image is started again until it is there.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import { type Component, isAbort } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import { demoImages } from "./demo.ts";
import { type ImageRuntime, importImages } from "./import.ts";
import type { KeptImages } from "./kept-images.ts";
import { serveRegistry, tellRegistry } from "./serve-registry.ts";

export interface SupplyOptions {
  /** Where the images to try clusters with are kept; may be shared by clusters. */
  readonly cacheFolder: string;
  readonly kept: KeptImages;
  /** Where nodes reach this machine; there may be no such address yet. */
  readonly address: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SuppliedNode {
  readonly runtime: ImageRuntime;
  /** Where its containerd looks for what it is to know of registries. */
  readonly registries: string;
}

const again = { firstMs: 500, maxMs: 30_000 };

export class ImageSupply implements Component {
  readonly name = "images";
  readonly #options: SupplyOptions;
  readonly #url = Promise.withResolvers<string>();
  readonly #demo = Promise.withResolvers<readonly string[]>();
  #served: readonly string[] = [];

  constructor(options: SupplyOptions) {
    this.#options = options;
  }

  /** Makes the images, and serves them as the registry knarr.local. */
  async run(signal: AbortSignal): Promise<void> {
    const { address, kept, log, clock } = this.#options;
    const archives = () => [...this.#served, ...kept.archives()];
    await using server = await retry(() => serveRegistry({ address, archives, log }), { ...again, clock }, signal);
    this.#url.resolve(server.url);
    this.#served = await this.#makeDemo(signal);
    this.#demo.resolve(this.#served);
    await unlessAborted(new Promise<never>(() => undefined), signal);
  }

  async #makeDemo(signal: AbortSignal): Promise<readonly string[]> {
    const { cacheFolder, log } = this.#options;
    try {
      const { archives, missing } = await demoImages({ cacheFolder }, signal);
      for (const sentence of missing) log.warn(sentence);
      return archives.map(({ archive }) => archive);
    } catch (error) {
      if (isAbort(error, signal)) throw error;
      log.error("there are no images to try the cluster with", { error });
      return [];
    }
  }

  /** Brings a node what it lacks, trying again until that is done, and tells it where the registry is. */
  async bring({ runtime, registries }: SuppliedNode, signal: AbortSignal): Promise<void> {
    const { kept, clock, log } = this.#options;
    const bring = async (demo: readonly string[]) => {
      try {
        await importImages(runtime, [...demo, ...kept.archives()], signal);
      } catch (error) {
        if (!signal.aborted) log.warn("images could not be imported; trying again", { error: explain(error) });
        throw error;
      }
    };
    tellRegistry(registries, await unlessAborted(this.#url.promise, signal));
    await retry(() => bring([]), { ...again, clock }, signal);
    const demo = await unlessAborted(this.#demo.promise, signal);
    await retry(() => bring(demo), { ...again, clock }, signal);
  }
}
