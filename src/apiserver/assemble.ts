// Puts an API server together over a store: a cache and a registry for each stored resource, and the paths around them.
import { Scale } from "#api/autoscaling/v1/scale.ts";
import { catalog } from "#api/catalog.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { groupPriorities } from "#api/group-priorities.ts";
import { metaStructs } from "#api/openapi.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { OpenApi } from "#schema/openapi/documents.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import { type AdmissionServer, admissionServer } from "./admission/server.ts";
import { type Authenticator, anyToken, identifyBy, type TokenAuthenticator } from "./authentication/authenticator.ts";
import { legacyTokens } from "./authentication/legacy-tokens.ts";
import { type ServiceAccountTokenSettings, ServiceAccountTokens } from "./authentication/service-account-tokens.ts";
import type { Authorizer } from "./authorization/authorizer.ts";
import { authorizationBy, type OwnAuthorizers } from "./authorization/own-authorizers.ts";
import { reconcileBootstrapPolicy } from "./authorization/rbac/bootstrap/reconcile.ts";
import { writeGuard } from "./authorization/write-guard.ts";
import type { Wanted } from "./bootstrap/objects.ts";
import { type Advertised, SystemObjects } from "./bootstrap/system-objects.ts";
import { Causality } from "./causality.ts";
import type { HealthCheck } from "./health.ts";
import type { InFlightLimits } from "./in-flight.ts";
import { storeMeter } from "./measured-store.ts";
import type { NodeConnection } from "./node-connection.ts";
import { ownHealth, storeHealth } from "./own-health.ts";
import { pathHandler, type SchedulingOf } from "./paths.ts";
import type { Admission } from "./registry/admission.ts";
import { keyPrefix, Registry } from "./registry/registry.ts";
import { StoreClaims } from "./registry/store-claims.ts";
import { Resources } from "./resources.ts";
import type { ServedResource } from "./served-resource.ts";
import { type ApiServer, apiServer } from "./server.ts";
import { declareStorageMetrics } from "./storage-metrics.ts";
import { StoreFollower } from "./store-follower.ts";
import { type Protection, StoredForm } from "./stored.ts";
import { strategyOf } from "./strategies/list.ts";
import type { ServiceNetwork } from "./strategies/service/ranges.ts";
import { subresourceHandlers } from "./subresources/list.ts";
import { tokenRequest } from "./subresources/token-request.ts";
import { virtualResources } from "./virtual/list.ts";
import type { WatchCache } from "./watch-cache.ts";

export interface AssemblyOptions {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Who knows clients by what they show besides tokens. */
  readonly authenticators: readonly Authenticator[];
  /** Who knows tokens, besides the service accounts' own. */
  readonly tokens: readonly TokenAuthenticator[];
  /** Whether those are served who show nothing; they are unless told. */
  readonly servesAnonymous?: boolean;
  /** How tokens of service accounts are made and checked; without this there are none. */
  readonly serviceAccounts?: ServiceAccountTokenSettings;
  /** Names of the server, for which a token must be good that is shown to it. */
  readonly audiences: readonly string[];
  /** Who decides what may be done, in the order in which they are asked; `own` are those that look at what is stored. */
  readonly authorizers: (own: OwnAuthorizers) => readonly Authorizer[];
  /** Whether the roles and bindings that every cluster has are made and kept up to date. */
  readonly bootstrapPolicy: boolean;
  /** What is asked before each write, or the chain that is, made with a view of the very server it is part of. */
  readonly admission: Admission | ((server: AdmissionServer) => Admission);
  /** Keeps stored objects from being changed; nothing does unless told. */
  readonly protect?: Protection;
  /** The way to kubelets and pods. */
  readonly nodes: NodeConnection;
  /** Where services get their addresses and node ports from. */
  readonly network: ServiceNetwork;
  /** Other parts of the control plane whose health is shown; the store's is always. */
  readonly components: readonly HealthCheck[];
  /** How long events are kept; an hour unless told. */
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
  /** What `/metrics` shows: what this server counts is added. One of its own unless told. */
  readonly metrics?: MetricRegistry;
}

export interface Assembly extends ApiServer, Component {
  /** Resolves when every cache has been filled. */
  ready(signal: AbortSignal): Promise<void>;
  /** The objects that every cluster has, as a server makes them that can be reached there. */
  system(advertised: Advertised, besides?: readonly Wanted[]): SystemObjects;
}

export function assembleApiServer(options: AssemblyOptions): Assembly {
  const { store, clock, random, log, version, components, metrics = new MetricRegistry() } = options;
  const follower = new StoreFollower({ store, clock, log });
  const causality = new Causality();
  const metered = storeMeter(metrics, clock);
  const kinds = catalog.filter(({ stored }) => stored !== false);
  const registries = new Map<AnyKind, Registry>();
  const admission =
    typeof options.admission === "function"
      ? options.admission(
          admissionServer({
            metrics,
            clock,
            random,
            authorize: (question) => authorize(question),
            registries: () => registries,
          }),
        )
      : options.admission;
  const serviceAccounts =
    options.serviceAccounts &&
    new ServiceAccountTokens({ ...options.serviceAccounts, audiences: options.audiences, clock, random, cacheOf });
  const tokenOwner = anyToken([
    ...options.tokens,
    ...(serviceAccounts
      ? [serviceAccounts.authenticate.bind(serviceAccounts), legacyTokens(serviceAccounts.options)]
      : []),
  ]);
  const authenticateToken = (token: string, audiences: readonly string[] = []) =>
    tokenOwner(token, audiences.length > 0 ? audiences : options.audiences);
  for (const kind of kinds) if (!kind.convert) registries.set(kind, registryOf(kind, options));
  const served = kinds.map((kind): ServedResource => {
    const registry = registries.get(kind.convert?.to() ?? kind);
    if (!registry) throw new Error(`${kind.apiVersion} ${kind.kind} is converted to a version that is not stored`);
    const versions = kinds.filter((other) => (other.convert?.to() ?? other) === registry.options.kind);
    return {
      kind,
      registry,
      versions,
      subresources: { ...subresourceHandlers(kind, find), ...identitySubresources(kind) },
    };
  });
  declareStorageMetrics(metrics, store, registries);
  declareBuild(metrics, version);
  const { authorize, policy, rulesFor } = authorizationBy(options.authorizers, cacheOf);
  let isPolicyReady = false;
  let external: Advertised = { address: undefined, port: 443 };
  const guard = writeGuard({ policy, authorize });
  const virtual = virtualResources({
    ...options,
    authenticateToken,
    authorize,
    rulesFor,
    components: [...components, storeHealth(store)],
    find,
  });

  const openApi = new OpenApi({
    meta: metaStructs,
    title: { title: "Kubernetes", version: version.gitVersion },
  });
  openApi.serve(catalog);
  const server = apiServer({
    ...options,
    metrics,
    identify: identifyBy({ ...options, authenticateToken }),
    authorize,
    resources: new Resources(served, virtual),
    connections: { clock, random: options.random, admission, connection: options.nodes },
    paths: pathHandler({
      catalog: { kinds: catalog, priorities: groupPriorities, Scale },
      openApi,
      healthChecks: ownHealth({ ...options, follower, isPolicyReady: () => isPolicyReady }),
      version,
      causality,
      metrics,
      externalAddress: () => hostAndPort(external),
      ...(options.serviceAccounts && { issuer: options.serviceAccounts }),
      ...(options.schedulingOf && { schedulingOf: options.schedulingOf }),
    }),
  });
  return {
    ...server,
    name: "apiserver",
    run: (signal) => follower.run(signal),
    system(advertised, besides = []) {
      external = advertised;
      return new SystemObjects({ ...options, advertised, besides, request: server.request, find, cacheOf });
    },
    async ready(signal) {
      await follower.seen(0, signal);
      if (options.bootstrapPolicy) await reconcileBootstrapPolicy({ request: server.request, stored, signal });
      isPolicyReady = true;
    },
  };

  function stored({ apiVersion, kind, metadata }: DraftObject): ApiObject | undefined {
    const found = served.find((one) => one.kind.apiVersion === apiVersion && one.kind.kind === kind)?.registry;
    return found?.options.cache.get(found.keyOf(metadata.namespace, metadata.name ?? ""))?.object;
  }

  function find(kind: AnyKind): ServedResource {
    const found = served.find((one) => one.kind === kind);
    if (!found) throw new Error(`${kind.apiVersion} ${kind.kind} is not served`);
    return found;
  }

  function identitySubresources(kind: AnyKind): ServedResource["subresources"] {
    return kind === ServiceAccount && serviceAccounts ? { token: tokenRequest(serviceAccounts, find) } : {};
  }

  function cacheOf(kind: AnyKind): WatchCache {
    const registry = registries.get(kind);
    if (!registry) throw new Error(`${kind.apiVersion} ${kind.kind} is not stored`);
    return registry.options.cache;
  }

  function registryOf(kind: AnyKind, { network, protect, eventSeconds }: AssemblyOptions): Registry {
    const form = new StoredForm(kind, protect);
    const usual = strategyOf(kind);
    const cache = follower.add(keyPrefix(kind), form, usual.keepsObjects);
    const strategy =
      usual.ttlSeconds === undefined ? usual : { ...usual, ttlSeconds: eventSeconds ?? usual.ttlSeconds };
    const reserver = strategy.reserver?.({ cache, follower, random, network, cacheOf });
    // An engine that knows its newest revision by itself is nobody else's.
    const claims = reserver && !store.newest ? new StoreClaims({ store, follower, of: kind.plural }) : undefined;
    return new Registry({
      kind,
      strategy,
      reserver,
      claims,
      store: metered(store, kind),
      cache,
      follower,
      form,
      admission,
      causality,
      guard: (...write) => guard(...write),
      clock,
      random,
    });
  }
}

const hostAndPort = ({ address = "localhost", port }: Advertised): string =>
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
