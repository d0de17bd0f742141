// What the server answers besides resources: discovery, OpenAPI, health, metrics, version.
import { APIGroupDiscoveryList } from "#api/apidiscovery/v2/discovery.ts";
import { type MetricRegistry, metricsMediaType } from "#base/metrics.ts";
import { sha256 } from "#base/sha256.ts";
import type { Catalog } from "#schema/discovery.ts";
import { apiGroup, apiGroupList, apiResourceList, apiVersions, groupDiscoveryList } from "#schema/discovery.ts";
import { parseJson } from "#schema/json.ts";
import type { OpenApi, Served } from "#schema/openapi/documents.ts";
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { type Conversion, isProduced, negotiate, offers, yamlType } from "#wire/negotiate.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { badRequest, nothingProduced } from "#wire/status.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import type { Causality } from "./causality.ts";
import { flagsPage, type OwnPages, statusPage } from "./component-pages.ts";
import { checksOf, type HealthCheck, health } from "./health.ts";
import { HealthMetrics } from "./health-metrics.ts";
import { isForPerson, uncached, withHeaders } from "./respond.ts";

export interface PathOptions {
  readonly catalog: Catalog;
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
}

/** Undefined if the pod does not wait for a node. */
export type SchedulingOf = (pod: { readonly namespace: string; readonly name: string }) => object | undefined;

export interface Issuer {
  readonly issuers: readonly string[];
  readonly keys: { readonly keySet: { readonly keys: readonly { readonly alg?: string }[] } };
  /** Where others find the keys; on this server unless told. */
  readonly keySetUrl?: string | undefined;
}

/** The answer for a path, or undefined if there is none. */
export type PathHandler = (request: HttpRequest) => Promise<HttpResponse | undefined>;

export function pathHandler(options: PathOptions): PathHandler {
  const { catalog, openApi, healthChecks, version, metrics } = options;
  const slis = new HealthMetrics();
  return async (request) => {
    const path = request.path.length > 1 && request.path.endsWith("/") ? request.path.slice(0, -1) : request.path;
    const [, first, second, third, fourth] = path.split("/");
    switch (first) {
      case "":
      case undefined:
        return request.path === "/" ? indentedJson({ paths: rootPaths(options) }) : undefined;
      case "version":
        return second === undefined ? indentedJson(version) : undefined;
      case "healthz":
      case "livez":
      case "readyz":
        if (request.path.endsWith("/")) return undefined;
        return health(request, first, second && path.slice(`/${first}/`.length), healthChecks, slis);
      case "statusz":
        return request.path === "/statusz" ? statusPage(request, options.pages, rootPaths(options)) : undefined;
      case "flagz":
        return request.path === "/flagz" && options.pages.flags ? flagsPage(request, options.pages.flags) : undefined;
      case "metrics":
        if (second === undefined) return metricsOf(metrics);
        return path === "/metrics/slis" ? metricsOf(slis.registry) : undefined;
      case "api":
        if (second === undefined)
          return discovery(
            request,
            () => apiVersions(options.externalAddress()),
            () => groupDiscoveryList(catalog, "api"),
          );
        return third === undefined ? maybeJson(request, apiResourceList(catalog, "", second)) : undefined;
      case "apis":
        if (second === undefined)
          return discovery(
            request,
            () => apiGroupList(catalog),
            () => groupDiscoveryList(catalog, "apis"),
          );
        if (third === undefined) return maybeJson(request, apiGroup(catalog, second));
        return fourth === undefined ? maybeJson(request, apiResourceList(catalog, second, third)) : undefined;
      case "knarr":
        return second === "v1" ? observationPath(request, options, third, fourth) : undefined;
      case ".well-known":
        return path === configurationPath && options.issuer
          ? issuerConfiguration(options.issuer, options.externalAddress())
          : undefined;
      case "openid":
        return path === keySetPath && options.issuer ? keySet(request, options.issuer) : undefined;
      case "openapi":
        return openApiPath(request, openApi, path);
      default:
        return undefined;
    }
  };
}

const json = (text: string): HttpResponse => ({
  code: 200,
  headers: { "content-type": "application/json", ...uncached },
  body: text,
});
const plainJson = (request: HttpRequest, object: object): HttpResponse =>
  isForPerson(request) ? indentedJson(object) : json(`${JSON.stringify(object)}\n`);
/** As upstream writes what people read. */
const indentedJson = (object: object): HttpResponse => json(JSON.stringify(object, null, 2));
const maybeJson = (request: HttpRequest, object: object | undefined): HttpResponse | undefined =>
  object && plainJson(request, object);

/** What only this server tells: why things are as they are. */
function observationPath(
  request: HttpRequest,
  { causality, schedulingOf }: PathOptions,
  what: string | undefined,
  which: string | undefined,
): HttpResponse | undefined {
  if (what === "trace") return plainJson(request, { writes: tracePath(request, causality, which) });
  if (what !== "scheduling" || which !== undefined || !schedulingOf) return undefined;
  const namespace = request.query.get("namespace");
  const name = request.query.get("name");
  if (!namespace || !name) throw badRequest("say which pod: ?namespace=default&name=web");
  return plainJson(request, { attempt: schedulingOf({ namespace, name }) });
}

/** `/knarr/v1/trace/TRACE-ID`, or `/knarr/v1/trace?resource=deployments.apps&namespace=default&name=web`. */
function tracePath({ query }: HttpRequest, causality: Causality, traceId: string | undefined): readonly WriteRecord[] {
  if (traceId !== undefined) return causality.ofRequest(traceId);
  const resource = query.get("resource");
  const name = query.get("name");
  if (!resource || !name)
    throw badRequest(
      "say which object: ?resource=deployments.apps&namespace=default&name=web, or /knarr/v1/trace/TRACE-ID",
    );
  return causality.ofObject(resource, query.get("namespace") ?? "", name);
}

const metricsOf = async (registry: MetricRegistry): Promise<HttpResponse> => ({
  code: 200,
  headers: { "content-type": metricsMediaType, ...uncached },
  body: await registry.text(),
});

const configurationPath = "/.well-known/openid-configuration";
const keySetPath = "/openid/v1/jwks";
const forAnHour = { "cache-control": "public, max-age=3600" };

/**
 * How others learn to check our tokens: OpenID Connect Discovery, as far as tokens go that nobody logs in with. The answer is kept
 * by caches, so nothing of it may come from the request: whoever asks with a Host of their own would lead others to their keys.
 */
function issuerConfiguration({ issuers, keys, keySetUrl }: Issuer, external: string): HttpResponse | undefined {
  const [issuer = ""] = issuers;
  // The discovery of OpenID knows no other issuers than plain https addresses.
  if (!/^https:\/\/[^?#]+$/.test(issuer)) return undefined;
  const content = {
    issuer,
    jwks_uri: keySetUrl ?? `https://${external}${keySetPath}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.keySet.keys.flatMap(({ alg }) => alg ?? []))].sort(),
  };
  return { code: 200, headers: { "content-type": "application/json", ...forAnHour }, body: JSON.stringify(content) };
}

const keySetType = "application/jwk-set+json";

function keySet({ headers }: HttpRequest, { keys }: Issuer): HttpResponse {
  if (!isProduced(headers.accept ?? "", [{ mediaType: keySetType, streams: false }]))
    throw nothingProduced([keySetType]);
  return { code: 200, headers: { "content-type": keySetType, ...forAnHour }, body: JSON.stringify(keys.keySet) };
}

function discovery(request: HttpRequest, plain: () => object, whole: () => object): HttpResponse {
  const result = negotiate(request.headers.accept, { offers, isWatch: false, allows: isAggregated });
  if (!("accepted" in result) || !result.accepted.convert) return plainJson(request, plain());
  const { mediaType } = result.accepted;
  const document = JSON.stringify(whole());
  const content = mediaType === protobufCodec.mediaType ? aggregatedProtobuf(document) : document;
  const contentType = `${mediaType};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`;
  // What is served is the same for everybody, and the tag tells when it changes.
  return withHeaders(tagged(request, { content, etag: hash(document) }, contentType), { "cache-control": "public" });
}

const isAggregated = ({ kind, group, version }: Conversion, mediaType: string): boolean =>
  kind === "APIGroupDiscoveryList" && group === "apidiscovery.k8s.io" && version === "v2" && mediaType !== yamlType;

const aggregatedProtobuf = (document: string): Uint8Array =>
  protobufCodec.encode(
    { apiVersion: "apidiscovery.k8s.io/v2", kind: "APIGroupDiscoveryList", struct: APIGroupDiscoveryList },
    parseJson(document).value as object,
  );

/** A document that the client may already have. */
function tagged(
  request: HttpRequest,
  { content, etag }: Served<string | Uint8Array>,
  contentType: string,
): HttpResponse {
  const headers = { etag: `"${etag}"`, vary: "Accept", ...uncached };
  if (request.headers["if-none-match"]?.includes(`"${etag}"`)) return { code: 304, headers, body: "" };
  return { code: 200, headers: { ...headers, "content-type": contentType }, body: content };
}

const wholeProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

async function openApiPath(request: HttpRequest, openApi: OpenApi, path: string): Promise<HttpResponse | undefined> {
  if (path === "/openapi/v2") {
    const isProtobuf = request.headers.accept?.includes("application/com.github.proto-openapi.spec.v2");
    const response = isProtobuf
      ? tagged(request, await openApi.wholeDocumentProtobuf(), wholeProtobufType)
      : tagged(request, await openApi.wholeDocument(), "application/json");
    return withHeaders(response, { vary: "Accept-Encoding, Accept" });
  }
  if (path === "/openapi/v3") return tagged(request, await openApi.index(), "application/json");
  if (!path.startsWith("/openapi/v3/")) return undefined;
  const served = await openApi.document(path.slice("/openapi/v3/".length));
  if (!served) return { code: 404, headers: uncached, body: "" };
  const response = tagged(request, served, "application/json");
  const hash = request.query.get("hash");
  return hash === served.etag ? withHeaders(response, { "cache-control": "public, immutable" }) : response;
}

function rootPaths({ catalog, issuer, healthChecks, pages }: PathOptions): readonly string[] {
  const groups = catalog.kinds.flatMap(({ group, version }) =>
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

const hash = (text: string): string =>
  Array.from(sha256(text), (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join("");
