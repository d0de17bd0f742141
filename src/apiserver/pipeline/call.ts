// One request on its way through the server, whether it came over HTTP or from a part of this process. Stages note here what they find out.

import { anonymousUser } from "#serving/authentication.ts";
import type { Question } from "#serving/authorization.ts";
import {
  type ApiRequest,
  type ApiResponse,
  type RequestVerb,
  type ResourceAddress,
  requestWith,
  type User,
} from "#wire/api-request.ts";
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import type { AuditTrail } from "../audit/trail.ts";
import { withoutCredentials } from "../authentication/impersonation.ts";
import { questionAbout } from "../authorization/authorizer.ts";
import type { RequestTrace } from "../causality.ts";
import type { Connector } from "../connect/connect.ts";
import type { Ticket } from "../fairness/ticket.ts";
import { type ResourcePath, verbOfMethod } from "../request-path.ts";
import type { ResponseForm } from "../response/form.ts";
import { RequestLife } from "./request-life.ts";

/** What a request is for. */
export type CallTarget =
  /** The verb is undefined where the method means nothing to the API at such a path. */
  | { readonly type: "resource"; readonly address: ResourceAddress; readonly verb: RequestVerb | undefined }
  /** A subresource that is passed on, as exec and proxies are. */
  | { readonly type: "connection"; readonly address: ResourcePath; readonly connector: Connector }
  | { readonly type: "path" };

/** Over HTTP a stage may answer with a page instead of objects. */
export type CallAnswer = ApiResponse | { readonly type: "http"; readonly response: HttpResponse };

/** A request over HTTP. */
export interface HttpCall {
  /** As it was sent, with what the client shows to be identified by. */
  readonly sent: HttpRequest;
  /** The same without credentials: nobody behind the identification sees them. */
  readonly http: HttpRequest;
}

export class Call {
  readonly life = new RequestLife();
  readonly warnings = new Warnings();
  /** Undefined of a request from a part of this process. */
  readonly over: HttpCall | undefined;
  /** Follows writes through their stages; reads leave no record. */
  readonly trace: RequestTrace | undefined;
  /** What is recorded of it; undefined where nothing is. */
  audit: AuditTrail | undefined;
  /** Who asks, or acts, as far as is known. */
  user: User;
  target: CallTarget;
  /** What is asked of a resource, once its body has been read. */
  request: ApiRequest | undefined;
  /** What it was answered with; undefined of a refusal. */
  answer: CallAnswer | undefined;
  /** Why it was not answered. */
  failure: Error | undefined;
  /** The form that an HTTP client wants its answer in. */
  wanted: ResponseForm | undefined;
  /** The name under which a path is counted that is no resource. Most have none: a label per path would grow without bound. */
  countedPath = "";
  /** Whether the answer tells the trace; refusals and pages do not. */
  isTraced = false;
  /** Its place among the requests that are served; undefined where nobody waits for one. */
  ticket: Ticket | undefined;
  /** The name of the stage that it is in. */
  stage = "";
  #ending: AbortController | undefined;
  #expired: Error | undefined;

  private constructor(over: HttpCall | undefined, user: User, target: CallTarget, trace: RequestTrace | undefined) {
    this.over = over;
    this.user = user;
    this.target = target;
    this.trace = trace;
  }

  static overHttp(sent: HttpRequest, trace: RequestTrace | undefined): Call {
    return new Call({ sent, http: withoutCredentials(sent) }, anonymousUser, path, trace);
  }

  /** Aborts when the client is gone, the server stops or the time of the request is over. Made when it is first asked for. */
  get signal(): AbortSignal {
    if (this.#ending) return this.#ending.signal;
    const ending = new AbortController();
    this.#ending = ending;
    const outer = this.over?.sent.signal ?? this.request?.signal;
    if (this.#expired) ending.abort(this.#expired);
    else if (outer?.aborted) ending.abort(outer.reason);
    else outer?.addEventListener("abort", () => ending.abort(outer.reason), { once: true });
    return ending.signal;
  }

  /** Ends the work for a request whose client has been told that it took too long. */
  expire(reason: Error): void {
    this.#expired ??= reason;
    this.#ending?.abort(reason);
  }

  /** Why nothing more is to be done for it; costs less than to ask its signal. */
  readonly expired = (): Error | undefined => this.#expired;

  static inProcess(request: ApiRequest, trace: RequestTrace | undefined): Call {
    const call = new Call(undefined, request.user, { type: "resource", address: request, verb: request.verb }, trace);
    call.request = requestWith(request, { trace: request.trace ?? trace, warn: call.warnings.warn });
    return call;
  }
}

const path: CallTarget = { type: "path" };

/** What those are asked who decide about the request. */
export function questionOf({ over, request, user, target }: Call): Question {
  switch (target.type) {
    case "path":
      return { type: "path", user, verb: over?.http.method.toLowerCase() ?? "", path: over?.http.path ?? "" };
    case "connection":
      return { ...target.address, type: "resource", user, verb: verbOfMethod(over?.http.method ?? "") };
    case "resource": {
      const { address, verb = verbOfMethod(over?.http.method ?? "") } = target;
      return questionAbout(address, verb, user, over?.http.query ?? request?.query ?? new URLSearchParams());
    }
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
