// Probes over the network, as the machine sends them.
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import type { HttpProbe, Outcome, ProbeHandlers } from "../probes/ask.ts";
import { askHealth } from "./grpc-health.ts";

/** How much of an answer is shown. */
const bodyLimit = 10 * 1024;
const mostRedirects = 10;

export const probeHandlers: ProbeHandlers = { http: probeHttp, tcp: probeTcp, grpc: askHealth };

const failure = (output: string): Outcome => ({ result: "failure", output });

async function probeHttp(probe: HttpProbe, signal: AbortSignal): Promise<Outcome> {
  let url = probe.url;
  for (let redirects = 0; ; redirects++) {
    const answer = await get({ ...probe, url }, signal);
    if (typeof answer === "string") return failure(answer);
    const { code, body, location } = answer;
    if (code < 200 || code >= 400) return failure(`HTTP probe failed with statuscode: ${code}`);
    const next = code >= 300 && location !== undefined ? URL.parse(location, url) : null;
    if (!next) return { result: "success", output: body };
    if (next.hostname !== new URL(url).hostname)
      return { result: "warning", output: `Probe terminated redirects, Response body: ${body}` };
    if (redirects === mostRedirects) return failure(`Get ${JSON.stringify(next.href)}: stopped after 10 redirects`);
    url = next.href;
  }
}

interface Answer {
  readonly code: number;
  readonly body: string;
  readonly location: string | undefined;
}

/** The answer, or why there is none. Certificates are not checked: probes ask whether something lives, not who it is. */
function get({ url, headers }: HttpProbe, signal: AbortSignal): Promise<Answer | string> {
  const send = url.startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, { headers, signal, agent: false, rejectUnauthorized: false });
    const failed = (error: Error) => {
      if (signal.aborted) reject(signal.reason);
      else resolve(`Get ${JSON.stringify(url)}: ${wordsOf(error)}`);
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

function probeTcp(host: string, port: number, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ host, port });
    const finish = (outcome: Outcome) => {
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
    socket.on("error", (error) => finish(failure(wordsOf(error))));
  });
}

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  ETIMEDOUT: "connection timed out",
};

/** Why nobody was reached, in the words of upstream's probes: people search for them. */
function wordsOf(error: NetworkError): string {
  const { code = "", syscall = "", address, port, hostname } = error;
  const cause = causes[code];
  if (code === "ENOTFOUND") return `dial tcp: lookup ${hostname}: no such host`;
  if (error.message === "socket hang up") return "EOF";
  if (cause === undefined) return error.message;
  const place = address?.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  return syscall === "connect" ? `dial tcp ${place}: connect: ${cause}` : `${syscall}: ${cause}`;
}

/** What Node tells of a connection that failed. */
interface NetworkError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}
