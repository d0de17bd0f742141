// All objects of one resource in memory, with the recent past as a ring of events. Gets, lists and watches are served from here.
// The store's follower (store-follower.ts) keeps it current.
import { prefixEnd, SortedMap } from "#base/sorted-map.ts";
import type { Change, Entry, Revision } from "#store/engine.ts";
import type { Stored, StoredForm } from "./stored.ts";

/** A change as watchers see it. */
export interface CacheEvent {
  readonly revision: Revision;
  readonly current: Stored | undefined;
  readonly previous: Stored | undefined;
  /** The last state of a deleted object, at the revision of its deletion. */
  readonly deleted: Stored | undefined;
}

export interface CacheListener {
  /** Called with new events once they are in the cache, in order. */
  events(events: readonly CacheEvent[]): void;
  /** The cache had to start anew: whoever follows events must list again. */
  reset(): void;
}

/** How many events are kept for watchers that start in the past. */
const ringSize = 8192;

export class WatchCache {
  readonly prefix: string;
  readonly #form: StoredForm;
  readonly #objects = new SortedMap<Stored>();
  readonly #ring: CacheEvent[] = [];
  readonly #listeners = new Set<CacheListener>();
  /** Events after this one are in the ring. */
  #oldest: Revision = 0;

  constructor(prefix: string, form: StoredForm) {
    this.prefix = prefix;
    this.#form = form;
  }

  /** The oldest revision a watcher may start from. */
  get oldest(): Revision {
    return this.#oldest;
  }

  get(key: string): Stored | undefined {
    return this.#objects.get(key);
  }

  /** Objects whose key starts with `prefix`, in order; `after` skips all up to that key. */
  range(prefix: string, after?: string): Generator<[string, Stored]> {
    return this.#objects.range(after === undefined ? prefix : `${after}\0`, prefixEnd(prefix));
  }
  count(prefix: string, after?: string): number {
    return this.#objects.count(after === undefined ? prefix : `${after}\0`, prefixEnd(prefix));
  }

  /** Events after `from`, oldest first. The caller has checked that `from` is not before `oldest`. */
  since(from: Revision): readonly CacheEvent[] {
    let start = this.#ring.length;
    while (start > 0 && (this.#ring[start - 1] as CacheEvent).revision > from) start--;
    return this.#ring.slice(start);
  }

  listen(listener: CacheListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts anew with what the store holds at a revision. */
  fill(entries: readonly Entry[], at: Revision): void {
    this.#objects.clear();
    this.#ring.length = 0;
    this.#oldest = at;
    for (const entry of entries) this.#objects.set(entry.key, this.#form.of(entry));
    for (const listener of [...this.#listeners]) listener.reset();
  }

  apply(changes: readonly Change[]): void {
    const events = changes.map((change) => this.#toEvent(change));
    this.#ring.push(...events);
    if (this.#ring.length > ringSize * 1.25) {
      const dropped = this.#ring.splice(0, this.#ring.length - ringSize);
      this.#oldest = (dropped.at(-1) as CacheEvent).revision;
    }
    for (const listener of this.#listeners) listener.events(events);
  }

  #toEvent({ type, entry, previous: before }: Change): CacheEvent {
    const previous = this.#objects.get(entry.key);
    if (type === "put") {
      const current = this.#form.of(entry);
      this.#objects.set(entry.key, current);
      return { revision: entry.modified, current, previous, deleted: undefined };
    }
    this.#objects.delete(entry.key);
    return {
      revision: entry.modified,
      current: undefined,
      previous,
      deleted: before && this.#form.of(before, entry.modified),
    };
  }
}
