// Calls of extenders over HTTP and HTTPS.
// Upstream: pkg/scheduler/extender.go.
import { readFileSync } from "node:fs";
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { Clock } from "#base/clock.ts";
import { parseDurationMs } from "#base/duration.ts";
import { parseJson } from "#schema/json.ts";
import type { Extender } from "../extender-kinds.ts";
import type { ExtenderCall } from "../extenders.ts";

const defaultTimeoutMs = 5000;
/** More than this is no answer about nodes, of which there may be thousands. */
const longestAnswer = 64 << 20;

export function extenderCalls(clock: Clock): ExtenderCall {
  const agents = new Map<Extender, HttpAgent | HttpsAgent>();
  return async (extender, verb, body, signal) => {
    const url = urlOf(extender, verb);
    const agent = agents.get(extender) ?? agentOf(extender, url);
    agents.set(extender, agent);
    const timeoutMs = extender.httpTimeout
      ? parseDurationMs(extender.httpTimeout) || defaultTimeoutMs
      : defaultTimeoutMs;
    const stop = new AbortController();
    const disarm = clock.after(timeoutMs, () =>
      stop.abort(new Error(`Post ${JSON.stringify(url.href)}: context deadline exceeded (Client.Timeout exceeded)`)),
    );
    try {
      const { code, text } = await post(url, JSON.stringify(body), agent, AbortSignal.any([signal, stop.signal]));
      if (code !== 200) throw new Error(`failed ${verb} with extender at URL ${url.href}, code ${code}`);
      return parseJson(text).value;
    } catch (error) {
      throw stop.signal.aborted ? stop.signal.reason : error;
    } finally {
      disarm();
    }
  };
}

function urlOf({ urlPrefix, enableHTTPS }: Extender, verb: string): URL {
  const url = new URL(`${urlPrefix.replace(/\/+$/, "")}/${verb}`);
  if (enableHTTPS && url.protocol === "http:") url.protocol = "https:";
  return url;
}

function agentOf({ tlsConfig, enableHTTPS }: Extender, { protocol }: URL): HttpAgent | HttpsAgent {
  if (protocol === "http:") return new HttpAgent({ keepAlive: true });
  const read = (data: string | undefined, file: string | undefined) =>
    data ? Buffer.from(data, "base64") : file ? readFileSync(file) : undefined;
  const ca = read(tlsConfig?.caData, tlsConfig?.caFile);
  const cert = read(tlsConfig?.certData, tlsConfig?.certFile);
  const key = read(tlsConfig?.keyData, tlsConfig?.keyFile);
  return new HttpsAgent({
    keepAlive: true,
    rejectUnauthorized: !(tlsConfig?.insecure || (enableHTTPS && !ca)),
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(tlsConfig?.serverName && { servername: tlsConfig.serverName }),
  });
}

function post(url: URL, body: string, agent: HttpAgent | HttpsAgent, signal: AbortSignal) {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const options: RequestOptions = { method: "POST", agent, signal, headers };
  return new Promise<{ readonly code: number; readonly text: string }>((resolve, reject) => {
    const answered = (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > longestAnswer)
          response.destroy(new Error(`Post ${JSON.stringify(url.href)}: the answer is too long`));
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
      );
    };
    const request =
      url.protocol === "http:" ? requestHttp(url, options, answered) : requestHttps(url, options, answered);
    request.on("error", reject);
    request.end(body);
  });
}
