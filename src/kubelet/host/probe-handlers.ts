// Probes over the network, as the machine sends them.
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIPv6, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { dialWords } from "#wire/host/dial-words.ts";
import type { HttpProbe, ProbeHandlers, ProbeOutcome } from "../probes/run-probe.ts";
import { askHealth } from "./grpc-health.ts";

/** How much of an answer is shown. */
const bodyLimit = 10 * 1024;
const maxRedirects = 10;

/** Connects from the network of the node. */
export type DialNode = (to: { readonly host: string; readonly port: number }, signal: AbortSignal) => Promise<Socket>;

/** `dial` is for nodes whose loopback is not that of this process; every other address is reached from here. */
export function probeHandlers(dial?: DialNode): ProbeHandlers {
  const open: DialNode | undefined = dial && ((to, signal) => dial({ ...to, host: addressOf(to.host) }, signal));
  return {
    http: (probe, signal) => probeHttp(probe, open, signal),
    tcp: (host, port, signal) => probeTcp({ host, port }, open, signal),
    grpc: askHealth,
  };
}

const isLoopback = (host: string): boolean => /^(127\.|localhost$|::1$)/.test(host);
const addressOf = (host: string): string => (host === "localhost" ? "127.0.0.1" : host);

const failure = (output: string): ProbeOutcome => ({ result: "failure", output });

async function probeHttp(probe: HttpProbe, dial: DialNode | undefined, signal: AbortSignal): Promise<ProbeOutcome> {
  let url = probe.url;
  for (let redirects = 0; ; redirects++) {
    const answer = await get({ ...probe, url }, dial, signal);
    if (typeof answer === "string") return failure(answer);
    const { code, body, location } = answer;
    if (code < 200 || code >= 400) return failure(`HTTP probe failed with statuscode: ${code}`);
    const next = code >= 300 && location !== undefined ? URL.parse(location, url) : null;
    if (!next) return { result: "success", output: body };
    if (next.hostname !== new URL(url).hostname)
      return { result: "warning", output: `Probe terminated redirects, Response body: ${body}` };
    if (redirects === maxRedirects) return failure(`Get ${JSON.stringify(next.href)}: stopped after 10 redirects`);
    url = next.href;
  }
}

interface Answer {
  readonly code: number;
  readonly body: string;
  readonly location: string | undefined;
}

/** The answer, or why there is none. Certificates are not checked: probes ask whether something lives, not who it is. */
async function get(
  { url, headers }: HttpProbe,
  dial: DialNode | undefined,
  signal: AbortSignal,
): Promise<Answer | string> {
  const { protocol, hostname, port: named } = new URL(url);
  const isSecure = protocol === "https:";
  const host = hostname.replace(/^\[|\]$/g, "");
  const port = Number(named) || (isSecure ? 443 : 80);
  const send = isSecure ? httpsRequest : httpRequest;
  const words = (error: Error) => `Get ${JSON.stringify(url)}: ${dialWords(error, host, port)}`;
  let socket: Socket | undefined;
  try {
    if (dial && isLoopback(host)) socket = await dial({ host, port }, signal);
  } catch (error) {
    signal.throwIfAborted();
    return words(error as Error);
  }
  const way = socket ? { createConnection: () => (isSecure ? overTls(socket, host) : socket) } : { agent: false };
  return new Promise((resolve, reject) => {
    const request = send(url, { headers, signal, rejectUnauthorized: false, ...way });
    const failed = (error: Error) => {
      if (signal.aborted) reject(signal.reason);
      else resolve(words(error));
    };
    request.on("error", failed);
    request.on("response", (response: IncomingMessage) => {
      const parts: Buffer[] = [];
      let size = 0;
      const finish = () => {
        const body = Buffer.concat(parts).subarray(0, bodyLimit).toString();
        resolve({ code: response.statusCode ?? 0, body, location: response.headers.location });
        request.destroy();
      };
      response.on("data", (part: Buffer) => {
        parts.push(part);
        size += part.length;
        if (size >= bodyLimit) finish();
      });
      response.on("end", finish);
      response.on("error", failed);
    });
    request.end();
  });
}

const overTls = (socket: Socket, host: string): Socket =>
  connectTls({
    socket,
    rejectUnauthorized: false,
    ...(!/^[\d.]+$/.test(host) && !isIPv6(host) && { servername: host }),
  });

async function probeTcp(
  { host, port }: { readonly host: string; readonly port: number },
  dial: DialNode | undefined,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  if (dial && isLoopback(host))
    try {
      (await dial({ host, port }, signal)).destroy();
      return { result: "success", output: "" };
    } catch (error) {
      signal.throwIfAborted();
      return failure(dialWords(error as Error, host, port));
    }
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ host, port });
    const finish = (outcome: ProbeOutcome) => {
      signal.removeEventListener("abort", aborted);
      socket.destroy();
      resolve(outcome);
    };
    const aborted = () => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener("abort", aborted, { once: true });
    socket.on("connect", () => finish({ result: "success", output: "" }));
    socket.on("error", (error) => finish(failure(dialWords(error, host, port))));
  });
}
