// The watch caches of all stored kinds, by kind. They come before everything else of a server: authorization, admission and registries read them.
import type { AnyKind } from "#schema/kind.ts";
import type { StoreFollower } from "../store-follower.ts";
import { keyPrefix } from "../store-follower.ts";
import { type Protection, StoredForm } from "../stored.ts";
import type { WatchCache } from "../watch-cache.ts";

/** How objects of a kind look in the store, and those that are there. */
export interface KindCache {
  readonly form: StoredForm;
  readonly cache: WatchCache;
}

export interface KindCachesOptions {
  readonly follower: StoreFollower;
  readonly protect?: Protection | undefined;
}

export class KindCaches {
  readonly #options: KindCachesOptions;
  readonly #byKind = new Map<AnyKind, KindCache>();

  constructor(options: KindCachesOptions) {
    this.#options = options;
  }

  /** Before the follower runs. */
  add(kind: AnyKind, keepsObjects?: boolean): void {
    const form = new StoredForm(kind, this.#options.protect);
    this.#byKind.set(kind, { form, cache: this.#options.follower.add(keyPrefix(kind), form, keepsObjects) });
  }

  /** While it runs; resolves when the cache is as current as the others. */
  async join(kind: AnyKind, signal: AbortSignal): Promise<void> {
    const { follower, protect } = this.#options;
    const form = new StoredForm(kind, protect);
    this.#byKind.set(kind, { form, cache: await follower.join(keyPrefix(kind), form, signal) });
  }

  /** Ends the watches of a kind, and forgets its objects. */
  remove(kind: AnyKind): void {
    const present = this.#byKind.get(kind);
    if (!present) return;
    this.#byKind.delete(kind);
    this.#options.follower.remove(present.cache);
  }

  /** The caller knows that the kind is stored. */
  get(kind: AnyKind): KindCache {
    const present = this.#byKind.get(kind);
    if (!present) throw new Error(`${kind.apiVersion} ${kind.kind} is not stored`);
    return present;
  }

  readonly cacheOf = (kind: AnyKind): WatchCache => this.get(kind).cache;
}
