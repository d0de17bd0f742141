// The path of a request. The list in `stagesOf` names what happens to it, in order; each stage is a file below pipeline/stages. Parts of the
// same process enter with objects instead of bytes, and pass those stages that do not read bytes.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Soon } from "#base/soon.ts";
import { DecodeError } from "#schema/json.ts";
import type { Authorize } from "#serving/authorization.ts";
import type { ApiRequest, ApiResponse, User } from "#wire/api-request.ts";
import { type HttpHandler, type HttpRequest, type HttpResponse, nosniff } from "#wire/http.ts";
import { badRequest, internalError } from "#wire/status.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import { RequestTrace, traceIdOf } from "./causality.ts";
import type { ConnectionOptions } from "./connect/connect.ts";
import { type InFlightLimits, usualInFlight } from "./in-flight.ts";
import type { PathHandler } from "./paths/paths.ts";
import { Call, type CallAnswer } from "./pipeline/call.ts";
import { passAll, type Stage } from "./pipeline/pipeline.ts";
import { authorizeStage } from "./pipeline/stages/authorize.ts";
import { checkTimeoutStage } from "./pipeline/stages/check-timeout.ts";
import { identifyStage } from "./pipeline/stages/identify.ts";
import { limitInFlightStage } from "./pipeline/stages/limit-in-flight.ts";
import { locateStage } from "./pipeline/stages/locate.ts";
import { readBodyStage } from "./pipeline/stages/read-body.ts";
import { routeStage } from "./pipeline/stages/route.ts";
import { serveConnectionStage, servePathStage, serveResourceStage } from "./pipeline/stages/serve.ts";
import { RequestMetrics } from "./request-metrics.ts";
import type { Resources } from "./resources.ts";
import { respond, respondError, respondList, wantedOfRefusal, withHeaders } from "./respond.ts";

export interface ApiServerOptions {
  readonly identify: (request: HttpRequest) => Promise<User> | User;
  readonly authorize: Authorize;
  readonly resources: Resources;
  readonly paths: PathHandler;
  readonly metrics: MetricRegistry;
  /** How to reach what runs in the cluster. */
  readonly connections: ConnectionOptions;
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

const stagesOf = ({ identify, authorize, resources, paths, ...others }: ApiServerOptions): readonly Stage[] => [
  identifyStage(identify),
  locateStage,
  limitInFlightStage(others.inFlight ?? usualInFlight),
  checkTimeoutStage,
  authorizeStage(authorize),
  routeStage(resources),
  servePathStage(paths, resources),
  serveConnectionStage({ resources, connections: others.connections, authorize }),
  readBodyStage(others.readYaml),
  serveResourceStage(resources, others.clock),
];

export function apiServer(options: ApiServerOptions): ApiServer {
  const { resources, clock, random, log } = options;
  const stages = stagesOf(options);
  const inProcessStages = stages.filter(({ inProcess }) => inProcess);
  const metrics = new RequestMetrics({
    registry: options.metrics,
    clock,
    kindAt: (address) => resources.kindAt(address),
  });

  const handle: HttpHandler = async (sent) => {
    const uuid = random.uuid();
    const call = Call.overHttp(sent, traceOf(sent, uuid));
    metrics.begin(call);
    const answered = (response: HttpResponse) =>
      call.life.answeredOverHttp(named(response, sent.headers["audit-id"] || uuid, traceparentOf(call, uuid)), sent);
    try {
      const passed = passAll(stages, call);
      const response = responseTo(passed instanceof Promise ? await passed : passed, call, sent);
      return answered(response instanceof Promise ? await response : response);
    } catch (error) {
      if (sent.signal.aborted) {
        call.life.ended("aborted");
        throw error;
      }
      const refusal = respondError(asApiError(error, sent), call.wanted ?? wantedOfRefusal(sent), call.warnings.texts);
      return answered(call.stage === "authorize" ? withHeaders(refusal, nosniff) : refusal);
    }
  };

  const request = async (asked: ApiRequest): Promise<ApiResponse> => {
    const call = Call.inProcess(asked, asked.trace ? undefined : traceOfVerb(asked));
    metrics.begin(call);
    try {
      const answer = await passAll(inProcessStages, call);
      if (answer.type === "http") throw new Error("a part of this process asked for a page");
      return call.life.answeredInProcess(answer);
    } catch (error) {
      if (asked.signal.aborted) call.life.ended("aborted");
      else if (error instanceof ApiError) call.life.refused(error.code);
      else call.life.ended("panicked");
      throw error;
    }
  };

  const responseTo = (answer: CallAnswer, call: Call, sent: HttpRequest): Soon<HttpResponse> => {
    if (answer.type === "http") return answer.response;
    const form = call.wanted ?? wantedOfRefusal(sent);
    call.isTraced = call.trace !== undefined;
    return answer.type === "list" ? respondList(answer, form, clock) : respond(answer, form, clock);
  };

  /** Reads leave no record, so they are only followed for clients that ask for it. */
  const traceOf = ({ method, headers: { traceparent } }: HttpRequest, uuid: string): RequestTrace | undefined => {
    if (traceparent === undefined && (method === "GET" || method === "HEAD")) return undefined;
    return new RequestTrace(traceIdOf(traceparent) ?? traceIdFrom(uuid), clock);
  };

  const traceOfVerb = ({ verb }: ApiRequest): RequestTrace | undefined =>
    verb === "get" || verb === "list" || verb === "watch"
      ? undefined
      : new RequestTrace(traceIdFrom(random.uuid()), clock);

  /** Anything but a refusal is a bug of ours: the client learns that there was one, the log learns which. */
  const asApiError = (error: unknown, { method, path }: HttpRequest): ApiError => {
    if (error instanceof ApiError) return error;
    if (error instanceof DecodeError) return badRequest(error.message);
    log.error("request failed", { method, path, error });
    return internalError("This request caused apiserver to panic. Look in the logs for details.");
  };

  return { handle, request };
}

/** 32 digits. */
const traceIdFrom = (uuid: string): string =>
  uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24);

/** Tells the client the trace its request belongs to, as W3C has it. Where that is ours alone, it names our part in it as well. */
function traceparentOf({ trace, isTraced, over }: Call, uuid: string): string | undefined {
  if (!trace || !isTraced) return undefined;
  const part = over?.sent.headers.traceparent ? traceIdFrom(uuid) : trace.id;
  return `00-${trace.id}-${part.slice(16)}-01`;
}

/** Every answer names the request, by the name the client gave it or by a new one, so that logs of both sides can be joined. */
function named(response: HttpResponse, auditId: string, traceparent: string | undefined): HttpResponse {
  const { headers } = response;
  if (headers?.["audit-id"] !== undefined && traceparent === undefined) return response;
  const added = traceparent === undefined ? headers : { ...headers, traceparent };
  return { ...response, headers: { ...added, "audit-id": headers?.["audit-id"] ?? auditId } };
}
