// Calls webhooks: finds where one is, posts a document to it, and reads the document that it answers, within a time and a size. Admission,
// conversion, and reviews of tokens and access all call theirs through this.
// Follows apiserver/pkg/util/webhook/client.go and client-go/rest/request.go upstream, whose words people search for. Unlike upstream, a
// redirect is not followed and an answer is not read beyond a limit: either would let whoever runs a webhook reach further than its name.
import { fromBase64 } from "#base/base64.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import { quote } from "#base/quote.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import { Unreachable } from "#serving/proxy/outgoing.ts";
import { internalError, serviceUnavailable } from "#wire/status.ts";
import { serverAnswerError } from "./server-answer.ts";
import type { ServiceEndpoints } from "./service-endpoints.ts";
import type { WebhookCredentials, WebhookTarget, WebhookTransport } from "./transport.ts";

/** Where a webhook is, as configurations say it. */
export interface WebhookClientConfig {
  readonly url?: string | undefined;
  readonly service?:
    | {
        readonly namespace: string;
        readonly name: string;
        readonly path?: string | undefined;
        /** Defaults to 443. */
        readonly port?: number | undefined;
      }
    | undefined;
  /** PEM in base64; without it the authorities of the machine are believed. */
  readonly caBundle?: string | undefined;
}

/** Who we are to a webhook at `host:port`. */
export type CredentialsOf = (hostAndPort: string) => WebhookCredentials | undefined;

export interface WebhookCallOptions {
  readonly timeoutMs: number;
  /** Whether the webhook is told how long it may take, as `?timeout=10s`. */
  readonly tellsTimeout?: boolean;
  readonly maxBytes?: number;
  readonly userAgent?: string;
  readonly credentialsOf?: CredentialsOf;
}

/** A review names one object, and a patch of it is hardly larger than the object may be. */
export const usualMaxBytes = 4 * 1024 * 1024;

/**
 * A webhook could not be called, or did not answer as one: not a refusal by it. The message is what upstream's client would say, for instance
 * `Post "https://a.b.svc:443/?timeout=10s": dial tcp 10.0.0.7:443: connect: connection refused`.
 */
export class WebhookCallError extends Error {
  override readonly name = "WebhookCallError";
  /** What upstream counts the failure under. */
  readonly status: ApiError;

  constructor(message: string, status: ApiError, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

export interface WebhookClientOptions {
  readonly transport: WebhookTransport;
  readonly endpoints: Pick<ServiceEndpoints, "resolve">;
  readonly clock: Clock;
}

export class WebhookClient {
  readonly #options: WebhookClientOptions;

  constructor(options: WebhookClientOptions) {
    this.#options = options;
  }

  /** Posts JSON to the webhook of a configuration, and answers the JSON that came back. Throws WebhookCallError. */
  async call(
    config: WebhookClientConfig,
    body: string,
    options: WebhookCallOptions,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { service, caBundle } = config;
    const url = urlOf(config);
    const credentials = options.credentialsOf?.(`${url.hostname}:${url.port || "443"}`);
    const target: WebhookTarget = {
      url,
      ...(caBundle && { ca: decoded(caBundle) }),
      ...(credentials && { credentials }),
    };
    if (!service) return this.callAt(target, body, options, signal);
    const { namespace, name, port = 443 } = service;
    const dial = () => this.#options.endpoints.resolve(namespace, name, port);
    return this.callAt(target, body, options, signal, dial);
  }

  /** Posts JSON to a place that is known, for instance from a kubeconfig. `dial` finds the address for each attempt. */
  async callAt(
    target: WebhookTarget,
    body: string,
    options: WebhookCallOptions,
    signal: AbortSignal,
    dial?: () => NonNullable<WebhookTarget["dial"]>,
  ): Promise<unknown> {
    const {
      timeoutMs,
      tellsTimeout = true,
      maxBytes = usualMaxBytes,
      userAgent = "kube-apiserver-admission",
    } = options;
    const path = `${target.url.pathname}${tellsTimeout ? `?timeout=${Math.ceil(timeoutMs / 1000)}s` : ""}`;
    const place = `${target.url.protocol}//${hostIn(target.url, dial !== undefined)}${path}`;
    const failed = (why: string, cause: unknown) =>
      new WebhookCallError(`Post ${quote(place)}: ${why}`, serviceUnavailable("error calling webhook"), { cause });
    const timeUp = new AbortController();
    const cancel = this.#options.clock.after(timeoutMs, () => timeUp.abort(new Error("context deadline exceeded")));
    const limited = AbortSignal.any([signal, timeUp.signal]);
    try {
      const post = { path, headers: headersOf(target, userAgent, dial !== undefined), body, maxBytes };
      const answer = await this.#options.transport.post(dial ? { ...target, dial: dial() } : target, post, limited);
      if (answer.code < 200 || answer.code > 206) {
        const error = serverAnswerError(answer);
        throw new WebhookCallError(error.message, error);
      }
      return parsed(answer.text);
    } catch (error) {
      if (timeUp.signal.aborted && !signal.aborted) throw failed("context deadline exceeded", error);
      if (error instanceof Unreachable || (error instanceof ApiError && !signal.aborted))
        throw failed(error.message, error);
      throw error;
    } finally {
      cancel();
    }
  }
}

/** Upstream joins the path of a service to its name as clients do: without a slash at its end. */
function urlOf({ url, service }: WebhookClientConfig): URL {
  if (!service && url === undefined) throw noPlace("webhook configuration must have either service or URL");
  const { namespace, name, path = "", port = 443 } = service ?? { namespace: "", name: "" };
  const text = service ? `https://${name}.${namespace}.svc:${port}${path}` : (url ?? "");
  const parsed = URL.parse(text);
  if (!parsed) throw noPlace(`Unparsable URL: ${quote(text)}`);
  parsed.pathname = parsed.pathname.replace(/\/{2,}/g, "/").replace(/(.)\/$/, "$1");
  return parsed;
}

const noPlace = (why: string) => new WebhookCallError(why, internalError(why));

/** Services are named with their port even where it is the usual one. */
const hostIn = (url: URL, isService: boolean): string =>
  isService && url.port === "" ? `${url.hostname}:443` : url.host;

const headersOf = ({ url, credentials }: WebhookTarget, userAgent: string, isService: boolean) => ({
  host: hostIn(url, isService),
  "user-agent": userAgent,
  "content-type": "application/json",
  accept: "application/json, */*",
  ...(credentials?.authorization !== undefined && { authorization: credentials.authorization }),
});

const decoded = (base64: string): string => new TextDecoder().decode(fromBase64(base64));

function parsed(text: string): unknown {
  try {
    return parseJson(text).value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const why = `couldn't get version/kind; json parse error: ${error.message}`;
    throw new WebhookCallError(why, serviceUnavailable("error calling webhook"), { cause: error });
  }
}
