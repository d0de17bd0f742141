// Puts an API server together over a store. Each part is made of those before it: what is stored, who guards it, what is served, the front.
import { MetricRegistry } from "#base/metrics.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { celRules } from "#schema/structural/cel-rules.ts";
import { declareBuild } from "./assembly/build-info.ts";
import { assembleFront, type ServerState } from "./assembly/front.ts";
import { assembleGuards } from "./assembly/guards.ts";
import type { Assembly, AssemblyOptions } from "./assembly/options.ts";
import { OwnRequests } from "./assembly/own-requests.ts";
import { assembleResources } from "./assembly/resources.ts";
import { assembleStorage } from "./assembly/storage.ts";
import { reconcileBootstrapPolicy } from "./authorization/rbac/bootstrap/reconcile.ts";
import { SystemObjects } from "./bootstrap/system-objects.ts";
import { customResources } from "./crd/custom-resources.ts";
import { RuntimeKinds } from "./served/runtime-kinds.ts";
import { ServedApis } from "./served/served-apis.ts";
import type { StrategyOf } from "./served/stored-resources.ts";

export function assembleApiServer(options: AssemblyOptions): Assembly {
  const { metrics = new MetricRegistry() } = options;
  declareBuild(metrics, options.version);
  const state: ServerState = { isPolicyReady: false, advertised: { address: undefined, port: 443 } };
  const common = { options, metrics, own: new OwnRequests(), apis: new ServedApis() };
  const { apis, own } = common;
  const storage = assembleStorage(options);
  const { caches, follower } = storage;
  const guards = assembleGuards({ ...common, storage });
  const resources = assembleResources({ ...common, storage, guards });
  const { server, aggregator, fair } = assembleFront({ ...common, storage, guards, resources, state });
  own.connect(server.request);

  const runtimeKinds = (name: string, strategyOf: StrategyOf): RuntimeKinds =>
    new RuntimeKinds({ name, apis, caches, resources: resources.stored, strategyOf });
  const { webhooks } = guards;
  const { background = [] } = guards.admission;
  const { request } = own;
  const definitions = customResources({ ...options, rules: celRules, webhooks, caches, runtimeKinds, request });
  const followStore: Component = { name: "store-follower", run: (signal) => follower.run(signal) };
  return {
    ...server,
    name: "apiserver",
    apis,
    aggregator,
    runtimeKinds,
    run: (signal) =>
      supervise([followStore, definitions, ...(fair ? [fair.component] : []), ...background], signal).finally(() =>
        server.stop(),
      ),
    system(advertised, besides = []) {
      state.advertised = advertised;
      const find = apis.stored.bind(apis);
      return new SystemObjects({ ...options, advertised, besides, request, find, apis, cacheOf: caches.cacheOf });
    },
    async ready(signal) {
      await follower.seen(0, signal);
      const stored = (object: DraftObject) => storedObject(apis, object);
      if (options.bootstrapPolicy) await reconcileBootstrapPolicy({ request, stored, signal });
      await definitions.ready(signal);
      state.isPolicyReady = true;
    },
  };
}

/** What is in the cache of an object that is served by its own kind. */
function storedObject(apis: ServedApis, { apiVersion, kind, metadata }: DraftObject): ApiObject | undefined {
  const served = apis.kinds.find((one) => one.apiVersion === apiVersion && one.kind === kind);
  if (!served) return undefined;
  const { registry } = apis.stored(served);
  return registry.objects.inMemory(registry.keyOf(metadata.namespace, metadata.name ?? ""))?.object;
}
