// A source of stored kinds that come and go while the server runs, such as custom resources.
import type { AnyKind } from "#schema/kind.ts";
import type { KindCaches } from "./caches.ts";
import type { ServedApis } from "./served-apis.ts";
import { type StoredResources, type StrategyOf, storedKinds } from "./stored-resources.ts";

export interface RuntimeKindsOptions {
  /** Tells this source from others. */
  readonly name: string;
  readonly apis: ServedApis;
  readonly caches: KindCaches;
  readonly resources: StoredResources;
  readonly strategyOf: StrategyOf;
}

export class RuntimeKinds {
  readonly #options: RuntimeKindsOptions;
  /** Changes happen one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: RuntimeKindsOptions) {
    this.#options = options;
  }

  /**
   * Serves these kinds and no others of this source. Resolves when that is so. A kind that was served before goes on without notice. A new
   * one is served once its cache has been filled, in the same turn in which those that go are no longer: a definition that changes is
   * never absent. The watches of those that go end last, so that their clients find what has taken their place.
   */
  serve(kinds: readonly AnyKind[], signal: AbortSignal): Promise<void> {
    const change = this.#turn.then(() => this.#change(kinds, signal));
    this.#turn = change.catch(() => undefined); // the caller of the change gets the error
    return change;
  }

  async #change(kinds: readonly AnyKind[], signal: AbortSignal): Promise<void> {
    const { name, apis, caches, resources, strategyOf } = this.#options;
    const before = apis.of(name);
    const present = new Set(before.map(({ kind }) => kind));
    const wanted = new Set(kinds);
    const coming = kinds.filter((kind) => !present.has(kind));
    const joined: AnyKind[] = [];
    try {
      for (const kind of storedKinds(coming)) {
        await caches.join(kind, signal);
        joined.push(kind);
      }
      const staying = before.filter(({ kind }) => wanted.has(kind));
      apis.replace(name, [...staying, ...resources.make(coming, strategyOf)]);
    } catch (error) {
      resources.remove(joined);
      throw error;
    }
    const leaving = storedKinds([...present].filter((kind) => !wanted.has(kind)));
    resources.remove([...leaving.difference(storedKinds(kinds))]);
  }
}
