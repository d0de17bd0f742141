// Follows the whole store with one watch, and hands each change to the cache of its resource. So all caches stand at one revision,
// and a reader that must see a write only has to wait until the follower has passed it.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import type { AnyKind } from "#schema/kind.ts";
import {
  type Change,
  Compacted,
  type Entry,
  type Page,
  type Revision,
  type StoreEngine,
  type TransformError,
} from "#store/engine.ts";
import type { StoredForm } from "./stored.ts";
import { WatchCache } from "./watch-cache.ts";

export const registryPrefix = "/registry/";

/** Where a kind's objects are kept: `/registry/pods/`, `/registry/apps/deployments/`. */
export const keyPrefix = ({ group, plural }: AnyKind): string =>
  group === "" ? `${registryPrefix}${plural}/` : `${registryPrefix}${group}/${plural}/`;

const pageSize = 1000;
const none: readonly WatchCache[] = [];
/** For so long events are kept for watchers that come back. Those that stay learn once a minute how far they have come. */
const freshMs = 75_000;

/** How often what could not be read is tried again: a key may come back with the next configuration, or with its service. */
const retryMs = 10_000;

export interface FollowerOptions {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly log: Log;
}

/** Puts changes aside until the cache they belong to has been filled. */
class JoiningCache {
  readonly prefix: string;
  readonly changes: Change[] = [];
  /** Whether the caches have started anew since, so that changes may be missing. */
  isOutdated = false;

  constructor(prefix: string) {
    this.prefix = prefix;
  }
}

export class StoreFollower {
  readonly #options: FollowerOptions;
  /** By prefix. There are two of one prefix while a kind is exchanged for another form of it. */
  readonly #caches = new Map<string, readonly WatchCache[]>();
  /** The same, for what concerns all. */
  #all: readonly WatchCache[] = [];
  /** Caches that are being filled while the follower runs. */
  readonly #joining = new Set<JoiningCache>();
  readonly #waiting = new Set<{ readonly revision: Revision; readonly resolve: () => void }>();
  /** How far it was when, oldest first. */
  readonly #marks: { readonly at: number; readonly revision: Revision }[] = [];
  #revision: Revision = -1;
  #notices = 0;
  #resting: Promise<void> | undefined;
  #cancelRetry: (() => void) | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Everything up to here is in the caches; -1 before they are filled. */
  get revision(): Revision {
    return this.#revision;
  }

  /** How many progress notifications without changes the store has sent. */
  get notices(): number {
    return this.#notices;
  }

  /** Makes the cache of all keys under `prefix`. To be called before `run`; later caches `join`. */
  add(prefix: string, form: StoredForm, keepsObjects?: boolean): WatchCache {
    return this.#take(new WatchCache(prefix, form, keepsObjects, this.#noteUnreadable));
  }

  /**
   * Makes a cache while the follower runs, and resolves once it stands where the others do:
   *
   *   1. The follower is at revision R. From this turn on it puts aside all changes under the prefix, which are newer than R.
   *   2. The store is listed as of R.
   *   3. In one turn the cache takes the list, then the changes put aside, and is one of the others.
   *
   * So no change is lost and none is seen twice. If the store has forgotten R meanwhile, or all caches start anew, it begins again at 1.
   */
  async join(prefix: string, form: StoredForm, signal: AbortSignal): Promise<WatchCache> {
    const cache = new WatchCache(prefix, form, true, this.#noteUnreadable);
    for (;;) {
      while (this.#revision < 0) await this.seen(0, signal);
      const joining = new JoiningCache(prefix);
      this.#joining.add(joining);
      const at = this.#revision;
      try {
        const entries = await this.#listAt(prefix, at, signal);
        if (this.#revision < 0 || joining.isOutdated) continue;
        cache.fill(entries, at);
        if (joining.changes.length > 0) cache.apply(joining.changes);
        return this.#take(cache);
      } catch (error) {
        if (!(error instanceof Compacted)) throw error;
      } finally {
        this.#joining.delete(joining);
      }
    }
  }

  /** Lets go of a cache, and ends the watches on it. What the store holds under its prefix stays. */
  remove(cache: WatchCache): void {
    this.#set(
      cache.prefix,
      this.#cachesAt(cache.prefix).filter((other) => other !== cache),
    );
    cache.close();
  }

  #take(cache: WatchCache): WatchCache {
    this.#set(cache.prefix, [...this.#cachesAt(cache.prefix), cache]);
    return cache;
  }

  #set(prefix: string, caches: readonly WatchCache[]): void {
    if (caches.length > 0) this.#caches.set(prefix, caches);
    else this.#caches.delete(prefix);
    this.#all = [...this.#caches.values()].flat();
  }

  /** Resolves once the caches contain `revision`, and have been filled at all. */
  async seen(revision: Revision, signal: AbortSignal): Promise<void> {
    if (this.#revision >= Math.max(revision, 0)) return;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const aborted = () => {
        this.#waiting.delete(waiter);
        reject(signal.reason);
      };
      const waiter = {
        revision: Math.max(revision, 0),
        resolve: () => {
          signal.removeEventListener("abort", aborted);
          resolve();
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }

  /** Whether the caches are known to contain every write that was acknowledged; then there is nothing to wait for. */
  get isCurrent(): boolean {
    return this.#revision >= 0 && this.#options.store.newest?.() === this.#revision;
  }

  /** Resolves once the caches contain every write that was acknowledged before the call. */
  async current(signal: AbortSignal): Promise<void> {
    await this.seen(await this.#options.store.revision(signal), signal);
  }

  /** Fills and follows until the signal aborts; starts anew when the store has forgotten where we were. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (this.#revision < 0) await this.#fill(signal);
        for await (const { changes, revision } of store.watch("", this.#revision, signal)) {
          failures = 0;
          if (changes.length === 0) this.#notices++;
          this.#dispatch(changes);
          this.#advance(revision);
          this.#tidyUp();
        }
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof Compacted) this.#revision = -1;
        else log.warn("watch on the store failed", { error });
        await clock.sleep(backoffMs({ firstMs: 50, maxMs: 5000 }, failures++), signal).catch(() => undefined); // aborted: the loop ends
      }
    }
    this.#cancelRetry?.();
  }

  readonly #noteUnreadable = (error: TransformError): void => {
    this.#options.log.error("a stored object cannot be read", { error });
    this.#retryLater();
  };

  #retryLater(): void {
    this.#cancelRetry ??= this.#options.clock.after(retryMs, () => {
      this.#cancelRetry = undefined;
      void this.#retryUnreadable();
    });
  }

  async #retryUnreadable(): Promise<void> {
    for (const cache of this.#all)
      for (const key of cache.unreadableKeys) {
        // It was said when it was first met why it cannot be read; that it still is so is no news.
        const entry = await this.#options.store.get(key).catch(() => undefined);
        if (entry && this.#revision >= entry.modified) cache.heal(entry, this.#revision);
      }
    if (this.#all.some(({ unreadableKeys }) => unreadableKeys.length > 0)) this.#retryLater();
  }

  async #fill(signal: AbortSignal): Promise<void> {
    const byCache = new Map<WatchCache, Entry[]>(this.#all.map((cache) => [cache, []]));
    let at = 0;
    for await (const page of this.#pages(registryPrefix, undefined, signal)) {
      for (const entry of page.entries) for (const cache of this.#cachesOf(entry.key)) byCache.get(cache)?.push(entry);
      at = page.revision;
    }
    for (const [cache, entries] of byCache) cache.fill(entries, at);
    for (const joining of this.#joining) joining.isOutdated = true;
    this.#advance(at);
  }

  async #listAt(prefix: string, at: Revision, signal: AbortSignal): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    for await (const page of this.#pages(prefix, at, signal)) entries.push(...page.entries);
    return entries;
  }

  /** All of one revision: the newest if none is named. At least one page. */
  async *#pages(prefix: string, revision: Revision | undefined, signal: AbortSignal): AsyncGenerator<Page> {
    let at = revision;
    for (let after: string | undefined; ; ) {
      const page = await this.#options.store.list(
        prefix,
        { limit: pageSize, ...(at !== undefined && { at }), ...(after !== undefined && { after }) },
        signal,
      );
      yield page;
      if (page.remaining === 0) return;
      at = page.revision;
      after = page.entries.at(-1)?.key;
    }
  }

  #dispatch(changes: readonly Change[]): void {
    for (const cache of this.#all) cache.settle(this.#revision);
    for (const [caches, itsChanges] of Map.groupBy(changes, ({ entry }) => this.#cachesOf(entry.key)))
      for (const cache of caches) cache.apply(itsChanges);
    for (const { prefix, changes: aside } of this.#joining)
      aside.push(...changes.filter(({ entry }) => entry.key.startsWith(prefix)));
  }

  /** Now and then lets go of what nobody needs any more. Only while there are changes is there anything. */
  #tidyUp(): void {
    const { clock, log } = this.#options;
    const now = clock.elapsed();
    const marks = this.#marks;
    if (now - (marks.at(-1)?.at ?? Number.NEGATIVE_INFINITY) < freshMs / 5) return;
    marks.push({ at: now, revision: this.#revision });
    while (marks[1] && marks[1].at <= now - freshMs) marks.shift();
    const [oldest] = marks;
    if (oldest && oldest.at <= now - freshMs) for (const cache of this.#all) cache.forget(oldest.revision);
    this.#resting ??= this.#rest()
      .catch((error) => log.error("caches could not be tidied up", { error }))
      .finally(() => {
        this.#resting = undefined;
      });
  }

  async #rest(): Promise<void> {
    for (const cache of this.#all) await cache.rest();
  }

  /** By the first part of the key after `/registry/`, or the first two where that is a group. */
  #cachesOf(key: string): readonly WatchCache[] {
    const first = key.indexOf("/", registryPrefix.length);
    if (first < 0 || !key.startsWith(registryPrefix)) return none;
    const ofCore = this.#caches.get(key.slice(0, first + 1));
    if (ofCore) return ofCore;
    const second = key.indexOf("/", first + 1);
    return second < 0 ? none : this.#cachesAt(key.slice(0, second + 1));
  }

  #cachesAt(prefix: string): readonly WatchCache[] {
    return this.#caches.get(prefix) ?? none;
  }

  #advance(revision: Revision): void {
    this.#revision = Math.max(this.#revision, revision);
    for (const waiter of this.#waiting) {
      if (waiter.revision > this.#revision) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }
}
