// What servers say, as they say it: kubectl prints objects with fields it has never heard of, so nothing here knows kinds.
import type { Clock } from "#base/clock.ts";
import { formatDuration } from "#base/duration.ts";
import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { exactValue } from "#schema/structural/exact-integers.ts";
import { KubectlError } from "../errors.ts";
import type { CredentialIssuer } from "./credentials.ts";
import type { RestRequest, RestResponse } from "./request.ts";
import type { RequestLog } from "./request-log.ts";
import type { PassedRequest, RestTransport, UpgradedConnection } from "./transport.ts";

export type KubeObject = Record<string, unknown>;

export interface RestClientOptions {
  readonly transport: RestTransport;
  readonly log: RequestLog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** 0 means no limit. */
  readonly timeoutMs: number;
  /** Who gives credentials out, where the kubeconfig holds none. */
  readonly credentials?: CredentialIssuer;
  /** How many bytes an answer may have that is not read as it comes. */
  readonly answerLimit?: number;
  /** Called with the text of each warning the server sends. */
  warn(text: string): void;
}

/** A larger answer is refused: lists come in pages, and V8 makes no string that is longer. */
const usualAnswerLimit = 512 * 1024 * 1024 - 24;
const mostRetries = 10;

export class RestClient {
  readonly #options: RestClientOptions;
  readonly #timers: (() => void)[] = [];

  constructor(options: RestClientOptions) {
    this.#options = options;
  }

  /** The JSON of the answer. Rejects with ApiError if the server refuses, and ServerUnreachable if it cannot be asked. */
  async json(request: RestRequest): Promise<KubeObject> {
    return objectIn(await this.text(request), request);
  }

  async text(request: RestRequest): Promise<string> {
    return Buffer.from(await this.bytes(request)).toString("utf8");
  }

  async bytes(request: RestRequest): Promise<Uint8Array> {
    return this.read(await this.open(request));
  }

  /** An answer whose body is read as it comes. Rejects as `json` does. */
  async open(request: RestRequest): Promise<RestResponse> {
    const answer = await this.exchange(request);
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw refusalOf(request, answer, Buffer.from(await this.read(answer)).toString("utf8"));
  }

  /** Whatever the server answers, after waiting for as long as it asks to. */
  async exchange(asked: RestRequest): Promise<RestResponse> {
    const { transport, log, clock, credentials } = this.#options;
    const request = this.#limited(asked);
    const signal = this.#signalOf(request);
    for (let attempt = 0; ; attempt++) {
      if (credentials) transport.use(await credentials.current());
      const began = clock.elapsed();
      log.request(request, transport);
      const answer = await transport.send(request, signal);
      if (answer.status === 401) credentials?.refused();
      const logged = log.response(request, transport, answer, clock.elapsed() - began);
      this.#warnings(answer);
      const waitSeconds = Number(answer.headers["retry-after"] ?? Number.NaN);
      const isBusy = answer.status === 429 || answer.status >= 500;
      if (!isBusy || !Number.isInteger(waitSeconds) || attempt >= mostRetries) return logged;
      await this.read(logged);
      await clock.sleep(waitSeconds * 1000, signal);
    }
  }

  /** Rejects with ApiError if the server does not agree. */
  async upgrade(request: RestRequest): Promise<UpgradedConnection> {
    const { transport, log, clock, signal, credentials } = this.#options;
    if (credentials) transport.use(await credentials.current());
    const began = clock.elapsed();
    log.request(request, transport);
    const answer = await transport.upgrade(
      request,
      request.signal ? AbortSignal.any([signal, request.signal]) : signal,
    );
    if ("socket" in answer) return answer;
    const logged = log.response(request, transport, answer, clock.elapsed() - began);
    throw refusalOf(request, logged, Buffer.from(await this.read(logged)).toString("utf8"));
  }

  /** Passes on what someone else asks. Rejects as `exchange` does. */
  async pass(passed: PassedRequest, signal: AbortSignal): ReturnType<RestTransport["pass"]> {
    const { transport, credentials } = this.#options;
    if (credentials) transport.use(await credentials.current());
    const answer = await transport.pass(passed, signal);
    if ("statusCode" in answer && answer.statusCode === 401) credentials?.refused();
    return answer;
  }

  /** The address of the server's path, as logs and messages show it. */
  urlOf(request: RestRequest): string {
    return this.#options.transport.urlOf(request);
  }

  close(): void {
    for (const cancel of this.#timers) cancel(); // or the process would wait for them
    this.#options.transport.close();
  }

  /** The body of an answer. Rejects with KubectlError before more is held than may be. */
  async read({ body, headers }: RestResponse): Promise<Uint8Array> {
    const limit = this.#options.answerLimit ?? usualAnswerLimit;
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of body) {
      size += part.length;
      // Whoever announces too much need not send it.
      if (size > limit || Number(headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
      parts.push(part);
    }
    return Buffer.concat(parts, size);
  }

  /** The server is told how long an answer is waited for, too. */
  #limited(request: RestRequest): RestRequest {
    const { timeoutMs } = this.#options;
    if (timeoutMs === 0) return request;
    return {
      ...request,
      query: [...(request.query ?? []), ["timeout", formatDuration(BigInt(timeoutMs) * 1_000_000n)]],
    };
  }

  #signalOf({ signal, isEndless }: RestRequest): AbortSignal {
    const { signal: own, timeoutMs, clock } = this.#options;
    const signals = [own, ...(signal ? [signal] : [])];
    if (timeoutMs > 0 && !isEndless) {
      const late = new AbortController();
      const text = "net/http: request canceled (Client.Timeout exceeded while awaiting headers)";
      const cancel = clock.after(timeoutMs, () => late.abort(new KubectlError(text)));
      own.addEventListener("abort", cancel, { once: true });
      this.#timers.push(cancel);
      signals.push(late.signal);
    }
    return signals.length === 1 ? own : AbortSignal.any(signals);
  }

  #warnings({ headers }: RestResponse): void {
    for (const header of [headers.warning ?? []].flat())
      for (const [, text = ""] of header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g))
        this.#options.warn(text.replace(/\\(.)/g, "$1"));
  }
}

const tooLarge = (limit: number): KubectlError =>
  new KubectlError(
    `the server's answer has more than ${Math.floor(limit / 1024 / 1024)} MiB; ask for less: with a selector, a namespace or --chunk-size`,
  );

/** Throws KubectlError. */
export function objectIn(text: string, request: RestRequest): KubeObject {
  const value = answerIn(text, request);
  if (!isObject(value)) throw new KubectlError(`the server's answer is no object: ${text.slice(0, 100)}`);
  return value as KubeObject;
}

function answerIn(text: string, { path }: RestRequest): unknown {
  try {
    return parseAnswer(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new KubectlError(`the server's answer to ${path} is no JSON: ${JSON.stringify(text.slice(0, 100))}`, {
      cause,
    });
  }
}

/** Integers that a double cannot hold become bigint. Of answers nobody asks for duplicate keys, and lists are too long to look for them. */
export const parseAnswer = (text: string): unknown => exactValue(text, JSON.parse(text));

function refusalOf({ method = "GET", path }: RestRequest, { status, headers }: RestResponse, text: string): ApiError {
  const value = text.startsWith("{") ? parsedOrNothing(text) : undefined;
  if (isObject(value) && value.kind === "Status") return statusError(status, value);
  return genericError(method, path, status, text, String(headers["content-type"] ?? ""));
}

/** The refusal that a Status tells of. */
export function statusError(usualCode: number, status: Readonly<Record<string, unknown>>): ApiError {
  const { code, reason, message, details } = status;
  return new ApiError({
    code: typeof code === "number" ? code : usualCode,
    reason: typeof reason === "string" ? reason : "",
    message: typeof message === "string" ? message : "",
    ...(isObject(details) && { details }),
  });
}

function parsedOrNothing(text: string): unknown {
  try {
    return parseAnswer(text);
  } catch {
    return undefined; // no JSON: the text itself is what can be told
  }
}

const genericReasons: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ["BadRequest", "the server rejected our request for an unknown reason"],
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  403: ["Forbidden", ""],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  406: ["NotAcceptable", ""],
  409: ["Conflict", "the server reported a conflict"],
  410: ["Gone", ""],
  413: ["RequestEntityTooLarge", ""],
  415: ["UnsupportedMediaType", ""],
  422: ["Invalid", "the server rejected our request due to an error in our request"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  500: ["InternalError", ""],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: [
    "Timeout",
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
};

/** For answers of servers that do not say more (upstream: apimachinery/pkg/api/errors, NewGenericServerResponse). */
function genericError(method: string, path: string, status: number, text: string, contentType: string): ApiError {
  const [reason = "Unknown", usual = ""] = genericReasons[status] ?? [];
  const said = contentType.startsWith("text/") || contentType === "" ? text.trim().slice(0, 2048) : "unknown";
  const message =
    status === 500
      ? `an error on the server (${JSON.stringify(said || "unknown")}) has prevented the request from succeeding`
      : usual ||
        (status >= 500
          ? `an error on the server (${JSON.stringify(said || "unknown")}) has prevented the request from succeeding`
          : said || `the server responded with the status code ${status} but did not return more information`);
  return new ApiError({ code: status, reason, message: `${message}${suffixOf(path, method)}` });
}

/** Which resource was meant, as client-go appends it: `(get pods web)`. */
function suffixOf(path: string, method: string): string {
  const [, , , resource = "", name = ""] =
    /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/(namespaces\/([^/]+)\/)?([^/?]+)(?:\/([^/?]+))?/.exec(path) ?? [];
  if (resource === "") return "";
  return ` (${method.toLowerCase()} ${resource}${name === "" ? "" : ` ${name}`})`;
}
