// What services hold, and nobody else may get: what the stored ones hold, as the cache knows, and what is being given to
// services that are just being written. Nothing is stored besides the services themselves, so there is nothing to repair; only
// servers that share a store leave claims in it for as long as a write takes (registry/store-claims.ts).
import type { ApiObject } from "#schema/object.ts";
import type { Revision } from "#store/engine.ts";
import type { Reservation, ReserverParts } from "../../registry/reservation.ts";
import type { CacheEvent } from "../../watch-cache.ts";

export class Holdings {
  readonly #parts: Pick<ReserverParts, "cache" | "follower">;
  readonly #heldBy: (object: ApiObject) => readonly string[];
  /** How many stored services hold a thing: one, unless someone wrote to the store behind our back. */
  readonly #holders = new Map<string, number>();
  readonly #claims = new Set<HoldingClaim>();

  constructor(parts: Pick<ReserverParts, "cache" | "follower">, heldBy: (object: ApiObject) => readonly string[]) {
    this.#parts = parts;
    this.#heldBy = heldBy;
  }

  /** Follows the cache from now on. */
  follow(): this {
    const { cache } = this.#parts;
    const count = () => {
      this.#holders.clear();
      for (const [, stored] of cache.range(cache.prefix)) this.#add(stored.object, 1);
    };
    cache.listen({ events: (events) => this.#events(events), reset: count });
    count();
    return this;
  }

  /** Whether a stored service has it. */
  isHeld(thing: string): boolean {
    return this.#holders.has(thing);
  }

  isTaken(thing: string): boolean {
    if (this.#holders.has(thing)) return true;
    for (const claim of this.#claims) if (claim.has(thing)) return true;
    return false;
  }

  /** A claim that is open until it is committed or released. */
  claim(): HoldingClaim {
    const { follower } = this.#parts;
    for (const claim of this.#claims) if (claim.isIn(follower.revision)) this.#claims.delete(claim);
    const claim = new HoldingClaim((done) => this.#claims.delete(done));
    this.#claims.add(claim);
    return claim;
  }

  #events(events: readonly CacheEvent[]): void {
    for (const { previous, current } of events) {
      if (previous) this.#add(previous.object, -1);
      if (current) this.#add(current.object, 1);
    }
  }

  #add(object: ApiObject, change: 1 | -1): void {
    for (const thing of this.#heldBy(object)) {
      const holders = (this.#holders.get(thing) ?? 0) + change;
      if (holders > 0) this.#holders.set(thing, holders);
      else this.#holders.delete(thing);
    }
  }
}

/** What one write has taken. Once written it stays until the cache has seen the write, and so knows by itself. */
export class HoldingClaim implements Reservation {
  readonly things = new Set<string>();
  readonly #forget: (claim: HoldingClaim) => void;
  #written: Revision | undefined;

  constructor(forget: (claim: HoldingClaim) => void) {
    this.#forget = forget;
  }

  take(thing: string): void {
    this.things.add(thing);
  }

  has(thing: string): boolean {
    return this.things.has(thing);
  }

  isIn(revision: Revision): boolean {
    return this.#written !== undefined && this.#written <= revision;
  }

  commit(revision: Revision): void {
    this.#written = revision;
    if (this.things.size === 0) this.#forget(this);
  }

  release(): void {
    this.#forget(this);
  }
}
