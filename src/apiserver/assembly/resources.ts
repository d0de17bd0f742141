// What is served of the built-in kinds: those that are stored, and those that only answer.
import { catalog } from "#api/catalog.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { AnyKind } from "#schema/kind.ts";
import { writeGuard } from "../authorization/write-guard.ts";
import { Causality } from "../causality.ts";
import { storeMeter } from "../measured-store.ts";
import { storeHealth } from "../own-health.ts";
import type { ServedApi, ServedApis } from "../served/served-apis.ts";
import { StoredResources } from "../served/stored-resources.ts";
import { declareStorageMetrics } from "../storage-metrics.ts";
import { virtualResources } from "../virtual/list.ts";
import type { ServerGuards } from "./guards.ts";
import type { AssemblyOptions } from "./options.ts";
import type { ServerStorage } from "./storage.ts";

export interface ServerResources {
  /** Makes the resources of further kinds. */
  readonly stored: StoredResources;
  readonly causality: Causality;
}

export interface ResourcesOptions {
  readonly options: AssemblyOptions;
  readonly metrics: MetricRegistry;
  readonly apis: ServedApis;
  readonly storage: ServerStorage;
  readonly guards: ServerGuards;
}

/** Puts them into the set of what is served. */
export function assembleResources({ options, metrics, apis, storage, guards }: ResourcesOptions): ServerResources {
  const { store, clock } = options;
  const { identity, authorization, admission } = guards;
  const find = (kind: AnyKind) => apis.stored(kind);
  const causality = new Causality();
  const stored = new StoredResources({
    ...options,
    ...storage,
    measured: storeMeter(metrics, clock),
    admission,
    guard: writeGuard(authorization),
    causality,
    serviceAccounts: identity.serviceAccounts,
    find,
  });
  const components = [...options.components, storeHealth(store)];
  const virtual = virtualResources({ ...options, ...identity, ...authorization, components, find });
  apis.replace("built-in", inOrderOf(options.kinds ?? catalog, [...stored.make(storage.kinds), ...virtual]));
  declareStorageMetrics(metrics, store, storage.registries);
  return { stored, causality };
}

/** Discovery lists what is served in the order of the catalog. */
function inOrderOf(kinds: readonly AnyKind[], apis: readonly ServedApi[]): readonly ServedApi[] {
  const byKind = new Map(apis.map((api) => [api.kind, api]));
  return kinds.flatMap((kind) => byKind.get(kind) ?? []);
}
