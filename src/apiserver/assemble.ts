// Puts an API server together over a store: a cache and a registry for each stored resource, and the paths around them.
import { catalog } from "#api/catalog.ts";
import { metaStructs } from "#api/openapi.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { OpenApi } from "#schema/openapi/documents.ts";
import { celRules } from "#schema/structural/cel-rules.ts";
import type { HealthCheck } from "#serving/health.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import { type AdmissionServer, admissionServer } from "./admission/server.ts";
import { type AggregationSettings, Aggregator } from "./aggregation/aggregator.ts";
import type { AuditOptions } from "./audit/trail.ts";
import { type IdentityOptions, identityBy } from "./authentication/identity.ts";
import { LegacyTokenUses } from "./authentication/legacy-token-uses.ts";
import { type AuthorizersOf, authorizationBy } from "./authorization/own-authorizers.ts";
import { reconcileBootstrapPolicy } from "./authorization/rbac/bootstrap/reconcile.ts";
import { writeGuard } from "./authorization/write-guard.ts";
import { localApiServices } from "./bootstrap/api-services.ts";
import type { SystemObject } from "./bootstrap/objects.ts";
import { type AdvertisedAddress, SystemObjects } from "./bootstrap/system-objects.ts";
import { Causality } from "./causality.ts";
import { customResources } from "./crd/custom-resources.ts";
import { serverFairness } from "./fairness/server-fairness.ts";
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
import { WebhookClient } from "./webhook/client.ts";
import { ServiceEndpoints } from "./webhook/service-endpoints.ts";
import { noWebhooks, type WebhookTransport } from "./webhook/transport.ts";

export interface AssemblyOptions extends Omit<IdentityOptions, "cacheOf" | "legacyTokenUsed"> {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Who decides what may be done, in the order in which they are asked; `own` are those that look at what is stored. */
  readonly authorizers: AuthorizersOf;
  /** The built-in kinds that are served; those that Kubernetes serves by default, unless it is told otherwise. */
  readonly kinds?: readonly AnyKind[];
  /** Whether new objects may wait for initializers, unseen; takes the admission plugin. */
  readonly initializes?: boolean;
  /** Whether the roles and bindings that every cluster has are made and kept up to date. */
  readonly bootstrapPolicy: boolean;
  /** What is asked before each write, or the chain that is, made with a view of the very server it is part of. */
  readonly admission: Admission | ((server: AdmissionServer) => Admission);
  /** Keeps stored objects from being changed; nothing does by default. */
  readonly protect?: Protection;
  /** The way to kubelets and pods. */
  readonly nodes: NodeConnection;
  /** The way to webhooks; without it none is reached. */
  readonly webhooks?: WebhookTransport;
  /** How the servers of aggregated APIs are reached; without it none is. */
  readonly aggregation?: AggregationSettings;
  /** Where services get their addresses and node ports from. */
  readonly network: ServiceNetwork;
  /** Other parts of the control plane whose health is shown; the store's is always. */
  readonly components: readonly HealthCheck[];
  /** What a server is asked for besides when it is asked how it is. */
  readonly healthChecks?: readonly HealthCheck[];
  /** How long events are kept; defaults to an hour. */
  readonly eventSeconds?: number;
  /** What a scheduler in the same process says of pods that wait for a node. */
  readonly schedulingOf?: SchedulingOf;
  /** How many requests are served at once; 400 that read and 200 that write by default. */
  readonly inFlight?: InFlightLimits;
  /** Whether requests wait for each other by priority and fairness, as they do by default, or are only counted. */
  readonly isFair?: boolean;
  /** How long a request may take that does not last; a minute by default. */
  readonly requestTimeoutMs?: number;
  /** How long a watch over HTTP lasts at least whose client does not say, in seconds; half an hour by default. */
  readonly minWatchSeconds?: number;
  /** What is recorded of requests, and where; nothing by default. */
  readonly audit?: AuditOptions;
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
  /** APIs of other servers; to be run once this one is ready. */
  readonly aggregator: Aggregator;
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
  const enabled = options.kinds ?? catalog;
  const kinds = [...new Set([...catalog, ...enabled])].filter(({ stored }) => stored !== false);
  for (const kind of kinds) if (!kind.convert) caches.add(kind, strategyOf(kind).keepsObjects);

  const uses = new LegacyTokenUses({ clock, log, request: (request) => server.request(request) });
  const identity = identityBy({
    ...options,
    cacheOf: caches.cacheOf,
    legacyTokenUsed: (secret) => uses.note(secret),
  });
  const { authorize, policy, rulesFor } = authorizationBy(options.authorizers, caches.cacheOf);
  const registries = new Map<AnyKind, Registry>();
  const apis = new ServedApis();
  const find = (kind: AnyKind): ServedResource => apis.stored(kind);
  const common = { metrics, clock, random, versionsOf: (kind: AnyKind) => apis.versionsOf(kind) };
  const endpoints = new ServiceEndpoints(caches.cacheOf, random);
  const webhooks = new WebhookClient({ transport: options.webhooks ?? noWebhooks, endpoints, clock });
  const admission =
    typeof options.admission === "function"
      ? options.admission(admissionServer({ ...common, authorize, registries, webhooks }))
      : options.admission;

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
  apis.replace("built-in", inOrderOf(enabled, [...resources.make(kinds), ...virtual]));

  declareStorageMetrics(metrics, store, registries);
  declareBuild(metrics, version);
  const state = { isPolicyReady: false, advertised: unknownAddress };
  const openApi = openApiOf(apis, version.gitVersion);
  const aggregator: Aggregator = new Aggregator({
    ...{ clock, log, metrics, endpoints, settings: options.aggregation, cacheOf: caches.cacheOf },
    request: (asked) => server.request(asked),
    builtIn: () => new Set(localApiServices(apis).map(({ object }) => object.metadata.name ?? "")),
    published: (documents) => openApi.publishForeign(documents),
  });
  const routed = new Resources(apis);
  const request = (asked: ApiRequest) => server.request(asked);
  const fair =
    options.isFair === false
      ? undefined
      : serverFairness({ ...options, metrics, resources: routed, cacheOf: caches.cacheOf, request });
  const { minWatchSeconds = 1800 } = options;
  const server = apiServer({
    ...options,
    metrics,
    ...(fair && { fairness: fair.fairness }),
    watchSeconds: () => Math.floor(minWatchSeconds * (1 + random.next())),
    foreign: aggregator.requests,
    identify: identity.identify,
    authorize,
    resources: routed,
    connections: { clock, random, admission, connection: options.nodes },
    paths: pathHandler({
      apis,
      aggregator,
      openApi,
      healthChecks: [
        ...ownHealth({ ...options, follower, isPolicyReady: () => state.isPolicyReady }),
        ...(options.healthChecks ?? []),
      ],
      version,
      causality,
      metrics,
      externalAddress: () => hostAndPort(state.advertised),
      pages: { clock, startedAt, version, ...(options.flags && { flags: options.flags }) },
      flowControl: fair?.fairness.control,
      ...(options.serviceAccounts && { issuer: options.serviceAccounts }),
      ...(options.schedulingOf && { schedulingOf: options.schedulingOf }),
    }),
  });
  const runtimeKinds = (name: string, strategies: StrategyOf): RuntimeKinds =>
    new RuntimeKinds({ name, apis, caches, resources, strategyOf: strategies });
  const definitions = customResources({
    ...options,
    rules: celRules,
    webhooks,
    caches,
    runtimeKinds,
    request: server.request,
  });
  return {
    ...server,
    name: "apiserver",
    apis,
    aggregator,
    runtimeKinds,
    run: (signal) =>
      supervise(
        [{ name: "store-follower", run: (stop) => follower.run(stop) }, definitions, ...(fair ? [fair.component] : [])],
        signal,
      ).finally(() => server.stop()),
    system(advertised, besides = []) {
      state.advertised = advertised;
      const { request } = server;
      return new SystemObjects({ ...options, advertised, besides, request, find, apis, cacheOf: caches.cacheOf });
    },
    async ready(signal) {
      await follower.seen(0, signal);
      const { request } = server;
      const stored = (object: DraftObject) => storedObject(apis, object);
      if (options.bootstrapPolicy) await reconcileBootstrapPolicy({ request, stored, signal });
      await definitions.ready(signal);
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
  return registry.objects.inMemory(registry.keyOf(metadata.namespace, metadata.name ?? ""))?.object;
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
