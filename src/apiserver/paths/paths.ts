// What the server answers besides resources: a table of paths. Adding one is one line.
import { type MetricRegistry, metricsMediaType } from "#base/metrics.ts";
import type { Soon } from "#base/soon.ts";
import type { OpenApi } from "#schema/openapi/documents.ts";
import { checksOf, type HealthCheck, health } from "#serving/health.ts";
import { HealthMetrics } from "#serving/health-metrics.ts";
import { type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";
import type { Aggregator } from "../aggregation/aggregator.ts";
import type { Causality } from "../causality.ts";
import type { FlowControl } from "../fairness/flow-control.ts";
import type { ServedApis } from "../served/served-apis.ts";
import { flagsPage, type OwnPages, statusPage } from "./component-pages.ts";
import { DiscoveryDocuments } from "./discovery.ts";
import { fairnessPaths } from "./fairness-tables.ts";
import { configurationPath, type Issuer, issuerConfiguration, keySet, keySetPath } from "./issuer.ts";
import { indentedJson } from "./json.ts";
import { type SchedulingOf, schedulingAttempt, writesOfObject, writesOfRequest } from "./observation.ts";
import { documentIndex, namedDocument, wholeDocument } from "./openapi.ts";

export interface PathOptions {
  readonly apis: ServedApis;
  readonly aggregator: Aggregator;
  readonly openApi: OpenApi;
  readonly healthChecks: readonly HealthCheck[];
  readonly version: object;
  /** Who issues tokens of service accounts, and the keys they are checked with. */
  readonly issuer?: Issuer;
  readonly causality: Causality;
  /** What a scheduler in this process said of each node when it last tried to place a pod; without one the path does not exist. */
  readonly schedulingOf?: SchedulingOf;
  readonly metrics: MetricRegistry;
  /** Host and port where clients reach this server. */
  readonly externalAddress: () => string;
  /** What the server tells of itself. */
  readonly pages: OwnPages;
  /** What shares the server between its clients; without it there is nothing to show of that. */
  readonly flowControl?: FlowControl | undefined;
}

/** The answer for a path, or undefined if there is none. */
export type PathHandler = (request: HttpRequest) => Soon<HttpResponse | undefined>;

/** Gets what stands in the places of `*`, one segment each, and of a `**` at the end, which is one segment or more. */
type ServePath = (request: HttpRequest, ...parts: readonly string[]) => Soon<HttpResponse | undefined>;

interface Route {
  readonly segments: readonly string[];
  readonly serve: ServePath;
}

export function pathHandler(options: PathOptions): PathHandler {
  const routes = Map.groupBy(
    Object.entries(tableOf(options)).map(([path, serve]): Route => ({ segments: path.split("/").slice(1), serve })),
    ({ segments: [first = ""] }) => first,
  );
  return (request) => {
    const segments = segmentsOf(request.path);
    for (const { segments: pattern, serve } of routes.get(segments[0] ?? "") ?? []) {
      const parts = partsOf(pattern, segments);
      if (parts) return serve(request, ...parts);
    }
    return undefined;
  };
}

function tableOf(options: PathOptions): Readonly<Record<string, ServePath>> {
  const { apis, openApi, healthChecks, version, metrics, causality, issuer, schedulingOf, externalAddress } = options;
  const { pages, flowControl } = options;
  const { flags } = pages;
  const discovery = new DiscoveryDocuments(apis, options.aggregator, externalAddress);
  const slis = new HealthMetrics();
  const healthOf =
    (kind: "healthz" | "livez" | "readyz"): ServePath =>
    (request, check) =>
      request.path.endsWith("/") ? undefined : health(request, kind, check, healthChecks, slis);
  return {
    "/": () => indentedJson({ paths: rootPaths(options) }),
    "/version": () => indentedJson(version),
    "/healthz": healthOf("healthz"),
    "/healthz/**": healthOf("healthz"),
    "/livez": healthOf("livez"),
    "/livez/**": healthOf("livez"),
    "/readyz": healthOf("readyz"),
    "/readyz/**": healthOf("readyz"),
    "/statusz": (request) => exactly(request, "/statusz", () => statusPage(request, pages, rootPaths(options))),
    ...(flags && { "/flagz": (request) => exactly(request, "/flagz", () => flagsPage(request, flags)) }),
    "/metrics": () => metricsOf(metrics),
    ...(flowControl && fairnessPaths(flowControl, pages.clock)),
    "/metrics/slis": () => metricsOf(slis.registry),
    "/api": (request) => discovery.versions(request),
    "/api/*": (request, apiVersion = "") => discovery.resources(request, "", apiVersion),
    "/apis": (request) => discovery.groups(request),
    "/apis/*": (request, group = "") => discovery.group(request, group),
    "/apis/*/*": (request, group = "", apiVersion = "") => discovery.resources(request, group, apiVersion),
    "/openapi/v2": (request) => wholeDocument(request, openApi),
    "/openapi/v3": (request) => documentIndex(request, openApi),
    "/openapi/v3/**": (request, name = "") => namedDocument(request, { openApi, clock: pages.clock, name }),
    "/knarr/v1/trace": (request) => writesOfObject(request, causality),
    "/knarr/v1/trace/*": (request, traceId = "") => writesOfRequest(request, causality, traceId),
    ...(schedulingOf && { "/knarr/v1/scheduling": (request) => schedulingAttempt(request, schedulingOf) }),
    ...(issuer && {
      [configurationPath]: () => issuerConfiguration(issuer, externalAddress()),
      [keySetPath]: (request) => keySet(request, issuer),
    }),
  };
}

/** A slash at the end changes nothing, but two of them alone are not the root. */
const segmentsOf = (path: string): readonly string[] =>
  (path.length > 2 && path.endsWith("/") ? path.slice(0, -1) : path).split("/").slice(1);

function partsOf(pattern: readonly string[], segments: readonly string[]): readonly string[] | undefined {
  const takesRest = pattern.at(-1) === "**";
  if (takesRest ? segments.length < pattern.length : segments.length !== pattern.length) return undefined;
  const parts: string[] = [];
  for (const [i, expected] of pattern.entries()) {
    if (expected === "**") parts.push(segments.slice(i).join("/"));
    else if (expected === "*") parts.push(segments[i] ?? "");
    else if (expected !== segments[i]) return undefined;
  }
  return parts;
}

/** A few paths do not bear a slash at their end. */
const exactly = (request: HttpRequest, path: string, serve: () => HttpResponse): HttpResponse | undefined =>
  request.path === path ? serve() : undefined;

const metricsOf = async (registry: MetricRegistry): Promise<HttpResponse> => ({
  code: 200,
  headers: { "content-type": metricsMediaType, ...uncached },
  body: await registry.text(),
});

function rootPaths({ apis, aggregator, issuer, healthChecks, pages }: PathOptions): readonly string[] {
  const groups = [...apis.kinds, ...aggregator.apis.all].flatMap(({ group, version }) =>
    group === "" ? ["/api", `/api/${version}`] : ["/apis", "/apis/", `/apis/${group}`, `/apis/${group}/${version}`],
  );
  const checks = (["healthz", "livez", "readyz"] as const).flatMap((kind) =>
    checksOf(kind, healthChecks).map(({ name }) => `/${kind}/${name}`),
  );
  return [
    ...new Set([
      ...groups,
      ...(issuer ? [configurationPath, keySetPath] : []),
      ...(pages.flags ? ["/flagz"] : []),
      "/healthz",
      "/livez",
      "/metrics",
      "/metrics/slis",
      "/openapi/v2",
      "/openapi/v3",
      "/openapi/v3/",
      "/readyz",
      ...checks,
      "/statusz",
      "/version",
    ]),
  ].sort();
}
