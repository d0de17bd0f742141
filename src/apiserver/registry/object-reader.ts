// The objects of one resource, for those who read them: in memory, in the store, and as they change. Memory is the watch cache, which
// follows the store; the past is in the store alone, and so are all objects of kinds that the cache does not keep.
import type { Clock } from "#base/clock.ts";
import type { Soon } from "#base/soon.ts";
import { type RangeOptions, type Revision, type StoreEngine, TransformError } from "#store/engine.ts";
import type { WatchEvent } from "#wire/api-request.ts";
import { notYetWritten, unexpectedError } from "#wire/status.ts";
import type { StoreFollower } from "../store-follower.ts";
import type { StoredForm, StoredObject } from "../stored.ts";
import type { WatchCache } from "../watch-cache.ts";
import { Feeds, type WatcherOptions, watchEvents } from "../watcher.ts";

export interface ObjectReaderOptions {
  readonly store: StoreEngine;
  readonly cache: WatchCache;
  readonly follower: StoreFollower;
  readonly form: StoredForm;
  readonly clock: Clock;
}

/** Objects of one revision, in the order of their keys. */
export interface ObjectPage {
  readonly objects: readonly StoredObject[];
  readonly revision: Revision;
  /** How many objects lie behind this page at that revision. */
  readonly remaining: number;
}

/** Which changes a watch is about. */
export interface FollowedObjects {
  /** What `matches` decides, as a text: watches with the same text share their work. */
  readonly question: string;
  /** The part of the cache that has all objects that match. */
  readonly place: string;
  readonly matches: (stored: StoredObject) => boolean;
}

/** How long a reader waits for a revision that has not been written yet. */
const futureWaitMs = 3000;

export class ObjectReader {
  readonly #options: ObjectReaderOptions;
  readonly #feeds: Feeds;

  constructor(options: ObjectReaderOptions) {
    this.#options = options;
    this.#feeds = new Feeds(options.cache);
  }

  /** Memory has everything up to this revision. */
  get revision(): Revision {
    return this.#options.follower.revision;
  }

  /** Whether all objects are in memory. If not, the methods that read memory throw. */
  get areInMemory(): boolean {
    return this.#options.cache.keepsObjects;
  }

  /**
   * The object as of now: at least as new as every write acknowledged before the call. At once, if memory is known to be current. Then the
   * signal of the request is not even looked at: one that came over HTTP makes it for whoever does.
   */
  current(key: string, request: { readonly signal: AbortSignal }): Soon<StoredObject | undefined> {
    const { follower, cache, store, form } = this.#options;
    if (!cache.keepsObjects)
      return store.get(key, request.signal).then((entry) => entry && form.of(entry), refuseUnreadable);
    return follower.isCurrent ? this.inMemory(key) : follower.current(request.signal).then(() => this.inMemory(key));
  }

  /** Waits until memory has every write that was acknowledged before the call. */
  caughtUp(signal: AbortSignal): Promise<void> {
    return this.#options.follower.current(signal);
  }

  /** Waits until memory has reached a revision. Throws ApiError 504 for a revision that does not come. */
  async reached(revision: Revision, signal: AbortSignal): Promise<void> {
    const { follower, clock, store } = this.#options;
    if (follower.revision >= revision) return;
    const wait = new AbortController();
    const cancel = clock.after(futureWaitMs, () => wait.abort(new Error("waited long enough")));
    try {
      await follower.seen(revision, AbortSignal.any([signal, wait.signal]));
    } catch (error) {
      if (signal.aborted) throw error;
      throw notYetWritten(revision, await store.revision(signal));
    } finally {
      cancel();
    }
  }

  /** The object in memory. Throws ApiError 500, as all that read do, if it is stored and cannot be read. */
  inMemory(key: string): StoredObject | undefined {
    const { cache } = this.#options;
    const stored = cache.get(key);
    if (!stored) this.#refuse(cache.unreadable(key));
    return stored;
  }

  /** All objects in memory whose key starts with `prefix`, in order. The array is shared: it must not be changed. */
  allInMemory(prefix: string): readonly StoredObject[] {
    const { cache } = this.#options;
    this.#refuse(cache.unreadableUnder(prefix));
    return cache.list(prefix);
  }

  /** The same as a generator, for callers that may stop before the end. */
  *eachInMemory(prefix: string): Generator<StoredObject> {
    const { cache } = this.#options;
    this.#refuse(cache.unreadableUnder(prefix));
    for (const [, stored] of cache.range(prefix)) yield stored;
  }

  /** How many objects in memory have a key that starts with `prefix` and comes after `after`. */
  countInMemory(prefix: string, after?: string): number {
    return this.#options.cache.count(prefix, after);
  }

  /** Objects from the store. Throws the store's Compacted and FutureRevision. */
  async fromStore(prefix: string, options: RangeOptions, signal: AbortSignal): Promise<ObjectPage> {
    const { store, form } = this.#options;
    const { entries, revision, remaining } = await store.list(prefix, options, signal);
    this.#refuse(entries.find(({ unreadable }) => unreadable)?.unreadable);
    return { objects: entries.map((entry) => form.of(entry)), revision, remaining };
  }

  /** What happens to objects after a revision. */
  changes(
    { question, place, matches }: FollowedObjects,
    how: Pick<WatcherOptions, "from" | "initial" | "bookmark" | "marksInitial" | "began">,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent[]> {
    const { cache, follower, store, clock } = this.#options;
    const feed = this.#feeds.of(question, place, matches);
    return watchEvents({ ...how, cache, follower, store, clock, feed }, signal);
  }

  /** The caller holds every object from now on until it calls the returned function; meanwhile the cache keeps objects and no bytes. */
  hold(): () => void {
    return this.#options.cache.hold();
  }

  #refuse(error: TransformError | undefined): void {
    if (error) refuseUnreadable(error);
  }

  /** How many objects there are, and how large they are on average. */
  get stats(): { readonly count: number; readonly averageBytes: number } {
    const { size, bytes } = this.#options.cache;
    return { count: size, averageBytes: size === 0 ? 0 : Math.ceil(bytes / size) };
  }

  /** What metrics tell. */
  get figures() {
    const { cache, follower } = this.#options;
    const { size, received } = cache;
    return { size, received, notices: follower.notices, revision: follower.revision };
  }
}

/** As upstream refuses what it cannot decrypt: with code 500, without a reason. */
function refuseUnreadable(error: unknown): never {
  throw error instanceof TransformError ? unexpectedError(error.message) : error;
}
