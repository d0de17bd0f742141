// Where several servers share a store, what one of them reserves in its memory the others do not know. So before an object is written
// that takes something new, each thing is claimed by a key in the store that only one can create, and the claim is given up when the
// object has been written:
//
//   claim at revision C → follow the store up to C → is it held by a stored object? → write the object → give up the claim
//
// Who held a claim before had written its object before it gave the claim up, hence before C: it is seen. Who comes later cannot claim
// until our object is written. A server that dies leaves a claim that ends by itself.
import { copyJson } from "#schema/apply/value.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { Conflict, type Entry, type StoreEngine } from "#store/engine.ts";
import { internalError } from "#wire/status.ts";
import type { StoreFollower } from "../store-follower.ts";
import type { Reservation, Reserver } from "./reservation.ts";

/** Outside of what the caches follow. */
const prefix = "/knarr/claims/";
/** Longer than any request may take. */
const ttlSeconds = 120;
const tries = 16;

export interface StoreClaimsOptions {
  readonly store: StoreEngine;
  readonly follower: StoreFollower;
  /** Things of one kind are claimed under its name. */
  readonly of: string;
}

class TakenElsewhere extends Error {
  readonly thing: string;

  constructor(thing: string) {
    super(`${thing} is being taken by another server`);
    this.thing = thing;
  }
}

export class StoreClaims {
  readonly #options: StoreClaimsOptions;

  constructor(options: StoreClaimsOptions) {
    this.#options = options;
  }

  /** As `reserver.reserve`, so that no other server takes the same. What is not asked for by name is chosen again if need be. */
  async reserve(
    reserver: Reserver,
    object: DraftObject,
    old: ApiObject | undefined,
    signal: AbortSignal,
  ): Promise<Reservation> {
    const requestedSpec = copyJson(object.spec);
    const elsewhere = new Set<string>();
    for (let left = tries; ; left--) {
      const reservation = reserver.reserve(object, old, { elsewhere });
      try {
        return await this.#secured(reserver, reservation, signal);
      } catch (error) {
        await reservation.release();
        if (!(error instanceof TakenElsewhere)) throw error;
        if (left === 0) throw internalError(error.message);
        elsewhere.add(error.thing);
        object.spec = copyJson(requestedSpec);
      }
    }
  }

  async #secured(reserver: Reserver, reservation: Reservation, signal: AbortSignal): Promise<Reservation> {
    const { follower } = this.#options;
    const claims: Entry[] = [];
    const giveUp = () => Promise.all(claims.map((claim) => this.#delete(claim)));
    try {
      for (const thing of reservation.things) claims.push(await this.#claim(thing));
      await follower.seen(claims.at(-1)?.modified ?? 0, signal);
      for (const thing of reservation.things) if (reserver.isHeld(thing)) throw new TakenElsewhere(thing);
    } catch (error) {
      await giveUp();
      throw error;
    }
    return {
      things: reservation.things,
      commit: async (revision) => {
        await reservation.commit(revision);
        await giveUp();
      },
      release: async () => {
        await reservation.release();
        await giveUp();
      },
    };
  }

  async #claim(thing: string): Promise<Entry> {
    const { store, of } = this.#options;
    try {
      return await store.put(`${prefix}${of}/${thing}`, new Uint8Array(), 0, { ttlSeconds });
    } catch (error) {
      throw error instanceof Conflict ? new TakenElsewhere(thing) : error;
    }
  }

  async #delete({ key, modified }: Entry): Promise<void> {
    try {
      await this.#options.store.delete(key, modified);
    } catch {
      // Gone, or the store is: then it goes when its time is over, and the object is as it was answered.
    }
  }
}
