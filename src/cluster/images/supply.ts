// The images that a cluster brings to its nodes: those to try it with, and those that a person loaded. The cluster is ready before they
// are there; a pull of an image that may be among them waits until they are.
import { aborted } from "#base/aborted.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import { type Component, isAbort } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import { addonArchives } from "../addons/addon-images.ts";
import { ImageMaker } from "../addons/image-maker.ts";
import { demoImages } from "./demo.ts";
import { type ImageRuntime, importImages } from "./import.ts";
import type { KeptImages } from "./kept-images.ts";
import { registryHost } from "./registry.ts";
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
    const { address, kept, log, clock, cacheFolder } = this.#options;
    const archives = () => [...this.#served, ...addonArchives(cacheFolder), ...kept.archives()];
    const maker = new ImageMaker({ cacheFolder, clock, log });
    const make = (name: string) => maker.ensure(name, signal);
    await using server = await retry(
      () => serveRegistry({ address, archives, make, log }),
      { ...again, clock },
      signal,
    );
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

  /** The images for a node. Nothing is copied before it is run. */
  to(node: SuppliedNode): NodeImages {
    const parts = { url: this.#url.promise, demo: this.#demo.promise };
    return new NodeImages(node, this.#options, parts);
  }
}

interface SupplyParts {
  readonly url: Promise<string>;
  /** Archives of the images to try clusters with; none if they could not be made. */
  readonly demo: Promise<readonly string[]>;
}

export class NodeImages implements Component {
  readonly name = "images";
  readonly #node: SuppliedNode;
  readonly #options: SupplyOptions;
  readonly #parts: SupplyParts;
  /** Resolve when they are there, or the first attempt to bring them has failed. */
  readonly #kept = new Gate();
  readonly #demo = new Gate();

  constructor(node: SuppliedNode, options: SupplyOptions, parts: SupplyParts) {
    this.#node = node;
    this.#options = options;
    this.#parts = parts;
  }

  /** Brings what the node lacks, trying again until that is done, and tells it where the registry is. */
  async run(signal: AbortSignal): Promise<void> {
    const { url, demo } = this.#parts;
    tellRegistry(this.#node.registries, await unlessAborted(url, signal));
    await this.#bring([], this.#kept, signal);
    await this.#bring(await unlessAborted(demo, signal), this.#demo, signal);
    await aborted(signal);
  }

  /** Waits for an image that may be on its way. Resolves with whether it waited: then the image may be there by now. */
  async waitFor(reference: string, signal: AbortSignal): Promise<boolean> {
    const gate = reference.startsWith(`${registryHost}/`) ? this.#demo : this.#kept;
    if (gate.isOpen) return false;
    await unlessAborted(gate.opened, signal);
    return true;
  }

  async #bring(demo: readonly string[], gate: Gate, signal: AbortSignal): Promise<void> {
    const { kept, clock, log } = this.#options;
    const attempt = async () => {
      try {
        await importImages(this.#node.runtime, [...demo, ...kept.archives()], signal);
      } catch (error) {
        if (!signal.aborted) log.warn("images could not be imported; trying again", { error: explain(error) });
        throw error;
      } finally {
        gate.open();
      }
    };
    await retry(attempt, { ...again, clock }, signal);
  }
}

/** Opens once, and stays open. */
class Gate {
  readonly #promise = Promise.withResolvers<void>();
  readonly opened = this.#promise.promise;
  isOpen = false;

  open(): void {
    this.isOpen = true;
    this.#promise.resolve();
  }
}
