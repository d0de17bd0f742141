// Image garbage collection: when the disk of the images gets full, unused images are removed, least recently used first. Images that were
// imported from an archive stay: no registry would bring them again.
// Upstream: pkg/kubelet/images/image_gc_manager.go.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { FileSystemState } from "../node/pressure.ts";
import type { Image } from "../runtime.ts";

export interface ImageCollectorOptions {
  readonly runtime: {
    images(signal: AbortSignal): Promise<readonly Image[]>;
    /** Ids and names. */
    imagesInUse(signal: AbortSignal): Promise<ReadonlySet<string>>;
    removeImage(id: string, signal: AbortSignal): Promise<void>;
  };
  readonly imageFs: () => Promise<FileSystemState>;
  /** Defaults to upstream's. */
  readonly thresholds?: ImageThresholds;
  /** Writes an event about the node. */
  readonly event: (reason: string, message: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Percent of the disk at which collection begins, and down to which it frees. */
export interface ImageThresholds {
  readonly highPercent: number;
  readonly lowPercent: number;
}

/** As upstream's imageGCHighThresholdPercent, imageGCLowThresholdPercent and imageMinimumGCAge. */
const defaultThresholds: ImageThresholds = { highPercent: 85, lowPercent: 80 };
const minAgeMs = 120_000;
const periodMs = 300_000;

interface ImageUse {
  readonly firstSeen: number;
  lastUsed: number;
}

export class ImageCollector implements Component {
  readonly name = "image collection";
  readonly #options: ImageCollectorOptions;
  readonly #uses = new Map<string, ImageUse>();

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    for (;;) {
      try {
        await this.check(signal);
      } catch (error) {
        signal.throwIfAborted();
        log.warn("images were not looked through", { error: explain(error) });
      }
      await clock.sleep(periodMs, signal);
    }
  }

  /** Collects if the disk is above the high threshold. */
  async check(signal: AbortSignal): Promise<void> {
    const { imageFs, event, thresholds: { highPercent, lowPercent } = defaultThresholds } = this.#options;
    const unused = await this.#unused(signal);
    const { capacityBytes, availableBytes } = await imageFs();
    if (capacityBytes === 0) return event("InvalidDiskCapacity", "invalid capacity 0 on image filesystem");
    const usedPercent = 100 - Math.floor((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
    if (usedPercent < highPercent) return;
    const wanted = Math.floor((capacityBytes * (100 - lowPercent)) / 100) - availableBytes;
    const freed = await this.#free(unused, wanted, signal);
    if (freed < wanted)
      event(
        "FreeDiskSpaceFailed",
        `Insufficient free disk space on the node's image filesystem (${usedPercent}% of ${sizeText(capacityBytes)} used). ` +
          `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
          "Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
      );
  }

  /** Removes all unused images, since the node runs out of disk. Resolves with the bytes freed. */
  async freeAll(signal: AbortSignal): Promise<number> {
    return this.#free(await this.#unused(signal), Number.POSITIVE_INFINITY, signal);
  }

  /** Images that may go, the longest unused first. */
  async #unused(signal: AbortSignal): Promise<readonly Image[]> {
    const { runtime, clock } = this.#options;
    const now = clock.elapsed();
    const images = await runtime.images(signal);
    const inUse = await runtime.imagesInUse(signal);
    for (const id of this.#uses.keys()) if (!images.some((image) => image.id === id)) this.#uses.delete(id);
    for (const { id, names } of images) {
      const known = this.#uses.get(id) ?? { firstSeen: now, lastUsed: Number.NEGATIVE_INFINITY };
      if ([id, ...names].some((name) => inUse.has(name))) known.lastUsed = now;
      this.#uses.set(id, known);
    }
    const stays = ({ id, names, isPinned }: Image): boolean => {
      const { firstSeen = now, lastUsed = now } = this.#uses.get(id) ?? {};
      return (
        isPinned === true || lastUsed >= now || now - firstSeen < minAgeMs || names.some(isPause) || !wasPulled(names)
      );
    };
    const order = (image: Image) => this.#uses.get(image.id) ?? { firstSeen: now, lastUsed: now };
    return images
      .filter((image) => !stays(image))
      .sort((a, b) => order(a).lastUsed - order(b).lastUsed || order(a).firstSeen - order(b).firstSeen);
  }

  async #free(images: readonly Image[], bytes: number, signal: AbortSignal): Promise<number> {
    const { runtime, log } = this.#options;
    let freed = 0;
    for (const { id, names, sizeBytes } of images) {
      if (freed >= bytes) break;
      await runtime.removeImage(id, signal);
      log.info("an unused image was removed", { image: names[0] ?? id, bytes: sizeBytes });
      freed += sizeBytes;
    }
    return freed;
  }
}

/** Runtimes of today say which image they need for sandboxes; containerd 1.6 does not. */
const isPause = (name: string): boolean => /(^|\/)pause[:@]/.test(name);

/** Runtimes note the digest by which a name was pulled, and of an image that was imported only its names. */
function wasPulled(names: readonly string[]): boolean {
  const pulled = new Set(names.flatMap((name) => (name.includes("@") ? repositoryOf(name) : [])));
  return names.every((name) => pulled.has(repositoryOf(name)));
}

/** `docker.io/library/web` of `docker.io/library/web:1.0`; a port has a slash after it. */
const repositoryOf = (name: string): string => name.replace(/@.*$/, "").replace(/:[^:/]*$/, "");

/** `12.5 GiB`. */
function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
