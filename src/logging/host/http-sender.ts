// Posts batches over HTTP or HTTPS, one connection kept open.

import { once } from "node:events";
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { BatchTooLarge, BusyReceiver } from "../output.ts";

export interface HttpSenderOptions {
  readonly url: URL;
  /** Of the server's certificate, in PEM; without it the authorities of the machine are believed. */
  readonly ca?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpAnswer {
  readonly code: number;
  readonly text: string;
}

export interface HttpSender {
  /** Throws unless the answer is 2xx, or a refusal that no other try would change. */
  post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HttpAnswer>;
  close(): void;
}

const answerMs = 30_000;
const mostAnswerBytes = 8 * 1024 * 1024;
/** Whoever asks is not known or not let in: somebody may put that right. */
const isRefusalOfUs = (code: number): boolean => code === 401 || code === 403 || code === 404;

export function httpSender({ url, ca, headers: always = {} }: HttpSenderOptions): HttpSender {
  const isTls = url.protocol === "https:";
  const agent = isTls
    ? new HttpsAgent({ keepAlive: true, maxSockets: 1, ...(ca !== undefined && { ca }) })
    : new HttpAgent({ keepAlive: true, maxSockets: 1 });
  return {
    async post(body, headers, signal) {
      const bytes = Buffer.from(body);
      const limited = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
      const sending = (isTls ? requestHttps : requestHttp)(url, {
        method: "POST",
        agent,
        headers: { ...always, ...headers, "content-length": String(bytes.length) },
        signal: limited,
      });
      sending.end(bytes);
      const [message] = (await once(sending, "response")) as [IncomingMessage];
      const code = message.statusCode ?? 0;
      const text = await textOf(message);
      if (code === 413) throw new BatchTooLarge(`${url.href} takes no batch of ${bytes.length} bytes`);
      if (code === 429 || code >= 500 || isRefusalOfUs(code) || code < 200)
        throw new BusyReceiver(`${url.href} answers ${code}: ${text.slice(0, 300).trim()}`, waitOf(message));
      return { code, text };
    },
    close: () => agent.destroy(),
  };
}

async function textOf(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > mostAnswerBytes) throw new Error(`the answer is longer than ${mostAnswerBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** What the header Retry-After says in seconds. */
const waitOf = ({ headers }: IncomingMessage): number => {
  const seconds = Number(headers["retry-after"]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
};
