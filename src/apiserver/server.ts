// The path of a request. The list in `stagesOf` names what happens to it, in order; each stage is a file below pipeline/stages. Parts of the
// same process enter with objects instead of bytes, and pass those stages that do not read bytes.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { DecodeError } from "#schema/json.ts";
import type { Authorize } from "#serving/authorization.ts";
import type { ApiRequest, ApiResponse, User } from "#wire/api-request.ts";
import { type HttpHandler, type HttpRequest, type HttpResponse, nosniff } from "#wire/http.ts";
import { badRequest, internalError } from "#wire/status.ts";
import { RequestTrace, traceIdOf } from "./causality.ts";
import type { ConnectOptions } from "./connect/connect.ts";
import { type InFlightLimits, usualInFlight } from "./in-flight.ts";
import type { PathHandler } from "./paths/paths.ts";
import { type Answer, Call } from "./pipeline/call.ts";
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
  readonly connections: ConnectOptions;
  /** How many requests are served at once; 400 that read and 200 that write by default. */
  readonly inFlight?: InFlightLimits;
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
  readBodyStage,
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
    const call = Call.overHttp(sent, traceOf(sent));
    metrics.begin(call);
    const answered = (response: HttpResponse) =>
      call.life.answeredOverHttp(withAuditId(response, sent, random), sent.signal);
    try {
      return answered(await responseTo(await passAll(stages, call), call, sent));
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

  const responseTo = async (answer: Answer, { wanted, trace }: Call, sent: HttpRequest): Promise<HttpResponse> => {
    if (answer.type === "http") return answer.response;
    const form = wanted ?? wantedOfRefusal(sent);
    const response = answer.type === "list" ? await respondList(answer, form, clock) : respond(answer, form, clock);
    return trace ? traced(response, trace.id, sent.headers.traceparent ? newId(random) : trace.id) : response;
  };

  /** Reads leave no record, so they are only followed for clients that ask for it. */
  const traceOf = ({ method, headers: { traceparent } }: HttpRequest): RequestTrace | undefined => {
    if (traceparent === undefined && (method === "GET" || method === "HEAD")) return undefined;
    return new RequestTrace(traceIdOf(traceparent) ?? newId(random), clock);
  };

  const traceOfVerb = ({ verb }: ApiRequest): RequestTrace | undefined =>
    verb === "get" || verb === "list" || verb === "watch" ? undefined : new RequestTrace(newId(random), clock);

  /** Anything but a refusal is a bug of ours: the client learns that there was one, the log learns which. */
  const asApiError = (error: unknown, { method, path }: HttpRequest): ApiError => {
    if (error instanceof ApiError) return error;
    if (error instanceof DecodeError) return badRequest(error.message);
    log.error("request failed", { method, path, error });
    return internalError("This request caused apiserver to panic. Look in the logs for details.");
  };

  return { handle, request };
}

/** Every answer names the request, by the name the client gave it or by a new one, so that logs of both sides can be joined. */
function withAuditId(response: HttpResponse, { headers }: HttpRequest, random: Random): HttpResponse {
  if (response.headers?.["audit-id"] !== undefined) return response;
  return { ...response, headers: { ...response.headers, "audit-id": headers["audit-id"] || random.uuid() } };
}

/** 32 digits. Chance as it is drawn for uuids comes by the hundred, and costs a fifth of drawing it for this alone. */
const newId = (random: Random): string => random.uuid().replaceAll("-", "");

/** Tells the client the trace its request belongs to, as W3C has it. Where that is ours alone, it names our part in it as well. */
const traced = (response: HttpResponse, id: string, part: string): HttpResponse => ({
  ...response,
  headers: { ...response.headers, traceparent: `00-${id}-${part.slice(16)}-01` },
});
