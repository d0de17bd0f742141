// Makes the images of add-ons that pods of this machine need. Another control plane may lead and have made them, but machines do not fetch
// images from each other: equal sources and an equal runtime make an image of the same name on each.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { addons } from "./list.ts";
import { type ProjectImageOptions, projectImage } from "./project-image.ts";

export interface ImageMakerOptions {
  /** Where images are kept; may be shared by clusters. */
  readonly cacheFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs the program that makes images by default. */
  readonly make?: (options: ProjectImageOptions, signal: AbortSignal) => Promise<string>;
}

/** Anybody who reaches the registry can ask for an image: after a failure the next attempt waits. */
const cooldownMs = 30_000;

export class ImageMaker {
  readonly #options: ImageMakerOptions;
  readonly #attempts = new Map<string, Promise<boolean>>();
  /** When the last attempt at each failed. */
  readonly #failedAt = new Map<string, number>();

  constructor(options: ImageMakerOptions) {
    this.#options = options;
  }

  /** Makes it once. Resolves with whether it may be there now. */
  ensure(name: string, signal: AbortSignal): Promise<boolean> {
    if (!addons.some(({ images }) => Object.values(images).includes(name))) return Promise.resolve(false);
    const failedAt = this.#failedAt.get(name);
    const isOver = failedAt !== undefined && this.#options.clock.elapsed() - failedAt >= cooldownMs;
    const last = isOver ? undefined : this.#attempts.get(name);
    if (isOver) this.#failedAt.delete(name);
    const attempt = last ?? this.#make(name, signal);
    this.#attempts.set(name, attempt);
    return attempt;
  }

  async #make(name: string, signal: AbortSignal): Promise<boolean> {
    const { cacheFolder: cache, clock, log, make = projectImage } = this.#options;
    try {
      await make({ cache, name, isAwaited: true }, signal);
      return true;
    } catch (error) {
      if (!signal.aborted) log.warn("the image of an add-on could not be made", { image: name, error: explain(error) });
      this.#failedAt.set(name, clock.elapsed());
      return false;
    }
  }
}
