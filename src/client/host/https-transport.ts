// Requests to any Kubernetes API server, as JSON over HTTP/2. A response becomes the one that a server of the same process would give, a
// refusal becomes an ApiError, and whatever leaves the outcome unknown becomes ConnectionLost.
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import { decodeUtf8 } from "#schema/json.ts";
import type { ApiRequest, ApiResponse, User } from "#wire/api-request.ts";
import { jsonCodec } from "#wire/json.ts";
import { jsonType } from "#wire/negotiate.ts";
import type { Transport } from "../client.ts";
import { ConnectionLost } from "../connection-lost.ts";
import { errorIn, responseIn, watchedIn } from "../decode-response.ts";
import { measuredTransport } from "../measured-transport.ts";
import { type Metrics, noMetrics } from "../metrics.ts";
import { acceptedBy, contentType } from "../request-media.ts";
import { methods, pathOf } from "../request-url.ts";
import type { Document } from "../server-discovery.ts";
import { type ClientTlsOptions, Http2Session } from "./http2-session.ts";

export interface HttpsTransportOptions extends ClientTlsOptions {
  /** `https://host:port`, with a path if the API is behind one. */
  readonly server: string;
  /** Where to connect to at the moment, if there are several such servers: `https://host:port`. */
  readonly serverNow?: () => string;
  /** Gives the Authorization header of each request; called with the user of the request if that is known. */
  readonly authorization?: (user?: User) => Promise<string | undefined>;
  /** Called when the server has rejected the Authorization header; then `authorization` is called once more. */
  readonly refused?: () => void;
  /** Sent with each request, for instance whom to act as. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly clock: Clock;
  /** How long a request may wait for bytes; watches may be silent for longer. */
  readonly idleMs?: number;
  /** Counts requests and their results, if given. */
  readonly metrics?: Metrics;
}

export interface HttpsTransport {
  readonly transport: Transport;
  /** Gets the text under a path that is not an object's: `/version`, `/knarr/v1/trace/…`. Rejects as `transport` does. */
  read(path: string, asker: Asker): Promise<string>;
  /** The same in a chosen media type; undefined if the content still has the given ETag. */
  document(
    path: string,
    asker: Asker & { readonly accept: string; readonly etag?: string | undefined },
  ): Promise<Document | undefined>;
  /** Shows the certificate of the moment to the server; what is under way goes on. */
  reconnect(): void;
  /** Ends the connection and all that is under way. */
  close(): void;
}

interface Asker {
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

/** Larger responses are refused: clients should list in pages. */
const answerLimit = 256 * 1024 * 1024;

export function httpsTransport(options: HttpsTransportOptions): HttpsTransport {
  const { server, clock, authorization, refused, headers: extra = {}, idleMs = 60_000, metrics = noMetrics } = options;
  const url = new URL(server);
  const { host } = url;
  const base = url.pathname.replace(/\/+$/, "");
  const session = new Http2Session(options.serverNow ?? (() => url.origin), options, clock);

  const transport: Transport = async (request) => {
    request.signal.throwIfAborted();
    const labels = { verb: methods[request.verb], host };
    const received = (bytes: number) => metrics.observe("rest_client_response_size_bytes", labels, bytes);
    const body = request.body && Buffer.from(JSON.stringify(request.body.value()));
    if (body) metrics.observe("rest_client_request_size_bytes", labels, body.length);
    const headers = {
      ...extra,
      ":method": methods[request.verb],
      ":path": `${base}${pathOf(request)}`,
      accept: acceptedBy(request),
      "user-agent": request.userAgent,
      ...(body && { "content-type": contentType(request), "content-length": body.length }),
      ...(request.because !== undefined && { "knarr-because": request.because }),
      ...(request.steps !== undefined && { "knarr-steps": request.steps }),
    };
    const open = async () => {
      const authorized = await authorization?.(request.user);
      const shown = authorized === undefined ? headers : { ...headers, authorization: authorized };
      const stream = session.request(shown, body === undefined);
      if (body) stream.end(body);
      return new Exchange(stream, { signal: request.signal, text: describe(request) }, clock, idleMs);
    };
    try {
      return await answer(await open(), request, received);
    } catch (error) {
      const isStale = refused !== undefined && error instanceof ApiError && error.code === 401;
      if (isStale) refused();
      else if (!(error instanceof StreamRefused)) throw error;
      return answer(await open(), request, received); // the server has done nothing yet: sending it again is safe
    }
  };
  const document: HttpsTransport["document"] = async (path, { userAgent, signal, accept, etag }) => {
    const authorized = await authorization?.();
    const headers = {
      ...extra,
      ":path": `${base}${path}`,
      accept,
      "user-agent": userAgent,
      ...(etag !== undefined && { "if-none-match": etag }),
      ...(authorized !== undefined && { authorization: authorized }),
    };
    const exchange = new Exchange(session.request(headers, true), { signal, text: `get ${path}` }, clock, idleMs);
    const answered = await exchange.headers();
    const code = Number(answered[":status"]);
    const text = decodeUtf8(await wholeAnswer(exchange));
    if (code === 304) return undefined;
    if (code < 200 || code >= 300) throw errorIn(code, text, answered["retry-after"]);
    return { text, etag: answered.etag };
  };
  const read: HttpsTransport["read"] = async (path, asker) =>
    (await document(path, { ...asker, accept: jsonType }))?.text ?? "";
  return {
    transport: measuredTransport(transport, { host, clock, metrics }),
    read,
    document,
    reconnect: () => session.reconnect(),
    close: () => session.close(),
  };
}

async function answer(
  exchange: Exchange,
  request: ApiRequest,
  received: (bytes: number) => void,
): Promise<ApiResponse> {
  const headers = await exchange.headers();
  const code = Number(headers[":status"]);
  const warnings = [headers.warning ?? []].flat().map((text) => String(text));
  if (code >= 200 && code < 300 && request.verb === "watch")
    return watchedIn(request, exchange.chunks("watch"), jsonCodec);
  const bytes = await wholeAnswer(exchange);
  received(bytes.length);
  const text = decodeUtf8(bytes);
  if (code < 200 || code >= 300) throw errorIn(code, text, headers["retry-after"]);
  const response = responseIn(request, code, text);
  return warnings.length > 0 ? { ...response, warnings } : response;
}

async function wholeAnswer(exchange: Exchange): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of exchange.chunks("answer")) {
    parts.push(chunk);
    size += chunk.length;
    if (size > answerLimit)
      throw new Error(`the answer to ${exchange.pending.text} has more than ${answerLimit} bytes`);
  }
  return Buffer.concat(parts, size);
}

/** The server refused the stream before it did anything. */
class StreamRefused extends ConnectionLost {}

interface PendingRequest {
  readonly signal: AbortSignal;
  /** For errors. */
  readonly text: string;
}

/** One request and its response. Every way in which a stream can end becomes a result, an ApiError or ConnectionLost. */
class Exchange {
  readonly pending: PendingRequest;
  readonly #stream: ClientHttp2Stream;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #first: Promise<IteratorResult<Uint8Array>>;
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #aborted = () => this.#cancel();
  #isSilent = false;

  constructor(stream: ClientHttp2Stream, pending: PendingRequest, clock: Clock, idleMs: number) {
    this.pending = pending;
    this.#stream = stream;
    this.#clock = clock;
    this.#idleMs = idleMs;
    // Reading begins at once: Node drops a response that has arrived completely before anyone reads it.
    this.#chunks = stream.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
    this.#first = this.#chunks.next();
    this.#first.catch(() => undefined); // whoever awaits the headers gets the error
    stream.on("error", () => undefined); // whoever reads the stream gets it; nobody may be reading any more
    pending.signal.addEventListener("abort", this.#aborted, { once: true });
    stream.on("close", () => pending.signal.removeEventListener("abort", this.#aborted));
  }

  async headers(): Promise<IncomingHttpHeaders> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingHttpHeaders>();
    let failure: unknown;
    this.#stream.once("response", resolve);
    this.#stream.once("error", (error) => {
      failure = error;
    });
    this.#stream.once("close", () => reject(this.#failed(failure)));
    const heard = this.#deadline();
    try {
      return await promise;
    } finally {
      heard.end();
    }
  }

  /** The body, at the pace of its reader. */
  async *chunks(what: "answer" | "watch"): AsyncGenerator<Uint8Array> {
    const deadline = what === "answer" ? this.#deadline() : undefined;
    // A finished stream is not cancelled: servers limit how often a client may cancel.
    let hasEnded = false;
    try {
      for (let next = await this.#first; !next.done; next = await this.#chunks.next()) {
        deadline?.heard();
        yield next.value;
      }
      hasEnded = true;
      this.pending.signal.throwIfAborted();
      if (this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw new Error(`stream reset: ${this.#stream.rstCode}`);
    } catch (error) {
      throw this.#failed(error);
    } finally {
      deadline?.end();
      if (!hasEnded) this.#cancel();
    }
  }

  /** Closing alone would leave whoever reads the stream waiting. */
  #cancel(): void {
    if (this.#stream.destroyed) return;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#stream.destroy();
  }

  #failed(cause: unknown): unknown {
    const { signal } = this.pending;
    if (signal.aborted) return signal.reason;
    if (cause instanceof ApiError) return cause;
    const text = `${this.pending.text}: ${this.#isSilent ? `no answer within ${this.#idleMs} ms` : "connection lost"}`;
    const isRefused = this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    return new (isRefused ? StreamRefused : ConnectionLost)(text, { cause });
  }

  #deadline(): { heard(): void; end(): void } {
    const silent = () => {
      this.#isSilent = true;
      this.#cancel();
    };
    let cancel = this.#clock.after(this.#idleMs, silent);
    const end = () => cancel();
    const heard = () => {
      cancel();
      cancel = this.#clock.after(this.#idleMs, silent);
    };
    return { heard, end };
  }
}

const describe = ({ verb, resource, namespace, name }: ApiRequest): string =>
  [verb, resource, namespace, name].filter((part) => part !== undefined).join(" ");
