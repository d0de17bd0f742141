import type {
  ApiRequest,
  AuditNotes,
  RequestBody,
  RequestVerb,
  ResourceAddress,
  Trace,
  User,
} from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { isPart } from "./causality.ts";

/** What is known of a request besides what was sent. */
export interface RequestFacts {
  readonly user: User;
  readonly address: ResourceAddress;
  readonly verb: RequestVerb;
  readonly body: RequestBody | undefined;
  readonly trace: Trace | undefined;
  readonly audit: AuditNotes | undefined;
  readonly warn: (text: string) => void;
  readonly watch: Pick<ApiRequest, "began" | "lastsSeconds"> | undefined;
  readonly ending: RequestEnding;
}

/** The end of the work for a request. */
export interface RequestEnding {
  readonly signal: AbortSignal;
  readonly expired: () => Error | undefined;
}

/**
 * A request that came over HTTP. Its signal is made when it is first asked for: to follow the client's connection costs 3 of the 40 µs of
 * a get, which needs no signal. Copies are made by `requestWith`.
 */
export class ReceivedRequest implements ApiRequest {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly verb: RequestVerb;
  readonly user: User;
  readonly query: URLSearchParams;
  readonly userAgent: string;
  readonly body: RequestBody | undefined;
  readonly because: string | undefined;
  readonly steps: string | undefined;
  readonly trace: Trace | undefined;
  readonly audit: AuditNotes | undefined;
  readonly warn: (text: string) => void;
  readonly began: (() => void) | undefined;
  readonly lastsSeconds: number | undefined;
  readonly expired: () => Error | undefined;
  readonly #ending: RequestEnding;

  constructor(http: HttpRequest, facts: RequestFacts) {
    const { user, address, verb, body, trace, audit, warn, watch, ending } = facts;
    const { headers } = http;
    const because = headers["knarr-because"];
    const steps = headers["knarr-steps"];
    const isBelieved = (because !== undefined || steps !== undefined) && isPart(user);
    this.group = address.group;
    this.version = address.version;
    this.resource = address.resource;
    this.namespace = address.namespace;
    this.name = address.name;
    this.subresource = address.subresource;
    this.verb = verb;
    this.user = user;
    this.query = http.query;
    this.userAgent = headers["user-agent"] ?? "";
    this.body = body;
    this.because = isBelieved ? because : undefined;
    this.steps = isBelieved ? steps : undefined;
    this.trace = trace;
    this.audit = audit;
    this.warn = warn;
    this.began = watch?.began;
    this.lastsSeconds = watch?.lastsSeconds;
    this.expired = ending.expired;
    this.#ending = ending;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }
}
