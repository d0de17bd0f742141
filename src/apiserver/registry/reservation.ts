// What an object needs and no two objects may share, such as the address of a service: taken before the object is checked,
// kept when it has been written, given back when it has not.
import type { Random } from "#base/random.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Revision } from "#store/engine.ts";
import type { StoreFollower } from "../store-follower.ts";
import type { ServiceNetwork } from "../strategies/service/ranges.ts";
import type { CacheOf, WatchCache } from "../watch-cache.ts";

export interface Reserver {
  /**
   * Takes what the object asks for or lacks, and writes the latter into it. `old` is what an update replaces. Runs in one turn of
   * the event loop, so that two writers never take the same. Throws ApiError if it cannot be had, having taken nothing.
   */
  reserve(object: DraftObject, old: ApiObject | undefined, options?: ReserveOptions): Reservation;
  /** Whether a stored object has the thing. */
  isHeld(thing: string): boolean;
}

export interface ReserveOptions {
  /** What other servers may take without this one knowing. */
  readonly elsewhere?: ReadonlySet<string>;
  /** Nothing will be written: the object is only to be shown. */
  readonly isTrial?: boolean;
}

export interface Reservation {
  /** What was taken and was not held before. */
  readonly things: Iterable<string>;
  /** The object has been written at that revision. */
  commit(revision: Revision): void | Promise<void>;
  /** The object has not been written, or was not meant to be. */
  release(): void | Promise<void>;
}

/** What a reserver works with. */
export interface ReserverParts {
  readonly cache: WatchCache;
  readonly follower: StoreFollower;
  readonly random: Random;
  readonly network: ServiceNetwork;
  /** The caches of other kinds; to be asked when something is reserved, not before. */
  readonly cacheOf: CacheOf;
}
