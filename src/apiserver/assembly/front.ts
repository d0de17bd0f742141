// The server itself: what a request passes, and the paths around the resources.
import { metaStructs } from "#api/openapi.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import { OpenApi } from "#schema/openapi/documents.ts";
import { Aggregator } from "../aggregation/aggregator.ts";
import { localApiServices } from "../bootstrap/api-services.ts";
import type { AdvertisedAddress } from "../bootstrap/system-objects.ts";
import { type ServerFairness, serverFairness } from "../fairness/server-fairness.ts";
import { ownHealth } from "../own-health.ts";
import { pathHandler } from "../paths/paths.ts";
import { Resources } from "../resources.ts";
import type { ServedApis } from "../served/served-apis.ts";
import { apiServer, type StoppableApiServer } from "../server.ts";
import type { ServerGuards } from "./guards.ts";
import type { AssemblyOptions } from "./options.ts";
import type { OwnRequests } from "./own-requests.ts";
import type { ServerResources } from "./resources.ts";
import type { ServerStorage } from "./storage.ts";

export interface ServerFront {
  readonly server: StoppableApiServer;
  readonly aggregator: Aggregator;
  /** Absent where requests are only counted. */
  readonly fair: ServerFairness | undefined;
}

/** What a server learns of itself after it was made. */
export interface ServerState {
  /** Whether the roles that every cluster has are there. */
  isPolicyReady: boolean;
  advertised: AdvertisedAddress;
}

export interface FrontParts {
  readonly options: AssemblyOptions;
  readonly metrics: MetricRegistry;
  readonly own: OwnRequests;
  readonly apis: ServedApis;
  readonly storage: ServerStorage;
  readonly guards: ServerGuards;
  readonly resources: ServerResources;
  readonly state: ServerState;
}

export function assembleFront(parts: FrontParts): ServerFront {
  const { options, metrics, own, apis, storage, guards } = parts;
  const { clock, random, log, minWatchSeconds = 1800 } = options;
  const { cacheOf } = storage.caches;
  const openApi = openApiOf(apis, options.version.gitVersion);
  const aggregator = new Aggregator({
    clock,
    log,
    metrics,
    endpoints: guards.endpoints,
    settings: options.aggregation,
    cacheOf,
    request: own.request,
    builtIn: () => new Set(localApiServices(apis).map(({ object }) => object.metadata.name ?? "")),
    published: (documents) => openApi.publishForeign(documents),
  });
  const resources = new Resources(apis);
  const isFair = options.isFair !== false;
  const fair = isFair ? serverFairness({ ...options, metrics, resources, cacheOf, request: own.request }) : undefined;
  const server = apiServer({
    ...options,
    metrics,
    ...(fair && { fairness: fair.fairness }),
    watchSeconds: () => Math.floor(minWatchSeconds * (1 + random.next())),
    foreign: aggregator.requests,
    identify: guards.identity.identify,
    authorize: guards.authorization.authorize,
    resources,
    connections: { clock, random, admission: guards.admission, connection: options.nodes },
    paths: pathHandler({ ...pathsOf(parts), aggregator, openApi, flowControl: fair?.fairness.control }),
  });
  return { server, aggregator, fair };
}

/** What the paths beside the resources show. */
function pathsOf({ options, metrics, apis, storage, resources, state }: FrontParts) {
  const { version, clock, flags, healthChecks = [], serviceAccounts, schedulingOf } = options;
  const own = ownHealth({ ...options, follower: storage.follower, isPolicyReady: () => state.isPolicyReady });
  return {
    apis,
    healthChecks: [...own, ...healthChecks],
    version,
    causality: resources.causality,
    metrics,
    externalAddress: () => hostAndPort(state.advertised),
    pages: { clock, startedAt: clock.now(), version, ...(flags && { flags }) },
    ...(serviceAccounts && { issuer: serviceAccounts }),
    ...(schedulingOf && { schedulingOf }),
  };
}

/** The documents follow what is served. */
function openApiOf(apis: ServedApis, gitVersion: string): OpenApi {
  const openApi = new OpenApi({ meta: metaStructs, title: { title: "Kubernetes", version: gitVersion } });
  openApi.serve(apis.kinds);
  apis.subscribe(() => openApi.serve(apis.kinds));
  return openApi;
}

const hostAndPort = ({ address = "localhost", port }: AdvertisedAddress): string =>
  `${address.includes(":") ? `[${address}]` : address}:${port}`;
