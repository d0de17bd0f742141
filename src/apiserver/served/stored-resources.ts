// Makes the resources of stored kinds: a registry for each kind that is stored, and a served resource for each of its versions.
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { ServiceAccountTokens } from "../authentication/service-account-tokens.ts";
import type { Causality } from "../causality.ts";
import type { Admission } from "../registry/admission.ts";
import { isUninitialized } from "../registry/initialization.ts";
import { Registry } from "../registry/registry.ts";
import { StoreClaims } from "../registry/store-claims.ts";
import type { Strategy } from "../registry/strategy.ts";
import type { WriteGuard } from "../registry/write-steps.ts";
import type { ServedResource } from "../served-resource.ts";
import type { StoreFollower } from "../store-follower.ts";
import { strategyOf } from "../strategies/list.ts";
import type { ServiceNetwork } from "../strategies/service/ranges.ts";
import { type Find, subresourceHandlers } from "../subresources/list.ts";
import { tokenRequest } from "../subresources/token-request.ts";
import type { KindCaches } from "./caches.ts";

export interface StoredResourcesOptions {
  readonly caches: KindCaches;
  /** Filled by this: who reads all stored kinds, as admission does, reads it. */
  readonly registries: Map<AnyKind, Registry>;
  readonly store: StoreEngine;
  /** The store as the registry of a kind uses it: its calls are measured by kind. */
  readonly measured: (store: StoreEngine, kind: AnyKind) => StoreEngine;
  readonly follower: StoreFollower;
  readonly admission: Admission;
  readonly guard: WriteGuard;
  readonly causality: Causality;
  readonly serviceAccounts: ServiceAccountTokens | undefined;
  readonly network: ServiceNetwork;
  /** How long events are kept; defaults to what their strategy says. */
  readonly eventSeconds?: number | undefined;
  readonly find: Find;
  /** Whether new objects may wait for initializers, unseen. */
  readonly initializes?: boolean | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** What is special about storing a kind. */
export type StrategyOf = (kind: AnyKind) => Strategy;

export class StoredResources {
  readonly #options: StoredResourcesOptions;

  constructor(options: StoredResourcesOptions) {
    this.#options = options;
  }

  /** Makes the resources of kinds whose caches are there. Versions of one resource must come together. */
  make(kinds: readonly AnyKind[], strategies: StrategyOf = strategyOf): readonly ServedResource[] {
    const { registries, find } = this.#options;
    for (const kind of storedKinds(kinds)) registries.set(kind, this.#registryOf(kind, strategies(kind)));
    return kinds.map((kind) => {
      const stored = registries.get(storedKind(kind));
      if (!stored) throw new Error(`${kind.apiVersion} ${kind.kind} is converted to a version that is not stored`);
      const registry = kind.convert && kind.peers ? stored.inVersion(kind, strategies(kind)) : stored;
      const versions = kinds.filter((other) => storedKind(other) === stored.kind);
      const subresources = { ...subresourceHandlers(kind, find), ...this.#tokenSubresource(kind) };
      return { kind, registry, versions, subresources };
    });
  }

  /** Lets go of kinds that are no longer served. What is stored of them stays. */
  remove(kinds: readonly AnyKind[]): void {
    const { registries, caches } = this.#options;
    for (const kind of kinds) {
      registries.delete(kind);
      caches.remove(kind);
    }
  }

  #registryOf(kind: AnyKind, usual: Strategy): Registry {
    const { caches, store, measured, follower, network, eventSeconds, random } = this.#options;
    const { admission, guard, causality, clock } = this.#options;
    const { form, cache } = caches.get(kind);
    const strategy =
      usual.ttlSeconds === undefined ? usual : { ...usual, ttlSeconds: eventSeconds ?? usual.ttlSeconds };
    const reserver = strategy.reserver?.({ cache, follower, random, network, cacheOf: caches.cacheOf });
    // An engine that knows its newest revision by itself is nobody else's: there are no other servers to share claims with.
    const claims = reserver && !store.newest ? new StoreClaims({ store, follower, of: kind.plural }) : undefined;
    const hides = this.#options.initializes ? isUninitialized : undefined;
    const parts = { kind, strategy, reserver, claims, cache, follower, form, hides };
    return new Registry({ ...parts, store: measured(store, kind), admission, causality, guard, clock, random });
  }

  #tokenSubresource(kind: AnyKind): ServedResource["subresources"] {
    const { serviceAccounts, find } = this.#options;
    return kind === ServiceAccount && serviceAccounts ? { token: tokenRequest(serviceAccounts, find) } : {};
  }
}

const storedKind = (kind: AnyKind): AnyKind => kind.convert?.to() ?? kind;

/** What is stored of these kinds; not all of it need be served. */
export const storedKinds = (kinds: readonly AnyKind[]): Set<AnyKind> => new Set(kinds.map(storedKind));
