// Where requests come in: over HTTP as bytes, or from parts of the same process as objects. Both pass the list of stages in
// pipeline/pipeline.ts; parts of this process skip those that read bytes or identify. Here a request gets its trace and its name, and its
// answer or refusal the form that the client wants.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Soon } from "#base/soon.ts";
import { DecodeError } from "#schema/json.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { type HttpHandler, type HttpRequest, type HttpResponse, nosniff } from "#wire/http.ts";
import { badRequest, internalError, tookTooLong } from "#wire/status.ts";
import { auditor } from "./audit/auditor.ts";
import type { AuditOptions } from "./audit/trail.ts";
import { RequestTrace, traceIdOf } from "./causality.ts";
import { Deadlines } from "./fairness/deadlines.ts";
import { timeoutOf } from "./fairness/fairness.ts";
import { Call, type CallAnswer } from "./pipeline/call.ts";
import { type PipelineOptions, passAll, type Stage, stagesOf } from "./pipeline/pipeline.ts";
import { RequestMetrics } from "./request-metrics.ts";
import { wantedOfRefusal } from "./response/form.ts";
import { respond, respondError, respondList, withHeaders } from "./response/respond.ts";

export interface ApiServerOptions extends PipelineOptions {
  readonly metrics: MetricRegistry;
  /** What is recorded of requests, and where; nothing by default. */
  readonly audit?: AuditOptions;
  /** How long a request may take that is no watch and no connection; a minute by default. */
  readonly requestTimeoutMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface ApiServer {
  readonly handle: HttpHandler;
  request(request: ApiRequest): Promise<ApiResponse>;
}

export const usualRequestTimeoutMs = 60_000;

export interface StoppableApiServer extends ApiServer {
  /** To be called when nothing is served any more: until then a timer may wait for the end of a request. */
  stop(): void;
}

export function apiServer(options: ApiServerOptions): StoppableApiServer {
  const entrance = new Entrance(options);
  return {
    handle: (sent) => entrance.handle(sent),
    request: (request) => entrance.request(request),
    stop: () => entrance.stop(),
  };
}

/** A request over HTTP, with what names it. */
interface Exchange {
  readonly sent: HttpRequest;
  readonly call: Call;
  /** Made for this request. */
  readonly uuid: string;
  /** The name that logs know it by. */
  readonly auditId: string;
}

class Entrance implements ApiServer {
  readonly #options: ApiServerOptions;
  readonly #stages: readonly Stage[];
  readonly #inProcessStages: readonly Stage[];
  readonly #metrics: RequestMetrics;
  readonly #audit: ((call: Call, auditId: string) => void) | undefined;
  readonly #timeoutMs: number;
  readonly #deadlines: Deadlines;

  constructor(options: ApiServerOptions) {
    const { resources, clock, metrics } = options;
    this.#timeoutMs = options.requestTimeoutMs ?? usualRequestTimeoutMs;
    this.#deadlines = new Deadlines(clock);
    this.#options = options;
    this.#stages = stagesOf(options);
    this.#inProcessStages = this.#stages.filter(({ inProcess }) => inProcess);
    this.#metrics = new RequestMetrics({ registry: metrics, clock, kindAt: (address) => resources.kindAt(address) });
    this.#audit = options.audit && auditor({ ...options.audit, clock, resources });
  }

  handle(sent: HttpRequest): Soon<HttpResponse> {
    const uuid = this.#options.random.uuid();
    const call = Call.overHttp(sent, this.#traceOf(sent, uuid));
    const exchange: Exchange = { sent, call, uuid, auditId: sent.headers["audit-id"] || uuid };
    this.#metrics.begin(call);
    this.#audit?.(call, exchange.auditId);
    try {
      const passed = passAll(this.#stages, call);
      const response =
        passed instanceof Promise
          ? this.#inTime(this.#answerLater(passed, call, sent), call)
          : this.#responseTo(passed, call, sent);
      if (!(response instanceof Promise)) return this.#answered(exchange, response);
      return response.then(
        (late) => this.#answered(exchange, late),
        (error: unknown) => this.#refused(exchange, error),
      );
    } catch (error) {
      return this.#refused(exchange, error);
    }
  }

  stop(): void {
    this.#deadlines.stop();
  }

  async #answerLater(passed: Promise<CallAnswer>, call: Call, sent: HttpRequest): Promise<HttpResponse> {
    return this.#responseTo(await passed, call, sent);
  }

  /** Throws ApiError 504 when it takes too long. What waits for others ends with its signal, and nothing is written any more. */
  #inTime(response: Promise<HttpResponse>, call: Call): Promise<HttpResponse> {
    if (isLasting(call)) return response;
    return new Promise((resolve, reject) => {
      const settle = this.#deadlines.set(timeoutOf(call, this.#timeoutMs), () => {
        const error = tookTooLong();
        reject(error);
        call.expire(error);
      });
      response.then(resolve, reject).finally(settle);
    });
  }

  /** An answer that is read too slowly is cut off. */
  #answered(exchange: Exchange, response: HttpResponse): Soon<HttpResponse> {
    const { call, sent } = exchange;
    const { life } = call;
    const answer = life.answeredOverHttp(named(response, exchange), sent);
    if (!life.hasEnded && !isLasting(call)) {
      const settle = this.#deadlines.set(timeoutOf(call, this.#timeoutMs), () => sent.cutOff?.());
      life.follow({ ended: settle });
    }
    return recorded(call, answer);
  }

  /** Throws what it was given if the client is gone. */
  #refused(exchange: Exchange, error: unknown): Soon<HttpResponse> {
    const { call, sent } = exchange;
    if (sent.signal.aborted) {
      call.life.ended("aborted");
      throw error;
    }
    call.failure = error instanceof DecodeError ? badRequest(error.message) : asError(error);
    const form = call.wanted ?? wantedOfRefusal(sent);
    const refusal = respondError(this.#asApiError(call.failure, sent), form, call.warnings.texts);
    return this.#answered(exchange, sniffable.has(call.stage) ? withHeaders(refusal, nosniff) : refusal);
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const call = Call.inProcess(request, request.trace ? undefined : this.#traceOfVerb(request));
    this.#metrics.begin(call);
    this.#audit?.(call, this.#options.random.uuid());
    try {
      const answer = await passAll(this.#inProcessStages, call);
      if (answer.type === "http") throw new Error("a part of this process asked for a page");
      call.answer = answer;
      return recorded(call, call.life.answeredInProcess(answer));
    } catch (error) {
      call.failure = asError(error);
      if (request.signal.aborted) call.life.ended("aborted");
      else if (error instanceof ApiError) call.life.refused(error.code);
      else call.life.ended("panicked");
      throw error;
    }
  }

  #responseTo(answer: CallAnswer, call: Call, sent: HttpRequest): Soon<HttpResponse> {
    call.answer = answer;
    if (answer.type === "http") return answer.response;
    const { clock } = this.#options;
    const form = call.wanted ?? wantedOfRefusal(sent);
    call.isTraced = call.trace !== undefined;
    return answer.type === "list" ? respondList(answer, form, clock) : respond(answer, form, clock);
  }

  /** Reads leave no record, so they are only followed for clients that ask for it. */
  #traceOf({ method, headers: { traceparent } }: HttpRequest, uuid: string): RequestTrace | undefined {
    if (traceparent === undefined && (method === "GET" || method === "HEAD")) return undefined;
    return new RequestTrace(traceIdOf(traceparent) ?? traceIdFrom(uuid), this.#options.clock);
  }

  #traceOfVerb({ verb }: ApiRequest): RequestTrace | undefined {
    const { random, clock } = this.#options;
    return verb === "get" || verb === "list" || verb === "watch"
      ? undefined
      : new RequestTrace(traceIdFrom(random.uuid()), clock);
  }

  /** Anything but a refusal is a bug of ours: the client learns that there was one, the log learns which. */
  #asApiError(error: unknown, { method, path }: HttpRequest): ApiError {
    if (error instanceof ApiError) return error;
    this.#options.log.error("request failed", { method, path, error });
    return internalError("This request caused apiserver to panic. Look in the logs for details.");
  }
}

/** Upstream answers refusals there in another way than others. */
const sniffable: ReadonlySet<string> = new Set(["impersonate", "authorize"]);

const isLasting = ({ target }: Call): boolean =>
  target.type === "connection" || (target.type === "resource" && target.verb === "watch");

/** The answer, once what must be recorded of it has been. */
function recorded<T>({ audit }: Call, answer: T): Soon<T> {
  const stored = audit?.stored();
  return stored ? stored.then(() => answer) : answer;
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** 32 digits. */
const traceIdFrom = (uuid: string): string =>
  uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24);

/** The header traceparent of the response (W3C), with a span id of ours. */
function traceparentOf({ trace, isTraced, over }: Call, uuid: string): string | undefined {
  if (!trace || !isTraced) return undefined;
  const part = over?.sent.headers.traceparent ? traceIdFrom(uuid) : trace.id;
  return `00-${trace.id}-${part.slice(16)}-01`;
}

/**
 * Every answer names the request, by the name the client gave it or by a new one, so that logs of both sides can be joined. Headers are
 * copied once and added one by one: to spread a second object into a new one takes ten times as long.
 */
function named(response: HttpResponse, { auditId, call, uuid }: Exchange): HttpResponse {
  const headers: Record<string, string | readonly string[]> = { ...response.headers };
  const traceparent = traceparentOf(call, uuid);
  if (traceparent !== undefined) headers.traceparent = traceparent;
  if (call.ticket) {
    // By uid: the names would show how requests of others are rated.
    const { uid, level } = call.ticket.flow;
    headers["x-kubernetes-pf-flowschema-uid"] = uid;
    headers["x-kubernetes-pf-prioritylevel-uid"] = level.uid;
  }
  headers["audit-id"] ??= auditId;
  const { code, body, upgraded } = response;
  return upgraded ? { code, headers, body, upgraded } : { code, headers, body };
}
