import type { IncomingHttpHeaders } from "node:http2";
import type { Readable, Writable } from "node:stream";
import type { HttpRequest } from "#wire/http.ts";
import type { Bodies } from "./bodies.ts";
import type { Endings } from "./endings.ts";
import type { Peer } from "./peers.ts";

/** A request as one of Node's servers tells of it. */
export interface Incoming {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly content: Readable;
  /** Where the answer goes: what happens to that decides when the request is over. */
  readonly answer: Writable;
  readonly peer: Peer;
}

/** What all requests of a front share. */
export interface RequestContext {
  readonly bodies: Bodies;
  readonly endings: Endings;
}

const noQuery = new URLSearchParams();

/** A request by either protocol. What most handlers do not look at is made when it is asked for: that is a tenth of a get. */
export class FrontRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly headers: HttpRequest["headers"];
  readonly content: Readable;
  readonly clientCertificate: Uint8Array | undefined;
  readonly otherCertificate: HttpRequest["otherCertificate"];
  readonly hasUntrustedCertificate: boolean;
  readonly remoteAddress: string;
  readonly isUnsecured: boolean;
  readonly #rawHeaders: readonly string[];
  readonly #answer: Writable;
  readonly #context: RequestContext;
  #query: URLSearchParams | undefined;
  #signal: AbortSignal | undefined;

  constructor({ method, url, headers, rawHeaders, content, answer, peer }: Incoming, context: RequestContext) {
    const question = url.indexOf("?");
    this.method = method;
    this.url = url;
    this.path = question < 0 ? url : url.slice(0, question);
    this.headers = headers as Record<string, string | undefined>;
    this.content = content;
    this.clientCertificate = peer.clientCertificate;
    this.otherCertificate = peer.otherCertificate;
    this.hasUntrustedCertificate = peer.hasUntrustedCertificate;
    this.remoteAddress = peer.remoteAddress;
    this.isUnsecured = peer.isUnsecured;
    this.#rawHeaders = rawHeaders;
    this.#answer = answer;
    this.#context = context;
    this.#query = question < 0 ? noQuery : undefined;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.url.slice(this.path.length + 1));
    return this.#query;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#context.endings.of(this.#answer);
    return this.#signal;
  }

  headerValues(name: string): readonly string[] {
    const raw = this.#rawHeaders;
    return raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === name);
  }

  hasHeaders(prefix: string): boolean {
    for (let i = 0; i < this.#rawHeaders.length; i += 2)
      if (this.#rawHeaders[i]?.toLowerCase().startsWith(prefix)) return true;
    return false;
  }

  cutOff(): void {
    this.#answer.destroy();
  }

  body(): Promise<Uint8Array> {
    return this.#context.bodies.read(this.content);
  }
}
