// HTTP as the server sees it, free of Node: what a front must understand to serve the API.
import type { Soon } from "#base/soon.ts";
import type { ByteStream } from "./streams/byte-stream.ts";

export interface HttpRequest {
  readonly method: string;
  /** As sent, still escaped, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Path and query as sent, for those who pass a request on. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** All values of a header that may come several times, each as sent. Without this, headers come once. */
  headerValues?(name: string): readonly string[];
  /** Whether there is any header whose name starts so. Without this, `headers` says. */
  hasHeaders?(prefix: string): boolean;
  /** Reads the body; rejects with ApiError 413 beyond the limit. */
  body(): Promise<Uint8Array>;
  /** The body as it comes, of any size. Either this or `body` is read, once. */
  readonly content: AsyncIterable<Uint8Array>;
  /** DER of the client's certificate, if it sent one that our authority signed. */
  readonly clientCertificate: Uint8Array | undefined;
  /** DER of a client certificate that another authority of the front signed, and the name of that authority. It does not identify a user. */
  readonly otherCertificate?: { readonly authority: string; readonly bytes: Uint8Array } | undefined;
  /** The client sent a certificate that is not valid: of an unknown authority, expired, or not meant for clients. */
  readonly hasUntrustedCertificate?: boolean;
  readonly remoteAddress: string;
  /** The request came without TLS, from this machine, by a port for such requests. */
  readonly isUnsecured?: boolean;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
  /** Ends the request and its answer, however much of that has been sent. */
  cutOff?(): void;
}

/** Responses depend on the user and on the moment, so no cache may keep them. */
export const uncached = { "cache-control": "no-cache, private" } as const;
/** Keeps browsers from guessing a type. Upstream sends it with refusals of authorization and with plain texts, nowhere else. */
export const nosniff = { "x-content-type-options": "nosniff" };

export interface HttpResponse {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Whole, in parts, or as it comes. A stream is flushed part by part. */
  readonly body: string | Uint8Array | Parts | AsyncIterable<Uint8Array>;
  /** With code 101, the answer to a request to upgrade: takes over the connection, which is dropped when it is done. */
  readonly upgraded?: (connection: ByteStream) => Promise<void>;
}

/** A body of known size whose parts are made while it is sent. */
export interface Parts extends Iterable<Uint8Array> {
  readonly size: number;
}

/** Answers at once where nothing has to be waited for. */
export type HttpHandler = (request: HttpRequest) => Soon<HttpResponse>;

/** Uint8Array is checked first: an `in` test on bytes takes as long as all other work on the headers of a response. */
const isBytes = (body: HttpResponse["body"]): body is Uint8Array => body instanceof Uint8Array;

export const isParts = (body: HttpResponse["body"]): body is Parts =>
  typeof body === "object" && !isBytes(body) && "size" in body;

export const isStream = (body: HttpResponse["body"]): body is AsyncIterable<Uint8Array> =>
  typeof body === "object" && !isBytes(body) && Symbol.asyncIterator in body;
