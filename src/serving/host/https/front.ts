// The HTTPS front: HTTP/2 and HTTP/1.1 on one port. It knows nothing of Kubernetes; what clients may take of it is in limits.ts.
// HTTP/2 goes through the stream API: Node's compatibility layer over it costs a third of the throughput.
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type Clock, systemClock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Soon } from "#base/soon.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "#wire/http.ts";
import { Bodies } from "./bodies.ts";
import { Joiner } from "./body-pieces.ts";
import { ConnectionShares } from "./connection-shares.ts";
import { Endings } from "./endings.ts";
import { FrontTls } from "./front-tls.ts";
import { type FrontLimits, usualLimits } from "./limits.ts";
import { type Peer, Peers, unsecuredPeer } from "./peers.ts";
import { tellPlainClients } from "./plain-clients.ts";
import { FrontRequest } from "./request.ts";
import { encoded, isDisconnect, lingerFor, type Sendable, sendHttp1, sendHttp2, sendUpgrade } from "./sending.ts";
import type { CertificateFor } from "./server-names.ts";
import { tellUnknownMethods, type WholeAnswer } from "./unknown-methods.ts";
import { isLoopback, unsecuredServer } from "./unsecured.ts";

/** Whom a front is to its clients, and whom it knows. In PEM. */
export interface FrontCertificates {
  /** What clients are shown that ask for no name, or for one that `certificateFor` does not know. */
  readonly cert: string;
  readonly key: string;
  /** Certificates of the authorities whose clients are known; every client is asked for a certificate, none must have one. */
  readonly clientCa: string | undefined;
  /** Further authorities, by what they are for; see `HttpRequest.otherCertificate`. */
  readonly otherClientCas?: Readonly<Record<string, string>>;
}

export interface HttpsOptions extends FrontCertificates {
  /** Chooses among several certificates by the name that a client asks for. Called for every connection. */
  readonly certificateFor?: CertificateFor;
  readonly handler: HttpHandler;
  /** What is answered over HTTP/1.1 to a method that the parser does not know; 400 by default. */
  readonly unknownMethod?: WholeAnswer;
  readonly log: Log;
  /** The oldest version of TLS that is spoken; defaults to 1.2. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** What may be spoken, in OpenSSL's words; defaults to Node's choice. */
  readonly ciphers?: string | undefined;
  /** Asked for each request over HTTP/2: whether the client shall turn to another server behind the same address. */
  readonly sendsAway?: (() => boolean) | undefined;
  /** Those that differ from the usual. */
  readonly limits?: Partial<FrontLimits>;
  /** Times how long bodies take. */
  readonly clock?: Clock;
}

/** A socket as Node's servers take it instead of a port. */
export interface ListenHandle {
  close(): void;
}

export interface HttpsFront {
  /** Starts to listen; resolves with the port. */
  listen(port: number, address: string): Promise<number>;
  /** The same on a socket that listens already, wherever that was opened. */
  listenOn(handle: ListenHandle): Promise<number>;
  /** The same without TLS, to this machine alone; requests that come that way say so. Resolves with the port. */
  listenUnsecured(port: number, address: string): Promise<number>;
  /** New connections see these. Clients that are connected count for what the new authorities say of them. */
  renew(certificates: FrontCertificates): void;
  /**
   * Takes no new connections, and waits for the requests under way, at most `graceMs`. Answers without an end, as watches are,
   * come to one: their signals abort, as all do when the time is over.
   */
  close(graceMs: number): Promise<void>;
  readonly server: Http2SecureServer;
}

/** After this time without a word the other end is asked whether it is still there. */
const silenceMs = 15_000;

export const httpsFront = (options: HttpsOptions): HttpsFront => new Front(options);

class Front implements HttpsFront {
  readonly server: Http2SecureServer;
  readonly #unsecured: Server;
  readonly #handler: HttpHandler;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #bodies: Bodies;
  readonly #endings = new Endings();
  readonly #context: { readonly bodies: Bodies; readonly endings: Endings };
  readonly #peers: Peers;
  readonly #tls: FrontTls;
  readonly #sendsAway: () => boolean;
  readonly #joiner = new Joiner();
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<Http2Session>();

  constructor(options: HttpsOptions) {
    const { handler, log, clock = systemClock } = options;
    const limits = { ...usualLimits(), ...options.limits };
    this.#tls = new FrontTls(options);
    this.#sendsAway = options.sendsAway ?? (() => false);
    this.#handler = handler;
    this.#log = log;
    this.#clock = clock;
    this.#bodies = new Bodies(limits, clock);
    this.#context = { bodies: this.#bodies, endings: this.#endings };
    this.#peers = new Peers(this.#tls.authorities);
    this.server = secureServer(this.#tls, limits);
    this.#unsecured = unsecuredServer(http1Limits(limits), {
      request: (message, response) => this.#request(message, response, unsecuredPeer(message)),
      upgrade: (message, socket, head) => this.#upgrade(message, socket, head, unsecuredPeer(message)),
    });
    const { unknownMethod } = options;
    if (unknownMethod) for (const one of [this.server, this.#unsecured]) tellUnknownMethods(one, unknownMethod);
    this.#takeRequests();
    this.#followConnections(limits);
  }

  listen(port: number, address: string): Promise<number> {
    return listening(this.server, () => this.server.listen(port, address));
  }

  listenOn(handle: ListenHandle): Promise<number> {
    return listening(this.server, () => this.server.listen(handle));
  }

  async listenUnsecured(port: number, address: string): Promise<number> {
    if (!isLoopback(address)) throw new Error(`${address} is not an address of this machine alone`);
    return listening(this.#unsecured, () => this.#unsecured.listen(port, address));
  }

  renew(certificates: FrontCertificates): void {
    this.#tls.renew(certificates, this.server);
    this.#peers.trust(this.#tls.authorities);
  }

  async close(graceMs: number): Promise<void> {
    const servers = [this.server, this.#unsecured];
    const closed = Promise.all(servers.map((one) => new Promise((resolve) => one.close(resolve))));
    for (const session of this.#sessions) session.close();
    this.#endings.stop(new Error("the server is stopping"));
    const { promise: cut, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(graceMs, () => {
      this.#endings.cutOff();
      for (const socket of this.#sockets) socket.destroy();
      resolve();
    });
    await Promise.race([closed, cut]).finally(cancel);
    this.#bodies.close();
  }

  #takeRequests(): void {
    const { server } = this;
    server.on("request", (message: IncomingMessage, response: ServerResponse) => {
      if (message.httpVersionMajor < 2) this.#request(message, response, this.#peers.of(message.socket as TLSSocket));
    });
    server.on("upgrade", (message: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(message, socket, head, this.#peers.of(socket as TLSSocket)),
    );
    // Adding a "request" listener makes Node wrap every HTTP/2 stream in its compatibility layer; ours replaces it.
    server.removeAllListeners("stream");
    type Sent = readonly [
      stream: ServerHttp2Stream,
      headers: IncomingHttpHeaders,
      flags: number,
      raw: readonly string[],
    ];
    const failed = (error: Error) => this.#log.debug("stream failed", { error });
    server.on("stream", (...[stream, headers, , rawHeaders]: Sent) => {
      stream.on("error", failed);
      this.#stream(stream, headers, rawHeaders);
    });
  }

  #followConnections({ idleMs, connections }: FrontLimits): void {
    const { server } = this;
    const log = this.#log;
    const shares = new ConnectionShares(connections, log);
    // Streams that are open end on their own; without any the connection ends at once.
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.setTimeout(idleMs, () => session.close());
    });
    server.on("drop", () => log.warn("connection dropped: too many are open", { limit: connections }));
    server.on("sessionError", (error) => log.debug("session failed", { error }));
    server.on("tlsClientError", (error) => log.debug("TLS handshake failed", { error }));
    tellPlainClients(server);
    const connected = (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", (error) => log.debug("connection failed", { error }));
    };
    server.on("connection", (socket: Socket) => shares.take(socket)); // before TLS, which is work for whoever asks
    server.on("secureConnection", connected);
    this.#unsecured.on("connection", (socket) => shares.take(socket) && connected(socket));
  }

  #stream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    const [method, url] = [String(headers[":method"]), String(headers[":path"])];
    const peer = this.#peers.of(stream.session);
    const incoming = { method, url, headers, rawHeaders, content: stream, answer: stream, peer };
    this.#respond(new FrontRequest(incoming, this.#context), (answer) => {
      // The session goes on until its streams have ended, this one among them.
      if (this.#sendsAway()) stream.session?.close();
      const sent = sendHttp2(stream, answer);
      if (!this.#bodies.isCutOff(stream)) return sent;
      return Promise.resolve(sent).then(() => stream.close(constants.NGHTTP2_NO_ERROR));
    });
  }

  #request(message: IncomingMessage, response: ServerResponse, peer: Peer): void {
    const { method = "GET", url = "/", headers, rawHeaders } = message;
    const incoming = { method, url, headers, rawHeaders, content: message, answer: response, peer };
    this.#respond(new FrontRequest(incoming, this.#context), async (answer) => {
      if (this.#endings.isStopping) response.shouldKeepAlive = false;
      await sendHttp1(response, answer);
      lingerFor(message, this.#clock);
      if (this.#endings.isStopping) message.socket.end();
    });
  }

  #upgrade(message: IncomingMessage, socket: Duplex, head: Buffer, peer: Peer): void {
    const { method = "GET", url = "/", headers, rawHeaders } = message;
    const incoming = { method, url, headers, rawHeaders, content: Readable.from([]), answer: socket, peer };
    const request = new FrontRequest(incoming, this.#context);
    this.#respond(request, (answer) => sendUpgrade({ message, socket, head }, answer, request.signal));
  }

  /** Answers at once what the handler answers at once: promises would be a tenth of a get. */
  #respond(request: HttpRequest, send: Send): void {
    let response: Soon<HttpResponse>;
    try {
      response = this.#handler(request);
    } catch (error) {
      response = Promise.reject(error);
    }
    if (!(response instanceof Promise)) {
      this.#send(request, response, send);
      return;
    }
    response.then(
      (late) => this.#send(request, late, send),
      (error: unknown) => {
        if (request.signal.aborted) return;
        this.#log.error("request failed", { method: request.method, path: request.path, error });
        this.#send(request, internalError, send);
      },
    );
  }

  #send(request: HttpRequest, response: HttpResponse, send: Send): void {
    const endings = this.#endings;
    if (endings.isStopping) endings.end(request.signal);
    const failed = (error: unknown) => {
      if (!request.signal.aborted && !isDisconnect(error))
        this.#log.warn("answer could not be sent", { path: request.path, error });
    };
    try {
      const answer = encoded(response, request.headers["accept-encoding"], this.#joiner);
      const sent = answer instanceof Promise ? answer.then(send) : send(answer);
      if (sent instanceof Promise) sent.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

type Send = (response: Sendable) => Promise<void> | undefined;

const internalError: HttpResponse = { code: 500, headers: { "content-type": "text/plain" }, body: "internal error\n" };

function secureServer(tls: FrontTls, limits: FrontLimits): Http2SecureServer {
  const server = createSecureServer({
    ...tls.context,
    ...(tls.nameCallback && { SNICallback: tls.nameCallback }),
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
    handshakeTimeout: limits.handshakeMs,
    keepAlive: true,
    keepAliveInitialDelay: silenceMs,
    settings: {
      maxConcurrentStreams: limits.streams,
      maxHeaderListSize: limits.headerBytes,
      initialWindowSize: 256 * 1024,
    },
    maxSessionMemory: limits.sessionMebibytes,
    maxSessionInvalidFrames: 100,
    maxHeaderListPairs: limits.headerPairs,
    streamResetBurst: limits.resets,
    streamResetRate: limits.resetsPerSecond,
    ...http1Limits(limits),
  });
  if (limits.connections !== undefined) server.maxConnections = limits.connections;
  return server;
}

/** By HTTP/1.1 a connection has one request at a time, so that the times of one bound the other. Bodies have a time of their own. */
const http1Limits = ({ headersMs, headerBytes, idleMs }: FrontLimits) => ({
  maxHeaderSize: headerBytes,
  headersTimeout: headersMs,
  requestTimeout: 0,
  connectionsCheckingInterval: Math.min(headersMs, 5000),
  keepAliveTimeout: idleMs,
});

const listening = (server: Server, listen: () => void): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
    listen();
  });
