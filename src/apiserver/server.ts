// The path of a request. Each stage is one line in `handle`, in the order in which they happen:
//
//   identify   who is asking, or acting          authentication/
//   address    what is asked                     request-path.ts
//   authorize  may they                          authorization/
//   admit, validate, store                       registry/      or connect/, for exec, logs and proxies
//   respond    in the form they want             respond.ts
//
// Parts of the same process enter at `request`, with objects instead of bytes, and meet the same stages.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { DecodeError, decodeUtf8, parseJson } from "#schema/json.ts";
import { structOf } from "#schema/struct.ts";
import type { ApiRequest, ApiResponse, PatchType, RequestBody, RequestVerb, User } from "#wire/api-request.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "#wire/http.ts";
import { jsonCodec } from "#wire/json.ts";
import { bodyType } from "#wire/negotiate.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { badRequest, internalError, methodNotAllowed, unknownPath, unsupportedMediaType } from "#wire/status.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { yamlCodec } from "#wire/yaml.ts";
import { actingUser, withoutCredentials } from "./authentication/impersonation.ts";
import { type Authorize, permit, type Question, questionAbout, questionOf } from "./authorization/authorizer.ts";
import { RequestTrace, traceIdOf } from "./causality.ts";
import {
  type ConnectOptions,
  type Connector,
  type ConnectRequest,
  connect,
  connectorOf,
  connectVerb,
} from "./connect/connect.ts";
import type { PathHandler } from "./paths.ts";
import { type RequestMeasure, RequestMetrics } from "./request-metrics.ts";
import { parseResourcePath, type ResourcePath, verbOf } from "./request-path.ts";
import type { Resources } from "./resources.ts";
import { prepare, respond, respondError, uncached, type Wanted, wantedBy, wantedOfRefusal } from "./respond.ts";

export interface ApiServerOptions {
  readonly identify: (request: HttpRequest) => Promise<User> | User;
  readonly authorize: Authorize;
  readonly resources: Resources;
  readonly paths: PathHandler;
  readonly metrics: MetricRegistry;
  /** How to reach what runs in the cluster. */
  readonly connections: ConnectOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface ApiServer {
  readonly handle: HttpHandler;
  request(request: ApiRequest): Promise<ApiResponse>;
}

export function apiServer(options: ApiServerOptions): ApiServer {
  const { identify, authorize, resources, paths, connections, clock, random, log } = options;
  const metrics = new RequestMetrics({
    registry: options.metrics,
    clock,
    kindAt: (address) => resources.kindAt(address),
  });

  const request = async (asked: ApiRequest): Promise<ApiResponse> => {
    await permit(authorize, questionOf(asked));
    asked.trace?.mark("authorize");
    const told = new Warnings();
    return told.in(await resources.handle({ ...asked, warn: told.warn }));
  };

  /** Reads leave no record, so they are only followed for clients that ask for it. */
  const traceOf = ({ method, headers: { traceparent } }: HttpRequest): RequestTrace | undefined => {
    if (traceparent === undefined && (method === "GET" || method === "HEAD")) return undefined;
    return new RequestTrace(traceIdOf(traceparent) ?? newId(random), clock);
  };

  const handle: HttpHandler = async (sent) => {
    const measure = metrics.begin(sent);
    const http = withoutCredentials(sent);
    let wanted: Wanted | undefined;
    const trace = traceOf(http);
    try {
      const user = await identify(sent);
      trace?.mark("identify");
      const acting = (question: Question) => (sent === http ? question.user : actingUser(sent, question, authorize));
      const address = parseResourcePath(http.path);
      if (!address) return measure.answered(await servePath(http, user, acting, measure));
      measure.address = address;
      const connector = connectorOf(address);
      if (connector) {
        measure.verb = "connect";
        return measure.answered(await serveConnection(connector, { http, user, address }, acting));
      }
      const verb = verbOf(http.method, address, http.query);
      if (!verb) throw methodNotAllowed();
      measure.verb = verb;
      wanted = wantedBy(http, verb === "watch");
      const question = questionAbout(address, verb, user, http.query);
      const actor = await acting(question);
      await permit(authorize, actor === user ? question : { ...question, user: actor });
      trace?.mark("authorize");
      const body = methodsWithBody.has(http.method) ? await http.body() : undefined;
      trace?.mark("read");
      const told = new Warnings();
      const asked = apiRequest(http, actor, address, verb, body, trace, told.warn);
      const response = told.in(await resources.handle(asked));
      if (response.type === "list") await prepare(response.page, wanted);
      const answer = respond(response, wanted, clock);
      return measure.answered(
        trace ? traced(answer, trace.id, http.headers.traceparent ? newId(random) : trace.id) : answer,
      );
    } catch (error) {
      if (http.signal.aborted) {
        measure.leave();
        throw error;
      }
      return measure.answered(respondError(asApiError(error, http), wanted ?? wantedOfRefusal(http)));
    }
  };

  type Acting = (question: Question) => Promise<User> | User;

  const serveConnection = async (
    connector: Connector,
    asked: ConnectRequest,
    acting: Acting,
  ): Promise<HttpResponse> => {
    const { address, http } = asked;
    const verb = connectVerb(http.method);
    const question = { ...address, type: "resource" } as const;
    const user = await acting({ ...question, user: asked.user, verb });
    await permit(authorize, { ...question, user, verb });
    if (connector.needsCreate && verb !== "create") await permit(authorize, { ...question, user, verb: "create" });
    return connect(connector, { ...asked, user }, (resource) => resources.find("", "v1", resource), connections);
  };

  const servePath = async (
    http: HttpRequest,
    user: User,
    acting: Acting,
    measure: RequestMeasure,
  ): Promise<HttpResponse> => {
    const question: Question = { type: "path", user, verb: http.method.toLowerCase(), path: http.path };
    await permit(authorize, { ...question, user: await acting(question) });
    if (http.method !== "GET" && http.method !== "HEAD") throw methodNotAllowed();
    const response = await paths(http);
    if (response) {
      if (countedPaths.has(http.path)) measure.path = http.path;
      return response;
    }
    if (http.path.startsWith("/api")) throw unknownPath();
    return {
      code: 404,
      headers: { "content-type": "text/plain; charset=utf-8", ...uncached },
      body: "404 page not found\n",
    };
  };

  /** Anything but a refusal is a bug of ours: the client learns that there was one, the log learns which. */
  const asApiError = (error: unknown, { method, path }: HttpRequest): ApiError => {
    if (error instanceof ApiError) return error;
    if (error instanceof DecodeError) return badRequest(error.message);
    log.error("request failed", { method, path, error });
    return internalError(error instanceof Error ? error.message : String(error));
  };

  return { handle, request };
}

/** What the server tells besides the answer, each text once. */
class Warnings {
  #told: Set<string> | undefined;

  readonly warn = (text: string): void => {
    this.#told ??= new Set();
    this.#told.add(text);
  };

  in(response: ApiResponse): ApiResponse {
    return this.#told ? { ...response, warnings: [...(response.warnings ?? []), ...this.#told] } : response;
  }
}

/** By others, which are too many to count by, nothing is counted. */
const countedPaths: ReadonlySet<string> = new Set(
  "/healthz /livez /readyz /metrics /metrics/slis /version /api /apis /openapi/v2 /openapi/v3".split(" "),
);

const methodsWithBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

function apiRequest(
  { method, query, headers, signal }: HttpRequest,
  user: User,
  { group, version, resource, namespace, name, subresource }: ResourcePath,
  verb: RequestVerb,
  body: Uint8Array | undefined,
  trace: RequestTrace | undefined,
  warn: (text: string) => void,
): ApiRequest {
  return {
    group,
    version,
    resource,
    namespace,
    name,
    subresource,
    verb,
    user,
    query,
    signal,
    userAgent: headers["user-agent"] ?? "",
    body: body && requestBody(body, headers["content-type"] ?? "", method),
    because: headers["knarr-because"],
    steps: headers["knarr-steps"],
    trace,
    warn,
  };
}

/** 32 digits. Chance as it is drawn for uuids comes by the hundred, and costs a fifth of drawing it for this alone. */
const newId = (random: Random): string => random.uuid().replaceAll("-", "");

/** Tells the client the trace its request belongs to, as W3C has it. Where that is ours alone, it names our part in it as well. */
const traced = (response: HttpResponse, id: string, part: string): HttpResponse => ({
  ...response,
  headers: { ...response.headers, traceparent: `00-${id}-${part.slice(16)}-01` },
});

const patchTypes: Readonly<Record<string, PatchType>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

function requestBody(bytes: Uint8Array, contentType: string, method: string): RequestBody | undefined {
  if (bytes.length === 0) return undefined;
  if (method === "PATCH") {
    const patchType = patchTypes[bodyType(contentType, Object.keys(patchTypes)) ?? ""];
    if (!patchType || contentType === "") throw unsupportedMediaType(Object.keys(patchTypes));
    const codec = patchType === "apply" ? yamlCodec : jsonCodec;
    const text = () => decodeUtf8(bytes);
    const value = () => (patchType === "apply" ? parseYaml(text()).value : parseJson(text()).value);
    return { bytes, patchType, value, decode: (subject) => codec.decode(subject, bytes) };
  }
  const codec = bodyCodecs.find(({ mediaType }) => mediaType === bodyType(contentType, bodyTypes));
  if (!codec) throw unsupportedMediaType(bodyTypes);
  return {
    bytes,
    value: () => parseJson(decodeUtf8(bytes)).value,
    decode(subject) {
      if (!codec.supports(structOf(subject))) throw unsupportedMediaType([jsonCodec.mediaType, yamlCodec.mediaType]);
      return codec.decode(subject, bytes);
    },
  };
}

const bodyCodecs = [jsonCodec, yamlCodec, protobufCodec];
const bodyTypes = bodyCodecs.map(({ mediaType }) => mediaType);
