// Upstream: pkg/scheduler/framework/plugins/volumebinding/assume_cache.go.
import type { ObjectMeta } from "#schema/object-meta.ts";

/** Objects with decisions of the scheduler that the API does not show yet. */
export class AssumedObjects<O extends { readonly metadata: ObjectMeta }> {
  readonly #assumed = new Map<string, O>();
  readonly #known: (key: string) => O | undefined;

  constructor(known: (key: string) => O | undefined) {
    this.#known = known;
  }

  get(key: string): O | undefined {
    const known = this.#known(key);
    return known && this.of(key, known);
  }

  /** The assumed version of an object, or the object itself once the cache has a newer version. */
  of(key: string, known: O): O {
    const assumed = this.#assumed.get(key);
    if (!assumed) return known;
    if (Number(known.metadata.resourceVersion) <= Number(assumed.metadata.resourceVersion)) return assumed;
    this.#assumed.delete(key);
    return known;
  }

  assume(key: string, object: O): void {
    this.#assumed.set(key, object);
  }

  forget(key: string): void {
    this.#assumed.delete(key);
  }
}
