import { lookup } from "node:dns/promises";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { dialWords } from "#wire/host/dial-words.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { HttpResponse } from "#wire/http.ts";
import { proxyBetween } from "#wire/streams/byte-stream.ts";
import { type NodeConnection, type OutgoingRequest, Unreachable } from "../node-connection.ts";

export interface KubeletConnectionOptions {
  /** Who we are to kubelets, in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Whose certificates kubelets must show, in PEM. Without it any is believed, as upstream does. */
  readonly ca?: string;
  readonly addressTypes?: NodeConnection["addressTypes"];
}

export interface KubeletConnection extends NodeConnection {
  /** Drops the connections that wait to be used again. */
  close(): void;
}

/** How long a kubelet or pod may take to accept a connection. */
const connectMs = 30_000;

/** Reaches kubelets and pods over the network. */
export function kubeletConnection(options: KubeletConnectionOptions): KubeletConnection {
  const { cert, key, ca, addressTypes } = options;
  const identity = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
  const keepAlive = { keepAlive: true, maxFreeSockets: 25, timeout: connectMs };
  const checked = new HttpsAgent({
    ...keepAlive,
    ...identity,
    ...(ca !== undefined && { ca }),
    rejectUnauthorized: ca !== undefined,
  });
  const unchecked = new HttpsAgent({ ...keepAlive, ...identity, rejectUnauthorized: false });
  const anonymous = new HttpsAgent({ ...keepAlive, rejectUnauthorized: false });
  const plain = new HttpAgent(keepAlive);
  return {
    ...(addressTypes && { addressTypes }),
    kubelet: ({ host, port, trustsAny }, request) =>
      send({ ...to(host, port), agent: trustsAny ? unchecked : checked }, request, true),
    fetch: ({ scheme, host, port }, request) =>
      send(
        { ...to(host, port ?? (scheme === "https" ? 443 : 80)), agent: scheme === "https" ? anonymous : plain },
        request,
        scheme === "https",
      ),
    async resolve(host) {
      if (isIP(host) !== 0) return [host];
      return (await lookup(host, { all: true })).map(({ address }) => address);
    },
    spdyCompression,
    close() {
      for (const agent of [checked, unchecked, anonymous, plain]) agent.destroy();
    },
  };
}

const to = (host: string, port: number): RequestOptions => ({
  host,
  port,
  ...(isIP(host) === 0 && { servername: host }),
});

function send(options: RequestOptions, request: OutgoingRequest, secure: boolean): Promise<HttpResponse> {
  const { method, url, headers, content, signal } = request;
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? httpsRequest : httpRequest)({
      ...options,
      method,
      path: url,
      headers: { ...headers },
      signal,
      timeout: connectMs,
    });
    const words = (cause: Error) => dialWords(cause, options.host ?? "", Number(options.port));
    const failed = (cause: Error) => reject(signal.aborted ? signal.reason : new Unreachable(words(cause), { cause }));
    outgoing.once("error", failed);
    outgoing.on("timeout", () => {
      if (!outgoing.socket || isConnecting(outgoing.socket))
        outgoing.destroy(Object.assign(new Error(`no connection after ${connectMs} ms`), { code: "ETIMEDOUT" }));
    });
    outgoing.once("response", (message) => resolve(answerOf(message)));
    outgoing.once("upgrade", (message, socket, head) => resolve(switched(message, socket, head, signal)));
    if (content) sendContent(outgoing, content).catch((cause: Error) => outgoing.destroy(cause));
    else outgoing.end();
  });
}

const isConnecting = (socket: Socket): boolean =>
  socket.connecting || ("secureConnecting" in socket && socket.secureConnecting === true);

async function sendContent(
  outgoing: ReturnType<typeof httpRequest>,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  for await (const part of content)
    if (!outgoing.write(part))
      await new Promise<void>((resolve) => {
        outgoing.once("drain", resolve);
        outgoing.once("close", resolve);
      });
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
