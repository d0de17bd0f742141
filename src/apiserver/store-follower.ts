// Follows the whole store with one watch, and hands each change to the cache of its resource. So all caches stand at one revision,
// and a reader that must see a write only has to wait until the follower has passed it.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import { type Change, Compacted, type Entry, type Revision, type StoreEngine } from "#store/engine.ts";
import type { StoredForm } from "./stored.ts";
import { WatchCache } from "./watch-cache.ts";

export const registryPrefix = "/registry/";
const pageSize = 1000;
/** For so long events are kept for watchers that come back. Those that stay learn once a minute how far they have come. */
const freshMs = 75_000;

export interface FollowerOptions {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly log: Log;
}

export class StoreFollower {
  readonly #options: FollowerOptions;
  readonly #caches = new Map<string, WatchCache>();
  readonly #waiting = new Set<{ readonly revision: Revision; readonly resolve: () => void }>();
  /** How far it was when, oldest first. */
  readonly #marks: { readonly at: number; readonly revision: Revision }[] = [];
  #revision: Revision = -1;
  #notices = 0;
  #resting: Promise<void> | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Everything up to here is in the caches; -1 before they are filled. */
  get revision(): Revision {
    return this.#revision;
  }

  /** How often the store has told how far it is although nothing had changed. */
  get notices(): number {
    return this.#notices;
  }

  /** Makes the cache of all keys under `prefix`. To be called before `run`. */
  add(prefix: string, form: StoredForm, keepsObjects?: boolean): WatchCache {
    const cache = new WatchCache(prefix, form, keepsObjects);
    this.#caches.set(prefix, cache);
    return cache;
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
        if (signal.aborted) return;
        if (error instanceof Compacted) this.#revision = -1;
        else log.warn("watch on the store failed", { error });
        await clock.sleep(backoffMs({ firstMs: 50, maxMs: 5000 }, failures++), signal).catch(() => undefined); // aborted: the loop ends
      }
    }
  }

  async #fill(signal: AbortSignal): Promise<void> {
    const { store } = this.#options;
    const byCache = new Map<WatchCache, Entry[]>([...this.#caches.values()].map((cache) => [cache, []]));
    let at: Revision | undefined;
    for (let after: string | undefined; ; ) {
      const page = await store.list(
        registryPrefix,
        { limit: pageSize, ...(at !== undefined && { at }), ...(after !== undefined && { after }) },
        signal,
      );
      for (const entry of page.entries) {
        const cache = this.#cacheOf(entry.key);
        if (cache) byCache.get(cache)?.push(entry);
      }
      at = page.revision;
      if (page.remaining === 0) break;
      after = page.entries.at(-1)?.key;
    }
    for (const [cache, entries] of byCache) cache.fill(entries, at);
    this.#advance(at);
  }

  #dispatch(changes: readonly Change[]): void {
    for (const cache of this.#caches.values()) cache.settle(this.#revision);
    for (const [cache, ofCache] of Map.groupBy(changes, ({ entry }) => this.#cacheOf(entry.key))) cache?.apply(ofCache);
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
    if (oldest && oldest.at <= now - freshMs) for (const cache of this.#caches.values()) cache.forget(oldest.revision);
    this.#resting ??= this.#rest()
      .catch((error) => log.error("caches could not be tidied up", { error }))
      .finally(() => {
        this.#resting = undefined;
      });
  }

  async #rest(): Promise<void> {
    for (const cache of this.#caches.values()) await cache.rest();
  }

  /** By the first part of the key after `/registry/`, or the first two where that is a group. */
  #cacheOf(key: string): WatchCache | undefined {
    const first = key.indexOf("/", registryPrefix.length);
    if (first < 0 || !key.startsWith(registryPrefix)) return undefined;
    const ofCore = this.#caches.get(key.slice(0, first + 1));
    if (ofCore) return ofCore;
    const second = key.indexOf("/", first + 1);
    return second < 0 ? undefined : this.#caches.get(key.slice(0, second + 1));
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
