// What is stored: the first part of a server, which all others read.
import { catalog } from "#api/catalog.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Registry } from "../registry/registry.ts";
import { KindCaches } from "../served/caches.ts";
import { StoreFollower } from "../store-follower.ts";
import { strategyOf } from "../strategies/list.ts";
import type { AssemblyOptions } from "./options.ts";

export interface ServerStorage {
  readonly follower: StoreFollower;
  readonly caches: KindCaches;
  /** The built-in kinds that are stored, whether they are served or not. */
  readonly kinds: readonly AnyKind[];
  /** Empty until the resources are made. */
  readonly registries: Map<AnyKind, Registry>;
}

export function assembleStorage(options: AssemblyOptions): ServerStorage {
  const follower = new StoreFollower(options);
  const caches = new KindCaches({ follower, protect: options.protect });
  const kinds = [...new Set([...catalog, ...(options.kinds ?? [])])].filter(({ stored }) => stored !== false);
  for (const kind of kinds) if (!kind.convert) caches.add(kind, strategyOf(kind).keepsObjects);
  return { follower, caches, kinds, registries: new Map() };
}
