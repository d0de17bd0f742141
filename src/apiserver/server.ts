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
import { DurationError, parseDuration } from "#schema/duration.ts";
import { DecodeError } from "#schema/json.ts";
import type { ApiRequest, ApiResponse, RequestBody, RequestVerb, User } from "#wire/api-request.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "#wire/http.ts";
import { badRequest, forbidden, internalError, methodNotAllowed, unknownPath } from "#wire/status.ts";
import { isWebSocketRequest } from "#wire/streams/websocket.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import { actingUser, withoutCredentials } from "./authentication/impersonation.ts";
import { type Authorize, permit, type Question, questionAbout, questionOf } from "./authorization/authorizer.ts";
import { isPart, RequestTrace, traceIdOf } from "./causality.ts";
import { type ConnectOptions, type Connector, type ConnectRequest, connect, connectorOf } from "./connect/connect.ts";
import { InFlight, type InFlightLimits, laneOf, tooManyRequests, usualInFlight } from "./in-flight.ts";
import type { PathHandler } from "./paths.ts";
import { requestBody } from "./request-body.ts";
import { type RequestMeasure, RequestMetrics } from "./request-metrics.ts";
import { parseResourcePath, type ResourcePath, verbOf, verbOfMethod } from "./request-path.ts";
import type { Resources } from "./resources.ts";
import {
  nosniff,
  respond,
  respondError,
  respondList,
  uncached,
  type Wanted,
  wantedBy,
  wantedOfRefusal,
  watchMessages,
  withHeaders,
} from "./respond.ts";
import { WatchSocket } from "./watch-socket.ts";

export interface ApiServerOptions {
  readonly identify: (request: HttpRequest) => Promise<User> | User;
  readonly authorize: Authorize;
  readonly resources: Resources;
  readonly paths: PathHandler;
  readonly metrics: MetricRegistry;
  /** How to reach what runs in the cluster. */
  readonly connections: ConnectOptions;
  /** How many requests are served at once; 400 that read and 200 that write by default. */
  readonly inFlight?: InFlightLimits;
  /** Reads large YAML; without it, that is refused. */
  readonly readYaml?: YamlReader;
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

  const inFlight = new InFlight(options.inFlight ?? usualInFlight);

  const request = async (asked: ApiRequest): Promise<ApiResponse> => {
    await permit(authorize, questionOf(asked));
    asked.trace?.mark("authorize");
    const warnings = new Warnings();
    return warnings.in(await resources.handle({ ...asked, warn: warnings.warn }));
  };

  /** Reads leave no record, so they are only followed for clients that ask for it. */
  const traceOf = ({ method, headers: { traceparent } }: HttpRequest): RequestTrace | undefined => {
    if (traceparent === undefined && (method === "GET" || method === "HEAD")) return undefined;
    return new RequestTrace(traceIdOf(traceparent) ?? newId(random), clock);
  };

  /** Every answer names the request, by the name the client gave it or by one of its own, so that the two can be told of together. */
  const withAuditId = (answer: HttpResponse, sent: HttpRequest): HttpResponse => {
    if (answer.headers?.["audit-id"] !== undefined) return answer;
    return { ...answer, headers: { ...answer.headers, "audit-id": sent.headers["audit-id"] || random.uuid() } };
  };

  const handle: HttpHandler = async (sent) => {
    const measure = metrics.begin(sent);
    const answered = (answer: HttpResponse) => measure.answered(withAuditId(answer, sent));
    const http = withoutCredentials(sent);
    const warnings = new Warnings();
    let wanted: Wanted | undefined;
    let isAuthorizing = false;
    const trace = traceOf(http);
    try {
      const user = await identify(sent);
      trace?.mark("identify");
      const permitted = async (question: Question): Promise<User> => {
        isAuthorizing = true;
        const actor = sent === http ? user : await actingUser(sent, question, authorize);
        await permit(authorize, actor === user ? question : { ...question, user: actor });
        isAuthorizing = false;
        return actor;
      };
      const address = parseResourcePath(http.path);
      const connector = address && connectorOf(address);
      const verb = address && !connector ? verbOf(http.method, address, http.query) : undefined;
      const release = inFlight.enter(user, laneOf(http, connector !== undefined || verb === "watch"));
      if (!release) return answered(tooManyRequests);
      measure.release = release;
      if (!address) return answered(await servePath(http, user, permitted, measure));
      measure.address = address;
      if (connector) {
        measure.verb = "connect";
        return answered(await serveConnection(connector, { http, user, address }, permitted));
      }
      if (verb) measure.verb = verb;
      if (verb !== "watch") checkTimeout(http);
      const actor = await permitted(questionAbout(address, verb ?? verbOfMethod(http.method), user, http.query));
      if (!resources.hasGroup(address.group)) return answered(pageNotFound);
      resources.check(address, http.method === "HEAD" ? undefined : verb); // upstream serves no HEAD of resources
      if (!verb) throw methodNotAllowed();
      wanted = wantedBy(http, verb);
      trace?.mark("authorize");
      const body = methodsWithBody.has(http.method) ? await bodyOf(http, options.readYaml) : undefined;
      trace?.mark("read");
      const asked = apiRequest(http, actor, address, verb, body, trace, warnings.warn);
      const socket = verb === "watch" && isWebSocketRequest(http) ? new WatchSocket(http) : undefined;
      const response = warnings.in(await resources.handle(socket ? { ...asked, signal: socket.signal } : asked));
      if (socket && response.type === "watch")
        return answered(await socket.answer(watchMessages(response, wanted, clock)));
      const answer =
        response.type === "list" ? await respondList(response, wanted, clock) : await respond(response, wanted, clock);
      return answered(trace ? traced(answer, trace.id, http.headers.traceparent ? newId(random) : trace.id) : answer);
    } catch (error) {
      if (http.signal.aborted) {
        measure.leave();
        measure.release();
        throw error;
      }
      const refusal = respondError(asApiError(error, http), wanted ?? wantedOfRefusal(http), warnings.texts);
      return answered(isAuthorizing ? withHeaders(refusal, nosniff) : refusal);
    }
  };

  /** Who acts, once it is known that they may. Throws ApiError 400 or 403. */
  type Permitted = (question: Question) => Promise<User>;

  const serveConnection = async (
    connector: Connector,
    asked: ConnectRequest,
    permitted: Permitted,
  ): Promise<HttpResponse> => {
    const { address, http } = asked;
    const question = { ...address, type: "resource", verb: verbOfMethod(http.method) } as const;
    const user = await permitted({ ...question, user: asked.user });
    resources.check(address, "connect");
    if (question.verb !== "create" && connector.needsCreate?.(address)) {
      const { decision, reason = "" } = await authorize({ ...question, user, verb: "create" });
      if (decision !== "allow") throw forbidden(address, address.name ?? "", reason);
    }
    return connect(connector, { ...asked, user }, (resource) => resources.find("", "v1", resource), connections);
  };

  const servePath = async (
    http: HttpRequest,
    user: User,
    permitted: Permitted,
    measure: RequestMeasure,
  ): Promise<HttpResponse> => {
    await permitted({ type: "path", user, verb: http.method.toLowerCase(), path: http.path });
    if (http.method !== "GET" && http.method !== "HEAD" && !healthPath.test(http.path)) throw methodNotAllowed();
    checkTimeout(http);
    const response = await paths(http);
    if (response) {
      if (countedPaths.has(http.path)) measure.path = http.path;
      return response;
    }
    const [, api, group = ""] = http.path.split("/");
    if (api === "api" || (api === "apis" && resources.hasGroup(group))) throw unknownPath();
    return pageNotFound;
  };

  /** Anything but a refusal is a bug of ours: the client learns that there was one, the log learns which. */
  const asApiError = (error: unknown, { method, path }: HttpRequest): ApiError => {
    if (error instanceof ApiError) return error;
    if (error instanceof DecodeError) return badRequest(error.message);
    log.error("request failed", { method, path, error });
    return internalError("This request caused apiserver to panic. Look in the logs for details.");
  };

  return { handle, request };
}

/** Health may be asked with any method. */
const healthPath = /^\/(healthz|livez|readyz)(\/|$)/;

/** The answer where nothing is served at all. */
const pageNotFound: HttpResponse = {
  code: 404,
  headers: { "content-type": "text/plain; charset=utf-8", ...nosniff, ...uncached },
  body: "404 page not found\n",
};

/** How long a client is ready to wait. No answer takes as long as any would, so it is only read. */
function checkTimeout({ query }: HttpRequest): void {
  const timeout = query.get("timeout");
  if (!timeout) return;
  try {
    parseDuration(timeout);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw badRequest(`invalid timeout specified in the request URL - ${error.message}`);
  }
}

/** What the server tells besides the answer, each text once. */
class Warnings {
  #texts: Set<string> | undefined;

  readonly warn = (text: string): void => {
    this.#texts ??= new Set();
    this.#texts.add(text);
  };

  get texts(): readonly string[] {
    return this.#texts ? [...this.#texts] : [];
  }

  in(response: ApiResponse): ApiResponse {
    return this.#texts ? { ...response, warnings: [...(response.warnings ?? []), ...this.#texts] } : response;
  }
}

/** By others, which are too many to count by, nothing is counted. */
const countedPaths: ReadonlySet<string> = new Set(
  "/healthz /livez /readyz /metrics /metrics/slis /version /api /apis /openapi/v2 /openapi/v3".split(" "),
);

const methodsWithBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

const bodyOf = async (http: HttpRequest, readYaml: YamlReader | undefined): Promise<RequestBody | undefined> =>
  requestBody(await http.body(), http.headers["content-type"] ?? "", http.method, readYaml);

function apiRequest(
  { query, headers, signal }: HttpRequest,
  user: User,
  { group, version, resource, namespace, name, subresource }: ResourcePath,
  verb: RequestVerb,
  body: RequestBody | undefined,
  trace: RequestTrace | undefined,
  warn: (text: string) => void,
): ApiRequest {
  const isBelieved = isPart(user);
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
    body,
    because: isBelieved ? headers["knarr-because"] : undefined,
    steps: isBelieved ? headers["knarr-steps"] : undefined,
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
