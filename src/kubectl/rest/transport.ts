// Requests over HTTP/1.1 and TLS to any API server. HTTP/1.1 is what every server and every proxy in between speaks, and what
// connections that are upgraded to streams need anyway.
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import {
  type ConnectionOptions,
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  type SecureContext,
} from "node:tls";
import { createGunzip } from "node:zlib";
import { dialWords } from "#wire/host/dial-words.ts";
import { ServerUnreachable } from "../errors.ts";
import type { IssuedCredentials } from "./credentials.ts";
import { pathWithQuery, type RestRequest, type RestResponse } from "./request.ts";
import { tunnel } from "./tunnel.ts";

export interface TransportOptions {
  readonly server: URL;
  readonly tls: Pick<
    ConnectionOptions,
    "ca" | "cert" | "key" | "servername" | "rejectUnauthorized" | "allowPartialTrustChain"
  >;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly proxy?: URL | undefined;
  readonly compress: boolean;
}

/** A connection that the server agreed to speak another protocol on. */
export interface UpgradedConnection {
  readonly socket: Socket;
  /** What arrived behind the answer already. */
  readonly head: Uint8Array;
  readonly headers: IncomingMessage["headers"];
}

/** Someone else's request. */
export interface PassedRequest {
  readonly method: string;
  /** With its query, as it came. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: Readable;
  /** Whether the path that the server's address has comes before it. */
  readonly isBaseKept: boolean;
}

export class RestTransport {
  readonly #options: TransportOptions;
  #agent: HttpAgent;
  readonly #base: string;
  #issued: IssuedCredentials = {};
  #secureContext: SecureContext | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = options.server.pathname.replace(/\/+$/, "");
    this.#agent = this.#newAgent();
  }

  /** What proves from now on who asks. Connections that were made with another certificate are not used again. */
  use(issued: IssuedCredentials): void {
    const isOther = issued.cert !== this.#issued.cert || issued.key !== this.#issued.key;
    this.#issued = issued;
    if (!isOther) return;
    this.#agent.destroy();
    this.#secureContext = undefined;
    this.#agent = this.#newAgent();
  }

  /** What all connections share is made once: to read certificates takes longer than to connect. */
  get #tls() {
    const { ca: own, cert, key, ...rest } = this.#options.tls;
    const ca = own ?? (rest.rejectUnauthorized ? systemAuthorities() : undefined);
    this.#secureContext ??= createSecureContext({ minVersion: "TLSv1.2", ca, cert, key, ...proofOf(this.#issued) });
    return { ...rest, secureContext: this.#secureContext };
  }

  #newAgent(): HttpAgent {
    const { server, proxy } = this.#options;
    const agent =
      server.protocol === "https:"
        ? new HttpsAgent({ keepAlive: true, ...this.#tls })
        : new HttpAgent({ keepAlive: true });
    if (proxy) this.#throughProxy(agent, proxy);
    return agent;
  }

  /** The full address of a request, for logs. */
  urlOf(request: RestRequest): string {
    return `${this.#options.server.origin}${this.#base}${pathWithQuery(request)}`;
  }

  /** What is sent besides the body. */
  headersOf(request: RestRequest): Readonly<Record<string, string | readonly string[]>> {
    return {
      accept: request.accept ?? "application/json",
      ...(this.#options.compress && { "accept-encoding": "gzip" }),
      ...(request.contentType !== undefined && { "content-type": request.contentType }),
      ...this.#ownHeaders,
      ...request.headers,
    };
  }

  get #ownHeaders(): Readonly<Record<string, string | readonly string[]>> {
    const { authorization } = this.#issued;
    return { ...this.#options.headers, ...(authorization !== undefined && { authorization }) };
  }

  /** Rejects with ServerUnreachable; the answer may be any. */
  async send(request: RestRequest, signal: AbortSignal): Promise<RestResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = this.#begin(request, signal, {});
    sent.once("response", resolve);
    sent.on("error", reject); // also when it is given up later, which whoever reads the answer learns from that
    sent.end(request.body);
    try {
      const answer = await promise;
      answer.on("error", () => undefined); // told to whoever reads it, if anyone does
      return {
        status: answer.statusCode ?? 0,
        statusText: answer.statusMessage ?? "",
        headers: answer.headers,
        body: this.#bodyOf(answer, signal),
      };
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  /** Asks for another protocol. A server that does not agree has its answer returned. */
  async upgrade(request: RestRequest, signal: AbortSignal): Promise<UpgradedConnection | RestResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<UpgradedConnection | RestResponse>();
    const sent = this.#begin(request, signal, { agent: this.#freshAgent() });
    sent.once("upgrade", (answer, socket, head) =>
      resolve({ socket: socket as Socket, head, headers: answer.headers }),
    );
    sent.once("response", (answer) => {
      const { statusCode: status = 0, statusMessage: statusText = "", headers } = answer;
      resolve({ status, statusText, headers, body: this.#bodyOf(answer, signal) });
    });
    sent.on("error", reject);
    sent.end(request.body);
    try {
      return await promise;
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  /** Passes on what someone else asks, with our credentials where it has none of its own. Rejects with ServerUnreachable. */
  async pass(passed: PassedRequest, signal: AbortSignal): Promise<IncomingMessage | UpgradedConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage | UpgradedConnection>();
    const { server } = this.#options;
    const sent = (server.protocol === "https:" ? httpsRequest : httpRequest)({
      method: passed.method,
      host: server.hostname.replace(/^\[|\]$/g, ""),
      port: this.#port,
      path: `${passed.isBaseKept ? this.#base : ""}${passed.path}`,
      headers: { ...(this.#ownHeaders as Record<string, string>), ...passed.headers, host: server.host },
      agent: passed.headers.upgrade === undefined ? this.#agent : this.#freshAgent(),
      signal,
    });
    minded(sent).once("response", resolve);
    sent.once("upgrade", (answer, socket, head) =>
      resolve({ socket: socket as Socket, head, headers: answer.headers }),
    );
    sent.on("error", reject);
    if (passed.body) passed.body.pipe(sent);
    else sent.end();
    try {
      return await promise;
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #begin(request: RestRequest, signal: AbortSignal, more: RequestOptions) {
    const { server } = this.#options;
    const begin = server.protocol === "https:" ? httpsRequest : httpRequest;
    const sent = begin({
      method: request.method ?? "GET",
      host: server.hostname.replace(/^\[|\]$/g, ""),
      port: this.#port,
      path: `${this.#base}${pathWithQuery(request)}`,
      headers: {
        ...(this.headersOf(request) as Record<string, string>),
        ...(request.body !== undefined && { "content-length": Buffer.byteLength(request.body) }),
      },
      agent: this.#agent,
      signal,
      ...more,
    });
    return minded(sent);
  }

  get #port(): number {
    const { port, protocol } = this.#options.server;
    return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  }

  /** An upgraded connection belongs to whoever upgraded it, and never goes back to the pool. */
  #freshAgent(): HttpAgent {
    if (this.#options.proxy) return this.#agent;
    return this.#options.server.protocol === "https:"
      ? new HttpsAgent({ keepAlive: false, ...this.#tls })
      : new HttpAgent({ keepAlive: false });
  }

  #throughProxy(agent: HttpAgent, proxy: URL): void {
    const { server } = this.#options;
    const host = server.hostname.replace(/^\[|\]$/g, "");
    agent.createConnection = (_options, created) => {
      tunnel(proxy, host, this.#port).then(
        (socket) =>
          created?.(
            null,
            server.protocol === "https:" ? connectTls({ servername: host, ...this.#tls, socket }) : socket,
          ),
        (error: Error) => created?.(error, undefined as never),
      );
      return undefined;
    };
  }

  async *#bodyOf(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const isPacked = answer.headers["content-encoding"] === "gzip";
    const source: AsyncIterable<Uint8Array> = isPacked ? unpacked(answer) : answer;
    try {
      yield* source;
    } catch (error) {
      throw this.#failure(error, signal);
    } finally {
      if (!answer.complete) answer.destroy();
    }
  }

  #failure(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (!(error instanceof Error) || error instanceof ServerUnreachable) return error;
    const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : [];
    const { hostname } = this.#options.server;
    const address = (first as { readonly address?: string }).address ?? hostname;
    return new ServerUnreachable(this.#options.server.host, dialWords(first, address, this.#port), { cause: error });
  }
}

/** What is cut on the way is cut here: a pipe alone would wait for the rest. */
function unpacked(answer: IncomingMessage): AsyncIterable<Uint8Array> {
  const result = answer.pipe(createGunzip());
  answer.once("error", (error) => result.destroy(error));
  return result;
}

/** Whom this system trusts, as Go does where nobody else is named; where that cannot be told, whom Node trusts. */
function systemAuthorities(): string[] {
  const system = getCACertificates("system");
  return system.length > 0 ? system : getCACertificates("bundled");
}

const proofOf = ({ cert, key }: IssuedCredentials) => ({
  ...(cert !== undefined && { cert }),
  ...(key !== undefined && { key }),
});

const mindedSockets = new WeakSet<Socket>();

/** A request that is given up in the moment its socket goes back to the pool leaves an error there that nobody else listens for. */
function minded(sent: ClientRequest): ClientRequest {
  return sent.once("socket", (socket) => {
    if (mindedSockets.has(socket)) return;
    mindedSockets.add(socket);
    socket.on("error", () => undefined); // the request itself fails with it
  });
}
