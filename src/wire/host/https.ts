// The HTTPS front: HTTP/2 and HTTP/1.1 on one port. It knows nothing of Kubernetes; what clients may take of it is in limits.ts.
// HTTP/2 goes through the stream API: Node's compatibility layer over it costs a third of the throughput.
import { type IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import { type Duplex, Readable, type Writable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type Clock, systemClock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { type HttpHandler, type HttpRequest, type HttpResponse, isParts, isStream } from "../http.ts";
import { Bodies, clientIsGone } from "./bodies.ts";
import { ConnectionShares } from "./connection-shares.ts";
import { type FrontLimits, usualLimits } from "./limits.ts";
import { tellPlainClients } from "./plain-clients.ts";
import { gzipped, Joiner, pump } from "./send.ts";
import { closeGently, socketStream } from "./streams/socket-stream.ts";
import { isLoopback, unsecuredServer } from "./unsecured.ts";

export interface HttpsOptions {
  readonly cert: string;
  readonly key: string;
  /** Certificates of the authorities whose clients are known; every client is asked for a certificate, none must have one. */
  readonly clientCa: string | undefined;
  readonly handler: HttpHandler;
  readonly log: Log;
  /** The oldest version of TLS that is spoken; 1.2 unless told. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
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
  /**
   * Takes no new connections, and waits for the requests under way, at most `graceMs`. Answers without an end, as watches are,
   * come to one: their signals abort, as all do when the time is over.
   */
  close(graceMs: number): Promise<void>;
  readonly server: Http2SecureServer;
}

const noQuery = new URLSearchParams();
const noHeaders: NonNullable<HttpResponse["headers"]> = {};

const zip = promisify(gzip);
/** Smaller answers are not worth the work; upstream draws the same line. */
const gzipFrom = 128 * 1024;
/** How long a client may take to read the end of an upgraded connection, or an answer that came before all was sent. */
const lingerMs = 1000;
/** After this time without a word the other end is asked whether it is still there. */
const silenceMs = 15_000;

export function httpsFront(options: HttpsOptions): HttpsFront {
  const { handler, log, clock = systemClock } = options;
  const limits = { ...usualLimits(), ...options.limits };
  const bodies = new Bodies(limits, clock);
  const endings = new Endings();
  const sockets = new Set<Socket>();
  const shares = new ConnectionShares(limits.connections, log);
  const sessions = new Set<Http2Session>();
  const peers = new Peers();
  const joiner = new Joiner();

  const server = createSecureServer({
    cert: options.cert,
    key: options.key,
    ...(options.clientCa !== undefined && { ca: options.clientCa }),
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
    minVersion: options.minVersion ?? "TLSv1.2",
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

  const respond = async (request: HttpRequest, send: (response: Sendable) => Promise<void> | undefined) => {
    let response: HttpResponse;
    try {
      response = await handler(request);
    } catch (error) {
      if (request.signal.aborted) return;
      log.error("request failed", { method: request.method, path: request.path, error });
      response = { code: 500, headers: { "content-type": "text/plain" }, body: "internal error\n" };
    }
    if (endings.isStopping) endings.end(request.signal);
    try {
      const answer = encoded(response, request.headers["accept-encoding"], joiner);
      await send(answer instanceof Promise ? await answer : answer);
    } catch (error) {
      if (!request.signal.aborted && !isDisconnect(error))
        log.warn("answer could not be sent", { path: request.path, error });
    }
  };

  const onRequest = (message: IncomingMessage, response: ServerResponse, peer: Peer) => {
    const { method = "GET", url = "/" } = message;
    const request = new FrontRequest(method, url, message, message, peer, bodies, () => endings.of(response));
    void respond(request, async (answer) => {
      if (endings.isStopping) response.shouldKeepAlive = false;
      await sendHttp1(response, answer);
      lingerFor(message, clock);
      if (endings.isStopping) message.socket.end();
    });
  };
  const onUpgrade = (message: IncomingMessage, socket: Duplex, head: Buffer, peer: Peer) => {
    const { method = "GET", url = "/" } = message;
    const request = new FrontRequest(method, url, message, Readable.from([]), peer, bodies, () => endings.of(socket));
    void respond(request, (answer) => sendUpgrade(message, socket, head, answer, request.signal));
  };
  server.on("request", (message: IncomingMessage, response: ServerResponse) => {
    if (message.httpVersionMajor < 2) onRequest(message, response, peers.of(message.socket as TLSSocket));
  });
  server.on("upgrade", (message: IncomingMessage, socket: Duplex, head: Buffer) =>
    onUpgrade(message, socket, head, peers.of(socket as TLSSocket)),
  );
  const unsecured = unsecuredServer(http1Limits(limits), {
    request: (message, response) => onRequest(message, response, unsecuredPeer(message)),
    upgrade: (message, socket, head) => onUpgrade(message, socket, head, unsecuredPeer(message)),
  });
  // Adding a "request" listener makes Node wrap every HTTP/2 stream in its compatibility layer; ours replaces it.
  server.removeAllListeners("stream");
  type Sent = readonly [stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: readonly string[]];
  const streamFailed = (error: Error) => log.debug("stream failed", { error });
  server.on("stream", (...[stream, headers, , rawHeaders]: Sent) => {
    stream.on("error", streamFailed);
    const peer = peers.of(stream.session);
    const [method, url] = [String(headers[":method"]), String(headers[":path"])];
    const sent = { headers, rawHeaders };
    const request = new FrontRequest(method, url, sent, stream, peer, bodies, () => endings.of(stream));
    void respond(request, (answer) => {
      const sent = sendHttp2(stream, answer);
      if (!bodies.isCutOff(stream)) return sent;
      return Promise.resolve(sent).then(() => stream.close(constants.NGHTTP2_NO_ERROR));
    });
  });
  // Streams that are open end on their own; without any the connection ends at once.
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.setTimeout(limits.idleMs, () => session.close());
  });
  server.on("drop", () => log.warn("connection dropped: too many are open", { limit: limits.connections }));
  server.on("sessionError", (error) => log.debug("session failed", { error }));
  server.on("tlsClientError", (error) => log.debug("TLS handshake failed", { error }));
  tellPlainClients(server);
  const connected = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", (error) => log.debug("connection failed", { error }));
  };
  server.on("connection", (socket: Socket) => shares.take(socket)); // before TLS, which is work for whoever asks
  server.on("secureConnection", connected);
  unsecured.on("connection", (socket) => shares.take(socket) && connected(socket));

  return {
    server,
    listen: (port, address) => listening(server, () => server.listen(port, address)),
    listenOn: (handle) => listening(server, () => server.listen(handle)),
    async listenUnsecured(port, address) {
      if (!isLoopback(address)) throw new Error(`${address} is not an address of this machine alone`);
      return listening(unsecured, () => unsecured.listen(port, address));
    },
    async close(graceMs) {
      const closed = Promise.all([server, unsecured].map((one) => new Promise((resolve) => one.close(resolve))));
      for (const session of sessions) session.close();
      endings.stop(new Error("the server is stopping"));
      const { promise: cut, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(graceMs, () => {
        endings.cutOff();
        for (const socket of sockets) socket.destroy();
        resolve();
      });
      await Promise.race([closed, cut]).finally(cancel);
      bodies.close();
    },
  };
}

const listening = (server: Server, listen: () => void): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
    listen();
  });

/** A request by either protocol. What most handlers do not look at is made when it is asked for: that is a tenth of a get. */
class FrontRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly headers: HttpRequest["headers"];
  readonly content: Readable;
  readonly clientCertificate: Uint8Array | undefined;
  readonly hasUntrustedCertificate: boolean;
  readonly remoteAddress: string;
  readonly isUnsecured: boolean;
  readonly #rawHeaders: readonly string[];
  readonly #bodies: Bodies;
  readonly #ending: () => AbortSignal;
  #query: URLSearchParams | undefined;
  #signal: AbortSignal | undefined;

  constructor(
    method: string,
    url: string,
    { headers, rawHeaders }: { readonly headers: IncomingHttpHeaders; readonly rawHeaders: readonly string[] },
    content: Readable,
    { clientCertificate, hasUntrustedCertificate = false, remoteAddress, isUnsecured = false }: Peer,
    bodies: Bodies,
    ending: () => AbortSignal,
  ) {
    const question = url.indexOf("?");
    this.method = method;
    this.url = url;
    this.path = question < 0 ? url : url.slice(0, question);
    this.headers = headers as Record<string, string | undefined>;
    this.content = content;
    this.clientCertificate = clientCertificate;
    this.hasUntrustedCertificate = hasUntrustedCertificate;
    this.remoteAddress = remoteAddress;
    this.isUnsecured = isUnsecured;
    this.#rawHeaders = rawHeaders;
    this.#bodies = bodies;
    this.#ending = ending;
    this.#query = question < 0 ? noQuery : undefined;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.url.slice(this.path.length + 1));
    return this.#query;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#ending();
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

  body(): Promise<Uint8Array> {
    return this.#bodies.read(this.content);
  }
}

/** Signals that abort when a client is gone before its answer is, or when the server stops. AbortSignal.any costs 6 µs a request. */
class Endings {
  readonly #open = new Map<AbortController, Writable>();
  #reason: Error | undefined;

  get isStopping(): boolean {
    return this.#reason !== undefined;
  }

  of(answer: Writable): AbortSignal {
    const controller = new AbortController();
    if (this.#reason && isBegun(answer)) controller.abort(this.#reason);
    else if (answer.destroyed) controller.abort(clientIsGone);
    else {
      this.#open.set(controller, answer);
      answer.on("close", () => {
        this.#open.delete(controller);
        // Node ends the answer of an HTTP/2 stream that its client has reset, so that it looks finished.
        const isReset = "aborted" in answer && answer.aborted === true;
        if (isReset || !answer.writableFinished) controller.abort(clientIsGone);
      });
    }
    return controller.signal;
  }

  /** What is being answered goes on only if it has an end; what is not yet is waited for. */
  stop(reason: Error): void {
    this.#reason = reason;
    for (const [controller, answer] of this.#open) if (isBegun(answer)) controller.abort(reason);
  }

  /** For a request whose answer begins after the server was told to stop. */
  end(signal: AbortSignal): void {
    for (const controller of this.#open.keys()) if (controller.signal === signal) controller.abort(this.#reason);
  }

  cutOff(): void {
    for (const controller of this.#open.keys()) controller.abort(this.#reason);
  }
}

/** A connection that was taken over has no headers, and no end of its own. */
const isBegun = (answer: Writable): boolean => !("headersSent" in answer) || answer.headersSent === true;

interface Peer {
  readonly clientCertificate: Uint8Array | undefined;
  readonly hasUntrustedCertificate?: boolean;
  readonly remoteAddress: string;
  readonly isUnsecured?: boolean;
}

const unsecuredPeer = ({ socket }: IncomingMessage): Peer => ({
  clientCertificate: undefined,
  remoteAddress: socket.remoteAddress ?? "",
  isUnsecured: true,
});

/** Who is at the other end of a connection. To ask TLS for a certificate takes 100 µs: that is done once, not for each request. */
class Peers {
  /** By the socket, or by the HTTP/2 session, whose socket is behind a proxy that is slow to ask. */
  readonly #known = new WeakMap<TLSSocket | Http2Session, Peer>();

  of(connection: TLSSocket | Http2Session | undefined): Peer {
    if (!connection) return { clientCertificate: undefined, remoteAddress: "" };
    const known = this.#known.get(connection);
    if (known) return known;
    const socket = "getPeerCertificate" in connection ? connection : (connection.socket as TLSSocket);
    const shown: Buffer | undefined = socket.getPeerCertificate().raw;
    const peer = {
      clientCertificate: socket.authorized ? shown : undefined,
      hasUntrustedCertificate: shown !== undefined && !socket.authorized,
      remoteAddress: socket.remoteAddress ?? "",
    };
    this.#known.set(connection, peer);
    return peer;
  }
}

/** By HTTP/1.1 a connection has one request at a time, so that the times of one bound the other. Bodies have a time of their own. */
const http1Limits = ({ headersMs, headerBytes, idleMs }: FrontLimits) => ({
  maxHeaderSize: headerBytes,
  headersTimeout: headersMs,
  requestTimeout: 0,
  connectionsCheckingInterval: Math.min(headersMs, 5000),
  keepAliveTimeout: idleMs,
});

/** An answer may come before its request has. What still comes is read and forgotten for a while, so that the client gets to see the answer. */
function lingerFor(message: IncomingMessage, clock: Clock): void {
  if (message.complete || message.destroyed) return;
  const cancel = clock.after(lingerMs, () => message.socket.destroy());
  for (const last of ["end", "close"]) message.once(last, cancel);
  message.resume();
}

/** The answer ready to be sent: compressed where that is wanted and worth it. */
function encoded(response: HttpResponse, accepted: string | undefined, joiner: Joiner): Sendable | Promise<Sendable> {
  const { code, body, headers = noHeaders, upgraded } = response;
  if (isStream(body)) return { code, headers, body, upgraded };
  const size = isParts(body) ? body.size : body.length;
  const isZipped = size >= gzipFrom && accepted !== undefined && accepted.includes("gzip");
  if (!isZipped) return { code, headers, body: isParts(body) ? joiner.paced(body) : body, upgraded };
  const zipped = { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" };
  if (isParts(body)) return { code, headers: zipped, body: gzipped(joiner.pieces(body)), upgraded };
  return zip(body, { level: 1 }).then((bytes) => ({ code, headers: zipped, body: bytes, upgraded }));
}

interface Sendable {
  readonly code: number;
  readonly headers: NonNullable<HttpResponse["headers"]>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly upgraded: HttpResponse["upgraded"];
}

async function sendHttp1(response: ServerResponse, { code, headers, body }: Sendable): Promise<void> {
  if (code === 101) throw new Error("the connection cannot be upgraded");
  const head = { ...headers } as Record<string, string | string[] | number>;
  if (typeof body === "string" || body instanceof Uint8Array) {
    if (body.length > 0) head["content-length"] = Buffer.byteLength(body);
    response.writeHead(code, head).end(body);
    return;
  }
  response.writeHead(code, head);
  response.flushHeaders();
  await pump(response, body);
  response.end();
}

/** Hands the connection over, or answers as if nothing had been asked of it; in either case it is closed at the end. */
async function sendUpgrade(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  answer: Sendable,
  signal: AbortSignal,
): Promise<void> {
  if (!answer.upgraded) {
    const response = new ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    await sendHttp1(response, answer);
    return closeGently(socket, lingerMs);
  }
  const lines = Object.entries(answer.headers).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one) => `${name}: ${one}\r\n`),
  );
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
  const stop = () => socket.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await answer.upgraded(socketStream(socket, head));
  } finally {
    signal.removeEventListener("abort", stop);
    await closeGently(socket, lingerMs);
  }
}

function sendHttp2(stream: ServerHttp2Stream, { code, headers, body }: Sendable): Promise<void> | undefined {
  if (stream.destroyed || stream.closed) return undefined;
  // In this order the copy is made in half the time; Node puts the status first anyway.
  const head = { ...headers, [constants.HTTP2_HEADER_STATUS]: code } as Record<string, string | number | string[]>;
  stream.respond(head);
  if (typeof body === "string" || body instanceof Uint8Array) {
    stream.end(body);
    return undefined;
  }
  return pump(stream, body).then(() => void stream.end());
}

const isDisconnect = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["ERR_HTTP2_INVALID_STREAM", "ERR_STREAM_DESTROYED", "EPIPE", "ECONNRESET", "ERR_STREAM_WRITE_AFTER_END"].includes(
    String(error.code),
  );
