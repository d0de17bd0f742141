// An event of the audit log: what upstream's audit.k8s.io/v1 has, as text. Follows k8s.io/apiserver/pkg/audit.
import type { User } from "#wire/api-request.ts";

export const auditLevels = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type AuditStage = (typeof auditStages)[number];

/** Whether as much is told as at another level. */
export const tells = (level: AuditLevel, least: AuditLevel): boolean =>
  auditLevels.indexOf(level) >= auditLevels.indexOf(least);

export interface AuditObjectReference {
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly apiGroup?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly subresource?: string | undefined;
}

/** The parts of a Status that an event shows. */
export interface AuditResponseStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: object;
  readonly code: number;
}

/** Times are in milliseconds since 1970; bodies are JSON. */
export interface AuditEvent {
  readonly level: AuditLevel;
  readonly auditId: string;
  readonly stage: AuditStage;
  readonly requestUri: string;
  readonly verb: string;
  /** Undefined of a client that nobody knows. */
  readonly user: User | undefined;
  readonly impersonatedUser: User | undefined;
  readonly impersonationConstraint: string | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  readonly objectRef: AuditObjectReference | undefined;
  readonly responseStatus: AuditResponseStatus | undefined;
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
  readonly receivedAt: number;
  readonly stageAt: number;
  readonly annotations: ReadonlyMap<string, string> | undefined;
}

const eventHead = '{"kind":"Event","apiVersion":"audit.k8s.io/v1",';

/** One event as JSON, its fields in upstream's order. The bodies are in JSON already, so it is put together as text. */
export function eventJson(event: AuditEvent): string {
  const { impersonatedUser, impersonationConstraint, objectRef, responseStatus, requestObject, responseObject } = event;
  return `${eventHead}"level":"${event.level}","auditID":${quoted(event.auditId)},"stage":"${event.stage}","requestURI":${quoted(
    event.requestUri,
  )},"verb":${quoted(event.verb)},"user":${event.user ? userJson(event.user) : "{}"}${
    impersonatedUser ? `,"impersonatedUser":${userJson(impersonatedUser)}` : ""
  }${
    impersonationConstraint === undefined
      ? ""
      : `,"authenticationMetadata":${JSON.stringify({ impersonationConstraint })}`
  }${event.sourceIps.length > 0 ? `,"sourceIPs":${JSON.stringify(event.sourceIps)}` : ""}${
    event.userAgent === "" ? "" : `,"userAgent":${quoted(event.userAgent)}`
  }${objectRef ? `,"objectRef":${referenceJson(objectRef)}` : ""}${
    responseStatus ? `,"responseStatus":${statusJson(responseStatus)}` : ""
  }${requestObject === undefined ? "" : `,"requestObject":${requestObject}`}${
    responseObject === undefined ? "" : `,"responseObject":${responseObject}`
  },"requestReceivedTimestamp":"${microTime(event.receivedAt)}","stageTimestamp":"${microTime(event.stageAt)}"${
    event.annotations ? `,"annotations":${annotationsJson(event.annotations)}` : ""
  }}`;
}

export const eventListJson = (events: readonly string[]): string =>
  `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${events.join(",")}]}`;

/** A client's certificate makes one user for all its requests, so the text is made once. */
const userTexts = new WeakMap<User, string>();

function userJson(user: User): string {
  const known = userTexts.get(user);
  if (known !== undefined) return known;
  const { name, uid, groups, extra = {} } = user;
  const text = JSON.stringify({
    username: name,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
  userTexts.set(user, text);
  return text;
}

/** Of what went well there is only a code to tell. */
const statusJson = (status: AuditResponseStatus): string =>
  status.status === undefined && status.message === undefined
    ? `{"metadata":{},"code":${status.code}}`
    : JSON.stringify({ metadata: {}, ...status });

/** Fields that are empty are left out. */
function referenceJson(reference: AuditObjectReference): string {
  let text = "";
  for (const field of referenceFields) {
    const value = reference[field];
    if (value) text += `${text === "" ? "" : ","}"${field}":${quoted(value)}`;
  }
  return `{${text}}`;
}

const referenceFields = [
  ...(["resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion"] as const),
  "subresource",
] as const;

function annotationsJson(annotations: ReadonlyMap<string, string>): string {
  let text = "";
  for (const key of [...annotations.keys()].sort())
    text += `${text === "" ? "" : ","}${quoted(key)}:${quoted(annotations.get(key) ?? "")}`;
  return `{${text}}`;
}

/** Many events are of one second, and a date takes longer to write than all the rest of an event. */
let lastSecond = { second: Number.NaN, text: "" };

/** With the six decimals of upstream's MicroTime. */
function microTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (lastSecond.second !== second) lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, -4) };
  const rest = ms - second * 1000;
  return `${lastSecond.text}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}000Z`;
}

/** The one line of text that upstream calls the legacy format. */
export function eventLine(event: AuditEvent): string {
  const { user, impersonatedUser, objectRef, responseStatus, sourceIps } = event;
  const groups = (of: User | undefined, none: string) =>
    quoted(of?.groups.length ? of.groups.map((one) => quoted(one)).join(",") : none);
  const fields = [
    `id=${quoted(event.auditId)}`,
    `stage=${quoted(event.stage)}`,
    `ip=${quoted(sourceIps[0] ?? "<unknown>")}`,
    `method=${quoted(event.verb)}`,
    `user=${quoted(user?.name || "<none>")}`,
    `groups=${groups(user, "<none>")}`,
    `as=${quoted(impersonatedUser?.name ?? "<self>")}`,
    `asgroups=${groups(impersonatedUser, "<lookup>")}`,
    `user-agent=${quoted(event.userAgent)}`,
    `namespace=${quoted(objectRef?.namespace || "<none>")}`,
    `uri=${quoted(event.requestUri)}`,
    `response="${responseStatus?.code ?? "<deferred>"}"`,
  ];
  return `${nanoTime(event.receivedAt)} AUDIT: ${fields.join(" ")}`;
}

const plainText = /^[ !#-[\]-~]*$/;

/** As JSON.stringify, in half of its time: hardly a text has anything to escape. */
const quoted = (text: string): string => (plainText.test(text) ? `"${text}"` : JSON.stringify(text));

/** Without the zeros at its end, as Go's RFC3339Nano. */
const nanoTime = (ms: number): string => new Date(ms).toISOString().replace(/\.?0*Z$/, "Z");
