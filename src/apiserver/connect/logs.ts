// The log of a container, from the kubelet that keeps it.
import { PodLogOptions } from "#api/core/v1/options.ts";
import { toBase64 } from "#base/base64.ts";
import { ApiError } from "#base/errors.ts";
import { forbidden as forbiddenField, type Problem } from "#schema/problem.ts";
import { validateObject } from "#schema/validate.ts";
import { bytesOf, textOf } from "#serving/proxy/body.ts";
import { unreachable } from "#serving/proxy/outgoing.ts";
import { type HttpResponse, uncached } from "#wire/http.ts";
import { badRequest, internalError, invalidObject } from "#wire/status.ts";
import { acceptWebSocket, isWebSocketRequest, sendMessages, type WebSocketMessage } from "#wire/streams/websocket.ts";
import type { ConnectCall, Connector } from "./connect.ts";
import { containerOf, kubeletOf } from "./location.ts";
import { flag, integer, time } from "./query.ts";

export const logs: Connector = {
  methods: ["GET"],
  async connect(call) {
    const { http, name, namespace } = call;
    const options = parseOptions(http.query, name);
    const pod = await call.read("pods", name);
    const container = containerOf(pod, options.container);
    const node: string = pod.spec.nodeName ?? "";
    if (node === "") return { code: 204, headers: uncached, body: "" };
    const kubelet = await kubeletOf(call, node);
    const path = ["containerLogs", namespace, name, container].map(encodeURIComponent).join("/");
    const over = isWebSocketRequest(http) ? new AbortController() : undefined;
    const signal = over ? AbortSignal.any([http.signal, over.signal]) : http.signal;
    const response = await call.connection
      .kubelet(
        { ...kubelet, trustsAny: options.trustsAny },
        { method: "GET", url: `/${path}${options.search}`, headers: {}, signal },
      )
      .catch((error: unknown) => {
        throw unreachable(error, 500, `Get "https://${kubelet.host}:${kubelet.port}/${path}${options.search}"`);
      });
    if (response.code < 200 || response.code > 206) throw await refusalOf(response, name);
    const body = bytesOf(response.body);
    return over ? overWebSocket(call, body, over) : { code: 200, headers: { "content-type": "text/plain" }, body };
  },
};

interface LogOptions {
  readonly container: string;
  readonly trustsAny: boolean;
  /** The query for the kubelet. */
  readonly search: string;
}

function parseOptions(query: URLSearchParams, pod: string): LogOptions {
  const [tailLines, limitBytes, sinceSeconds] = ["tailLines", "limitBytes", "sinceSeconds"].map((name) =>
    integer(query, name),
  );
  const sinceTime = time(query, "sinceTime");
  const given = { tailLines, limitBytes, sinceSeconds, sinceTime };
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const problems: Problem[] = validateObject(PodLogOptions, present);
  if (query.has("stream")) problems.push(forbiddenField("stream", "may not be specified"));
  if (problems.length > 0) throw invalidObject({ group: "", kind: "PodLogOptions" }, pod, problems);
  const flags = ["follow", "previous", "timestamps"].filter((name) => flag(query, name));
  const entries = [...Object.entries(present), ...flags.map((name) => [name, "true"] as const)];
  const search = new URLSearchParams(entries.map(([name, value]) => [name, String(value)]));
  search.sort();
  return {
    container: query.get("container") ?? "",
    trustsAny: flag(query, "insecureSkipTLSVerifyBackend"),
    search: entries.length === 0 ? "" : `?${search}`,
  };
}

/** What the kubelet's refusal is called here. */
async function refusalOf({ code, body }: HttpResponse, name: string): Promise<ApiError> {
  const text = await textOf(body);
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  const answer = answers[code];
  const message =
    answer?.[1] ??
    (code === 403
      ? text
      : code > 500
        ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
        : `the server responded with the status code ${code} but did not return more information`);
  return new ApiError({
    code,
    reason: answer?.[0] ?? (code === 403 ? "Forbidden" : code > 500 ? "InternalError" : ""),
    message: `${message} ( pods/log ${name})`,
    details: { name, kind: "pods/log" },
  });
}

const answers: Readonly<Record<number, readonly [string, string]>> = {
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
};

/** Browsers read a log as messages. The first is empty: it says that the log is being read, though there may be nothing in it yet. */
async function overWebSocket(
  { http }: ConnectCall,
  log: AsyncIterable<Uint8Array>,
  over: AbortController,
): Promise<HttpResponse> {
  const answer = await acceptWebSocket(http.headers, {
    protocols: ["", "binary.k8s.io", "base64.binary.k8s.io"],
    messageLimit: 64 * 1024, // clients of a log have nothing to say
    serve: (socket, protocol) => sendMessages(socket, logMessages(log, protocol.startsWith("base64.")), over),
  });
  if (!answer.upgraded) over.abort();
  return answer;
}

async function* logMessages(log: AsyncIterable<Uint8Array>, isText: boolean): AsyncGenerator<WebSocketMessage> {
  const encoder = new TextEncoder();
  const message = (data: Uint8Array): WebSocketMessage =>
    isText ? { type: "text", data: encoder.encode(toBase64(data)) } : { type: "binary", data };
  yield message(new Uint8Array());
  for await (const part of log) yield message(part);
}
