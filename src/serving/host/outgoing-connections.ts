// Sends requests to other servers over HTTP/1.1, upgrades included.
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { dialWords } from "#wire/host/dial-words.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { trustAsGo } from "#wire/host/trust.ts";
import type { HttpResponse } from "#wire/http.ts";
import { proxyBetween } from "#wire/streams/byte-stream.ts";
import { isUpgradeRequest } from "#wire/streams/websocket.ts";
import { type Origin, type OutgoingRequest, Unreachable } from "../proxy/outgoing.ts";

/** How long the other end may take to accept a connection. */
const connectMs = 30_000;

/**
 * Connections to servers that are spoken to in the same way. Plain requests share theirs, one after the other. An upgrade gets one of its own, which
 * nobody uses after it: if the other end refuses, the two ends may not agree on where that request ended.
 */
export class OutgoingConnections {
  readonly #isSecure: boolean;
  readonly #shared: HttpAgent;
  readonly #single: HttpAgent;

  /** With TLS if it is told how to speak it. */
  constructor(given?: Pick<HttpsAgentOptions, "cert" | "key" | "ca" | "rejectUnauthorized" | "checkServerIdentity">) {
    const tls = given && { ...given, ...trustAsGo };
    const Agent = tls ? HttpsAgent : HttpAgent;
    this.#isSecure = tls !== undefined;
    this.#shared = new Agent({ ...tls, keepAlive: true, maxFreeSockets: 25, timeout: connectMs });
    this.#single = new Agent({ ...tls, keepAlive: false, timeout: connectMs });
  }

  /** Throws Unreachable. */
  send({ host, port, dialAddress = host }: Omit<Origin, "scheme">, request: OutgoingRequest): Promise<HttpResponse> {
    const address = {
      host: dialAddress,
      port: port ?? (this.#isSecure ? 443 : 80),
      ...(isIP(host) === 0 && { servername: host }),
    };
    const upgrades = isUpgradeRequest(request);
    const agent = upgrades ? this.#single : this.#shared;
    const { method, url: path, headers, repeated, content, signal } = request;
    return new Promise((resolve, reject) => {
      const outgoing = (this.#isSecure ? httpsRequest : httpRequest)({
        ...address,
        agent,
        method,
        path,
        headers: { ...framed(headers, content !== undefined), ...listed(repeated) },
        signal,
        timeout: connectMs,
      });
      const isReused = () => outgoing.reusedSocket;
      const words = (cause: Error) => dialWords(cause, address.host, address.port);
      const failed = (cause: Error) =>
        reject(signal.aborted ? signal.reason : new Unreachable(words(cause), { cause, wasIdle: isReused() }));
      outgoing.once("error", failed);
      outgoing.on("timeout", () => {
        if (!outgoing.socket || isConnecting(outgoing.socket))
          outgoing.destroy(Object.assign(new Error(`no connection after ${connectMs} ms`), { code: "ETIMEDOUT" }));
      });
      outgoing.once("response", (message) => resolve(answerOf(message)));
      outgoing.once("upgrade", (message, socket, head) => {
        if (upgrades) return resolve(switched(message, socket, head, signal));
        socket.destroy();
        reject(new Unreachable("the other end switched protocols, and was not asked to"));
      });
      if (content) sendContent(outgoing, content).catch((cause: Error) => outgoing.destroy(cause));
      else outgoing.end();
    });
  }

  /** Drops the connections that wait to be used again. */
  /** Connections in use end with what they are used for, and none is kept. */
  retire(): void {
    this.#shared.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#shared.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  close(): void {
    this.#shared.destroy();
    this.#single.destroy();
  }
}

/** Says how the body is framed: Node sends that of a GET or DELETE whose length it is not told as bare bytes behind the head. */
function framed(headers: OutgoingRequest["headers"], hasContent: boolean): Record<string, string | undefined> {
  const { "transfer-encoding": _, "content-length": length, ...others } = headers;
  if (!hasContent) return others;
  return { ...others, ...(length === undefined ? { "transfer-encoding": "chunked" } : { "content-length": length }) };
}

/** As Node takes them: lists that it may keep. */
const listed = (repeated: OutgoingRequest["repeated"] = {}): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(repeated).map(([name, values]) => [name, typeof values === "string" ? values : [...values]]),
  );

const isConnecting = (socket: Socket): boolean =>
  socket.connecting || ("secureConnecting" in socket && socket.secureConnecting === true);

/** Rejects when the content is not as long as was announced: the rest would be taken from the request that follows. */
async function sendContent(outgoing: ClientRequest, content: AsyncIterable<Uint8Array>): Promise<void> {
  const announced = outgoing.getHeader("content-length");
  let sent = 0;
  for await (const part of content) {
    sent += part.length;
    if (announced !== undefined && sent > Number(announced)) break;
    if (!outgoing.write(part))
      await new Promise<void>((resolve) => {
        outgoing.once("drain", resolve);
        outgoing.once("close", resolve);
      });
  }
  if (announced !== undefined && sent !== Number(announced))
    throw new Error(`a body of ${announced} bytes was announced, and another came`);
  outgoing.end();
}

const answerOf = (message: IncomingMessage): HttpResponse => ({
  code: message.statusCode ?? 502,
  headers: headersOf(message),
  body: message,
});

function switched(message: IncomingMessage, socket: Duplex, head: Buffer, signal: AbortSignal): HttpResponse {
  socket.on("error", () => socket.destroy()); // whoever reads or writes it is told
  const drop = () => socket.destroy();
  if (signal.aborted) drop();
  signal.addEventListener("abort", drop, { once: true });
  socket.once("close", () => signal.removeEventListener("abort", drop));
  return {
    code: 101,
    headers: headersOf(message),
    body: "",
    upgraded: (client) => proxyBetween(client, socketStream(socket, head)),
  };
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string | readonly string[]> =>
  Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined),
  );
