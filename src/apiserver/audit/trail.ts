// What is recorded of one request, from its coming to its end. It follows the life of the request, and those who handle the request note
// here what the events should tell.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Soon } from "#base/soon.ts";
import { pathOf } from "#client/request-url.ts";
import { parseIp } from "#schema/ip.ts";
import type { AuthorizationVerdict } from "#serving/authorization.ts";
import type { AuditNotes, User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import type { Call } from "../pipeline/call.ts";
import type { AnswerFacts, LifeListener, Outcome } from "../pipeline/request-life.ts";
import { answerJson, isTooLarge, withoutManagedFields } from "./bodies.ts";
import { type AuditObjectReference, type AuditResponseStatus, type AuditStage, tells } from "./event.ts";
import type { AuditPolicy, AuditRule, AuditSubject } from "./policy.ts";
import { type AuditMetrics, AuditRecord, type AuditSink } from "./sink.ts";
import { subjectOf } from "./subject.ts";

export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  readonly metrics: AuditMetrics;
}

export interface TrailOptions extends AuditOptions {
  readonly clock: Clock;
  /** Whether what is asked for should not be asked for any more. */
  readonly isDeprecated: (call: Call) => boolean;
}

const longestUserAgent = 1024;

export class AuditTrail implements LifeListener, AuditNotes {
  readonly #call: Call;
  readonly #auditId: string;
  readonly #options: TrailOptions;
  readonly #receivedAt: number;
  #rule: AuditRule | undefined;
  #subject: AuditSubject | undefined;
  #user: User | undefined;
  #acting: { readonly user: User; readonly constraint: string | undefined } | undefined;
  #annotations: Map<string, string> | undefined;
  #reference: AuditObjectReference | undefined;
  #requestObject: string | undefined;
  #responseObject: string | undefined;
  #status: AuditResponseStatus | undefined;
  /** Events that the answer must wait for. */
  #pending: Promise<unknown> | undefined;

  constructor(call: Call, auditId: string, options: TrailOptions) {
    this.#call = call;
    this.#auditId = auditId;
    this.#options = options;
    this.#receivedAt = options.clock.now();
  }

  /** Before anything is answered, what is recorded must be stored. Undefined if there is nothing to wait for. */
  stored(): Promise<unknown> | undefined {
    if (this.#pending) this.#options.sink.hurry?.();
    return this.#pending;
  }

  /** It is known who asks for what. False if the request must not go on because it cannot be recorded. */
  received(): Soon<boolean> {
    this.#begin(this.#call.user);
    const stored = this.#record("RequestReceived");
    const isStored = (kept: boolean): boolean => {
      if (kept) return true;
      this.#options.metrics.rejected.add();
      this.#rule = nothing;
      return false;
    };
    if (!(stored instanceof Promise)) return isStored(stored);
    if (this.#options.sink.isStrict) {
      this.#options.sink.hurry?.();
      return stored.then(isStored);
    }
    this.#wait(stored);
    return true;
  }

  annotate(key: string, value: string): void {
    if (this.#rule === nothing) return;
    this.#annotations ??= new Map();
    if (!this.#annotations.has(key)) this.#annotations.set(key, value);
  }

  authorized({ decision, reason = "" }: AuthorizationVerdict): void {
    this.annotate("authorization.k8s.io/decision", decision === "allow" ? "allow" : "forbid");
    this.annotate("authorization.k8s.io/reason", reason);
  }

  impersonated(user: User, constraint: string | undefined): void {
    this.#acting = { user, constraint };
  }

  sentObject(object: object): void {
    if (!this.#rule || this.#rule === nothing) return;
    if (this.#reference) {
      const { metadata = {} } = object as { readonly metadata?: AuditObjectReference };
      const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = this.#reference;
      this.#reference = {
        resource,
        namespace: namespace || metadata.namespace,
        name: name || metadata.name,
        uid: uid || metadata.uid,
        apiGroup,
        apiVersion,
        resourceVersion: resourceVersion || metadata.resourceVersion,
        subresource,
      };
    }
    if (!tells(this.#rule.level, "Request") || this.#requestObject !== undefined) return;
    this.#requestObject = this.#bounded(
      JSON.stringify(this.#rule.omitManagedFields ? withoutManagedFields(object) : object),
    );
  }

  sentPatch(patch: unknown): void {
    if (!this.#rule || !tells(this.#rule.level, "Request") || this.#requestObject !== undefined) return;
    this.#requestObject = this.#bounded(JSON.stringify(patch));
  }

  answered({ code, isLasting }: AnswerFacts): void {
    const { failure, answer } = this.#call;
    const isStranger = !this.#rule && this.#call.stage === "identify";
    if (!this.#rule) this.#begin(isStranger ? undefined : this.#call.user);
    if (!this.#rule || this.#rule === nothing) return;
    if (this.#options.isDeprecated(this.#call)) this.annotate("k8s.io/deprecated", "true");
    this.#status = isStranger ? { message: shownBy(this.#call), code } : statusOf(failure, code);
    if (tells(this.#rule.level, "RequestResponse"))
      this.#responseObject = this.#bounded(answerJson(failure, answer, this.#rule.omitManagedFields));
    // Of a client that nobody knows there is one event only, as upstream has it.
    if (isStranger || isLasting) this.#wait(this.#record("ResponseStarted"));
    if (isStranger) this.#rule = nothing;
  }

  ended(outcome: Outcome): void {
    if (!this.#rule || this.#rule === nothing) return;
    const { failure } = this.#call;
    if (outcome === "panicked" || (failure && !(failure instanceof ApiError))) {
      this.#status = {
        status: "Failure",
        message: `APIServer panic'd: ${failure?.message ?? ""}`,
        reason: "InternalError",
        code: 500,
      };
      this.#wait(this.#record("Panic"));
      return;
    }
    this.#status ??= { status: "Success", message: "Connection closed early", code: 200 };
    this.#wait(this.#record("ResponseComplete"));
  }

  /** Looks up what is to be recorded, for whom it is known to be. */
  #begin(user: User | undefined): void {
    const { policy, metrics } = this.#options;
    this.#user = user;
    this.#subject = subjectOf(this.#call, user);
    this.#rule = policy(this.#subject);
    metrics.levels.of(this.#rule.level).add();
    if (this.#rule.level === "None") {
      this.#rule = nothing;
      return;
    }
    if (this.#subject.type !== "resource") return;
    const { group, version, resource, namespace, name, subresource } = this.#subject;
    this.#reference = { resource, namespace, name, apiGroup: group, apiVersion: version, subresource };
  }

  #bounded(json: string | undefined): string | undefined {
    if (json === undefined || !isTooLarge(json)) return json;
    this.annotate("audit.k8s.io/truncated", "true");
    return undefined;
  }

  #wait(stored: Soon<boolean>): void {
    if (!(stored instanceof Promise) || stored === this.#pending) return;
    const before = this.#pending;
    this.#pending = before ? before.then(() => stored) : stored;
  }

  #record(stage: AuditStage): Soon<boolean> {
    const { sink, metrics, clock } = this.#options;
    const rule = this.#rule;
    if (!rule || rule === nothing || rule.omitStages.includes(stage)) return true;
    metrics.events.add();
    const { over } = this.#call;
    const userAgent = over ? (over.http.headers["user-agent"] ?? "") : (this.#call.request?.userAgent ?? "");
    return sink.take(
      new AuditRecord({
        level: rule.level,
        auditId: this.#auditId,
        stage,
        requestUri: over ? over.http.url : this.#call.request ? pathOf(this.#call.request) : "",
        verb: this.#subject?.verb ?? "",
        user: this.#user,
        impersonatedUser: this.#acting?.user,
        impersonationConstraint: this.#acting?.constraint,
        sourceIps: over ? sourceIps(over.http) : ownAddress,
        userAgent:
          userAgent.length > longestUserAgent ? `${userAgent.slice(0, longestUserAgent)}...TRUNCATED` : userAgent,
        objectRef: this.#reference,
        responseStatus: this.#status,
        requestObject: this.#requestObject,
        responseObject: this.#responseObject,
        receivedAt: this.#receivedAt,
        stageAt: stage === "RequestReceived" ? this.#receivedAt : clock.now(),
        annotations: this.#annotations && (isLast(stage) ? this.#annotations : new Map(this.#annotations)),
      }),
    );
  }
}

/** Whether nothing is annotated any more. */
const isLast = (stage: AuditStage): boolean => stage === "ResponseComplete" || stage === "Panic";

/** The rule of requests that are not recorded, or not any more. */
const nothing: AuditRule = { level: "None", omitStages: [], omitManagedFields: false };

/** Parts of this process come from no address; upstream's own requests come from here. */
const ownAddress: readonly string[] = ["::1"];

function statusOf(failure: Error | undefined, code: number): AuditResponseStatus {
  if (!(failure instanceof ApiError)) return { code };
  const { message, reason, details } = failure;
  return { status: "Failure", message, ...(reason && { reason }), ...(details && { details }), code };
}

/** What a client showed whom nobody knows; not what it was. */
function shownBy({ over }: Call): string {
  const { authorization = "" } = over?.sent.headers ?? {};
  const shown = [
    ...(/^basic /i.test(authorization) ? ["basic"] : []),
    ...(/^bearer /i.test(authorization) ? ["bearer"] : []),
    ...(over?.sent.clientCertificate || over?.sent.hasUntrustedCertificate ? ["x509"] : []),
  ];
  return shown.length > 0
    ? `Authentication failed, attempted: ${shown.join(", ")}`
    : "Authentication failed, no credentials provided";
}

/** Where it came from, and by whom it says it was passed on. Only the last address is certain. */
function sourceIps({ headers, remoteAddress }: HttpRequest): readonly string[] {
  const forwarded = headers["x-forwarded-for"];
  const real = headers["x-real-ip"]?.trim();
  if (forwarded === undefined && real === undefined) return [remoteAddress];
  const addresses = (forwarded ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => parseIp(one));
  if (real !== undefined && parseIp(real) && !addresses.includes(real)) addresses.push(real);
  if (addresses.at(-1) !== remoteAddress) addresses.push(remoteAddress);
  return addresses;
}
