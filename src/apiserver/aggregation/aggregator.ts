// Aggregation: APIs of other servers, served as if they were this one's. What there is of it is told by APIService objects; four loops keep up
// with them (availability, discovery, schemas, and the objects for what this server serves itself).

import { APIService } from "#api/apiregistration/v1/api-service.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { ForeignDocument } from "#schema/openapi/foreign.ts";
import { inLowerCase, type RequestHeaderNames, standardRequestHeaders } from "#serving/request-headers.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { ServerWrites } from "../bootstrap/server-writes.ts";
import type { CacheOf } from "../watch-cache.ts";
import type { ServiceEndpoints } from "../webhook/service-endpoints.ts";
import { AvailabilityChecks } from "./availability-checks.ts";
import { availabilityMetrics } from "./availability-metrics.ts";
import { ForeignRequests } from "./foreign-requests.ts";
import { Registration } from "./registration.ts";
import { RemoteApis } from "./remote-apis.ts";
import { RemoteCalls } from "./remote-calls.ts";
import { noRemoteConnection, type RemoteConnection } from "./remote-connection.ts";
import { RemoteDiscovery } from "./remote-discovery.ts";
import { RemoteOpenApi } from "./remote-openapi.ts";

/** How other servers are reached; without this nobody is. */
export interface AggregationSettings {
  readonly connection: RemoteConnection;
  /** Whether services are reached at their endpoints instead of their own addresses. */
  readonly routesToEndpoints: boolean;
  /** The headers that this server and those behind it believe of a proxy; the standard ones by default. */
  readonly believed?: RequestHeaderNames | undefined;
}

export interface AggregatorOptions {
  readonly settings: AggregationSettings | undefined;
  readonly cacheOf: CacheOf;
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
  /** The versions that are built in, as `v1.apps`. */
  readonly builtIn: () => ReadonlySet<string>;
  readonly published: (documents: readonly ForeignDocument[]) => void;
  readonly metrics: MetricRegistry;
  readonly clock: Clock;
  readonly endpoints: ServiceEndpoints;
  readonly log: Log;
}

const nobody: AggregationSettings = { connection: noRemoteConnection, routesToEndpoints: true };

export class Aggregator implements Component {
  readonly name = "aggregation";
  readonly apis: RemoteApis;
  readonly requests: ForeignRequests;
  readonly discovery: RemoteDiscovery;
  readonly #loops: readonly Component[];

  constructor(options: AggregatorOptions) {
    const { settings = nobody, cacheOf, clock, log, endpoints, metrics, request, builtIn, published } = options;
    const { connection, routesToEndpoints, believed = standardRequestHeaders } = settings;
    const writes = new ServerWrites(request);
    const apis = new RemoteApis(cacheOf(APIService));
    const calls = new RemoteCalls({
      connection,
      routesToEndpoints,
      endpoints,
      believed: inLowerCase(believed),
      clock,
    });
    const common = { apis, calls, clock, log };
    this.apis = apis;
    this.requests = new ForeignRequests(apis, calls);
    this.discovery = new RemoteDiscovery(common);
    const availability = new AvailabilityChecks({ ...common, cacheOf, writes, found: availabilityMetrics(metrics) });
    const openApi = new RemoteOpenApi({ ...common, published });
    const registration = new Registration({ cacheOf, writes, builtIn, clock, log });
    this.#loops = [
      { name: "availability of aggregated APIs", run: (signal) => availability.run(signal) },
      { name: "discovery of aggregated APIs", run: (signal) => this.discovery.run(signal) },
      { name: "schemas of aggregated APIs", run: (signal) => openApi.run(signal) },
      { name: "registration of local APIs", run: (signal) => registration.run(signal) },
    ];
  }

  /** Once the caches are filled. */
  run(signal: AbortSignal): Promise<void> {
    return supervise(this.#loops, signal);
  }
}
