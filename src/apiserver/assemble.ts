// Puts an API server together over a store: a cache and a registry for each stored resource, and the paths around them.
import { catalog } from "#api/catalog.ts";
import { metaStructs } from "#api/openapi.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { OpenApi } from "#schema/openapi/documents.ts";
import type { HealthCheck } from "#serving/health.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import { type AdmissionServer, admissionServer } from "./admission/server.ts";
import { type IdentityOptions, identityBy } from "./authentication/identity.ts";
import type { Authorizer } from "./authorization/authorizer.ts";
import { authorizationBy, type OwnAuthorizers } from "./authorization/own-authorizers.ts";
import { reconcileBootstrapPolicy } from "./authorization/rbac/bootstrap/reconcile.ts";
import { writeGuard } from "./authorization/write-guard.ts";
import type { SystemObject } from "./bootstrap/objects.ts";
import { type AdvertisedAddress, SystemObjects } from "./bootstrap/system-objects.ts";
import { Causality } from "./causality.ts";
import type { InFlightLimits } from "./in-flight.ts";
import { storeMeter } from "./measured-store.ts";
import type { NodeConnection } from "./node-connection.ts";
import { ownHealth, storeHealth } from "./own-health.ts";
import type { SchedulingOf } from "./paths/observation.ts";
import { pathHandler } from "./paths/paths.ts";
import type { Admission } from "./registry/admission.ts";
import type { Registry } from "./registry/registry.ts";
import { Resources } from "./resources.ts";
import { KindCaches } from "./served/caches.ts";
import { RuntimeKinds } from "./served/runtime-kinds.ts";
import { type ServedApi, ServedApis } from "./served/served-apis.ts";
import { StoredResources, type StrategyOf } from "./served/stored-resources.ts";
import type { ServedResource } from "./served-resource.ts";
import { type ApiServer, apiServer } from "./server.ts";
import { declareStorageMetrics } from "./storage-metrics.ts";
import { StoreFollower } from "./store-follower.ts";
import type { Protection } from "./stored.ts";
import { strategyOf } from "./strategies/list.ts";
import type { ServiceNetwork } from "./strategies/service/ranges.ts";
import { virtualResources } from "./virtual/list.ts";

export interface AssemblyOptions extends Omit<IdentityOptions, "cacheOf"> {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Who decides what may be done, in the order in which they are asked; `own` are those that look at what is stored. */
  readonly authorizers: (own: OwnAuthorizers) => readonly Authorizer[];
  /** Whether the roles and bindings that every cluster has are made and kept up to date. */
  readonly bootstrapPolicy: boolean;
  /** What is asked before each write, or the chain that is, made with a view of the very server it is part of. */
  readonly admission: Admission | ((server: AdmissionServer) => Admission);
  /** Keeps stored objects from being changed; nothing does by default. */
  readonly protect?: Protection;
  /** The way to kubelets and pods. */
  readonly nodes: NodeConnection;
  /** Where services get their addresses and node ports from. */
  readonly network: ServiceNetwork;
  /** Other parts of the control plane whose health is shown; the store's is always. */
  readonly components: readonly HealthCheck[];
  /** How long events are kept; defaults to an hour. */
  readonly eventSeconds?: number;
  /** What a scheduler in the same process says of pods that wait for a node. */
  readonly schedulingOf?: SchedulingOf;
  /** How many requests are served at once; 400 that read and 200 that write by default. */
  readonly inFlight?: InFlightLimits;
  /** Reads large YAML; without it, that is refused. */
  readonly readYaml?: YamlReader;
  /** Aborts when the server is told to stop: from then on it is not ready. */
  readonly stopping?: AbortSignal;
  /** What `/version` says. */
  readonly version: { readonly gitVersion: string } & Readonly<Record<string, string>>;
  /** The flags of the command that runs the server, which `/flagz` shows; nothing does by default. */
  readonly flags?: Readonly<Record<string, string>>;
  /** What `/metrics` shows: what this server counts is added. Defaults to one of its own. */
  readonly metrics?: MetricRegistry;
}

export interface Assembly extends ApiServer, Component {
  /** Resolves when every cache has been filled. */
  ready(signal: AbortSignal): Promise<void>;
  /** What is served now. */
  readonly apis: ServedApis;
  /** A source of kinds that come and go while the server runs; its name tells it from other sources. */
  runtimeKinds(name: string, strategies: StrategyOf): RuntimeKinds;
  /** The objects that every cluster has, as a server makes them that can be reached there. */
  system(advertised: AdvertisedAddress, besides?: readonly SystemObject[]): SystemObjects;
}

export function assembleApiServer(options: AssemblyOptions): Assembly {
  const { store, clock, random, log, version, metrics = new MetricRegistry() } = options;
  const startedAt = clock.now();
  const follower = new StoreFollower({ store, clock, log });
  const caches = new KindCaches({ follower, protect: options.protect });
  const kinds = catalog.filter(({ stored }) => stored !== false);
  for (const kind of kinds) if (!kind.convert) caches.add(kind, strategyOf(kind).keepsObjects);

  const identity = identityBy({ ...options, cacheOf: caches.cacheOf });
  const { authorize, policy, rulesFor } = authorizationBy(options.authorizers, caches.cacheOf);
  const registries = new Map<AnyKind, Registry>();
  const admission =
    typeof options.admission === "function"
      ? options.admission(admissionServer({ metrics, clock, random, authorize, registries }))
      : options.admission;

  const apis = new ServedApis();
  const find = (kind: AnyKind): ServedResource => apis.stored(kind);
  const causality = new Causality();
  const resources = new StoredResources({
    ...options,
    caches,
    registries,
    measured: storeMeter(metrics, clock),
    follower,
    admission,
    guard: writeGuard({ policy, authorize }),
    causality,
    serviceAccounts: identity.serviceAccounts,
    find,
  });
  const components = [...options.components, storeHealth(store)];
  const virtual = virtualResources({ ...options, ...identity, authorize, rulesFor, components, find });
  apis.replace("built-in", inOrderOf(catalog, [...resources.make(kinds), ...virtual]));

  declareStorageMetrics(metrics, store, registries);
  declareBuild(metrics, version);
  const state = { isPolicyReady: false, advertised: unknownAddress };
  const server = apiServer({
    ...options,
    metrics,
    identify: identity.identify,
    authorize,
    resources: new Resources(apis),
    connections: { clock, random, admission, connection: options.nodes },
    paths: pathHandler({
      apis,
      openApi: openApiOf(apis, version.gitVersion),
      healthChecks: ownHealth({ ...options, follower, isPolicyReady: () => state.isPolicyReady }),
      version,
      causality,
      metrics,
      externalAddress: () => hostAndPort(state.advertised),
      pages: { clock, startedAt, version, ...(options.flags && { flags: options.flags }) },
      ...(options.serviceAccounts && { issuer: options.serviceAccounts }),
      ...(options.schedulingOf && { schedulingOf: options.schedulingOf }),
    }),
  });
  return {
    ...server,
    name: "apiserver",
    apis,
    runtimeKinds: (name, strategies) => new RuntimeKinds({ name, apis, caches, resources, strategyOf: strategies }),
    run: (signal) => follower.run(signal),
    system(advertised, besides = []) {
      state.advertised = advertised;
      const { request } = server;
      return new SystemObjects({ ...options, advertised, besides, request, find, cacheOf: caches.cacheOf });
    },
    async ready(signal) {
      await follower.seen(0, signal);
      const { request } = server;
      const stored = (object: DraftObject) => storedObject(apis, object);
      if (options.bootstrapPolicy) await reconcileBootstrapPolicy({ request, stored, signal });
      state.isPolicyReady = true;
    },
  };
}

/** Discovery lists what is served in the order of the catalog. */
function inOrderOf(kinds: readonly AnyKind[], apis: readonly ServedApi[]): readonly ServedApi[] {
  const byKind = new Map(apis.map((api) => [api.kind, api]));
  return kinds.flatMap((kind) => byKind.get(kind) ?? []);
}

/** The documents follow what is served. */
function openApiOf(apis: ServedApis, gitVersion: string): OpenApi {
  const openApi = new OpenApi({ meta: metaStructs, title: { title: "Kubernetes", version: gitVersion } });
  openApi.serve(apis.kinds);
  apis.subscribe(() => openApi.serve(apis.kinds));
  return openApi;
}

/** What is in the cache of an object that is served by its own kind. */
function storedObject(apis: ServedApis, { apiVersion, kind, metadata }: DraftObject): ApiObject | undefined {
  const served = apis.kinds.find((one) => one.apiVersion === apiVersion && one.kind === kind);
  if (!served) return undefined;
  const { registry } = apis.stored(served);
  return registry.options.cache.get(registry.keyOf(metadata.namespace, metadata.name ?? ""))?.object;
}

const unknownAddress: AdvertisedAddress = { address: undefined, port: 443 };

const hostAndPort = ({ address = "localhost", port }: AdvertisedAddress): string =>
  `${address.includes(":") ? `[${address}]` : address}:${port}`;

/** Which build this is, as a series that is always 1. */
function declareBuild(metrics: MetricRegistry, version: AssemblyOptions["version"]): void {
  const labels = {
    major: version.major,
    minor: version.minor,
    git_version: version.gitVersion,
    git_commit: version.gitCommit,
    git_tree_state: version.gitTreeState,
    build_date: version.buildDate,
    go_version: version.goVersion,
    compiler: version.compiler,
    platform: version.platform,
  };
  const build = metrics.gauge({
    name: "kubernetes_build_info",
    help: "Which build this is.",
    labels: Object.keys(labels),
    stability: "BETA",
  });
  build.of(...Object.values(labels).map((value) => value ?? "")).set(1);
}
