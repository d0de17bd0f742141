// The HTTP API of a kubelet: logs, exec, attach, port-forward, pods, health, metrics. Requests have been authorized before. The paths are
// those of upstream's pkg/kubelet/server/server.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { type MetricRegistry, metricsMediaType } from "#base/metrics.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";
import type { ContainerRuntime, PodState } from "../runtime.ts";
import type { Summary } from "../stats/summary.ts";
import { cadvisorMetrics } from "./cadvisor-metrics.ts";
import { containerLogs } from "./container-logs.ts";
import { countRequests } from "./request-counts.ts";
import { resourceMetrics } from "./resource-metrics.ts";
import { json, type RouteRequest, text } from "./responses.ts";
import { wordsOf } from "./rights.ts";
import { attach, exec, portForward, run } from "./run-in-pods.ts";
import type { ContainerStreams } from "./streams.ts";

export interface KubeletRequest {
  readonly method: string;
  /** Path and query, escaped. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** A pod of the node, and what the runtime has of it. */
export interface ServedPod {
  readonly pod: Pod;
  readonly state: PodState;
}

export interface KubeletServerOptions {
  readonly clock: Clock;
  readonly streams: ContainerStreams;
  readonly compression: () => SpdyCompression;
  readonly runtime: Pick<ContainerRuntime, "name" | "usage" | "exec">;
  readonly find: (namespace: string, name: string) => ServedPod | undefined;
  readonly list: () => Iterable<ServedPod>;
  /** What the kubelet counts, shown at /metrics; what is asked of it is counted there, too. */
  readonly metrics?: MetricRegistry;
  /** What probes came to, shown at /metrics/probes. */
  readonly probeMetrics?: MetricRegistry;
  /** The Summary of what the node and its pods use, for /stats/summary. */
  readonly stats?: (only: "all" | "cpu and memory", signal: AbortSignal) => Promise<Summary>;
  /** The configuration in effect, for /configz. */
  readonly configuration?: () => object;
}

export type KubeletServer = (request: KubeletRequest) => Promise<HttpResponse>;

type Answer = (asked: RouteRequest, options: KubeletServerOptions) => HttpResponse | Promise<HttpResponse>;
interface Route {
  readonly methods: readonly string[];
  /** How many words may follow the first. */
  readonly words: readonly number[];
  readonly answer: Answer;
}

const reading = ["GET", "HEAD"];
const streaming = ["GET", "POST"];
const any = [0, 1, 2, 3, 4, 5];

const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ["healthz", { methods: reading, words: [0, 1], answer: health }],
  ["pods", { methods: ["GET"], words: [0, 1], answer: (_, { list }) => pods(list) }],
  ["runningpods", { methods: ["GET"], words: [0, 1], answer: (_, { list }) => runningPods(list) }],
  ["metrics", { methods: reading, words: [0, 1], answer: metrics }],
  ["stats", { methods: streaming, words: [1], answer: stats }],
  ["configz", { methods: ["GET"], words: [0], answer: configz }],
  ["containerLogs", { methods: ["GET"], words: [3], answer: containerLogs }],
  ["exec", { methods: streaming, words: [3, 4], answer: exec }],
  ["attach", { methods: streaming, words: [3, 4], answer: attach }],
  ["portForward", { methods: streaming, words: [2, 3], answer: portForward }],
  ["run", { methods: ["POST"], words: [3, 4], answer: run }],
  // Nodes share a machine, whose logs are none of theirs.
  ["logs", { methods: reading, words: any, answer: () => text(405, "logs endpoint is disabled.\n") }],
  ["debug", { methods: reading, words: any, answer: disabledDebugging }],
]);

export function kubeletServer(options: KubeletServerOptions): KubeletServer {
  const answer: KubeletServer = async ({ method, url, headers, signal }) => {
    const question = url.indexOf("?");
    const words = wordsOf(question < 0 ? url : url.slice(0, question));
    if (!words) return text(400, "the path is not escaped properly");
    const [first = "", ...rest] = words;
    const route = routes.get(first);
    if (!route?.words.includes(rest.length)) return notFound();
    if (!route.methods.includes(method)) return text(405, "405: Method Not Allowed");
    const query = new URLSearchParams(question < 0 ? "" : url.slice(question + 1));
    return route.answer({ method, words: rest, query, headers, signal }, options);
  };
  return options.metrics ? countRequests(answer, options.metrics, options.clock, new Set(routes.keys())) : answer;
}

const notFound = (): HttpResponse => text(404, "404 page not found\n");

const checks: ReadonlySet<string> = new Set(["ping", "log", "syncloop"]);

function health({ words, query }: RouteRequest): HttpResponse {
  const [only] = words;
  if (only) return checks.has(only) ? text(200, "ok") : notFound();
  if (!query.has("verbose")) return text(200, "ok");
  return text(200, `${[...checks].map((name) => `[+]${name} ok\n`).join("")}healthz check passed\n`);
}

const podList = (items: readonly unknown[]): HttpResponse =>
  json({ kind: "PodList", apiVersion: "v1", metadata: {}, items });

const pods = (list: KubeletServerOptions["list"]): HttpResponse => podList(Array.from(list(), ({ pod }) => pod));

/** What the runtime knows to run, which is all that is told of it. */
const runningPods = (list: KubeletServerOptions["list"]): HttpResponse =>
  podList(
    Array.from(list(), ({ pod, state }) => {
      const { name, namespace, uid } = pod.metadata;
      const running = state.containers.filter(({ phase }) => phase === "running");
      const containers = running.map(({ name, image }) => ({ name, image, resources: {} }));
      return { metadata: { name, namespace, uid }, spec: { containers }, status: {} };
    }).filter(({ spec }) => spec.containers.length > 0),
  );

async function metrics({ words, signal }: RouteRequest, options: KubeletServerOptions): Promise<HttpResponse> {
  const { list, runtime, clock } = options;
  const metricsText = (body: string): HttpResponse => ({
    code: 200,
    headers: { "content-type": metricsMediaType },
    body,
  });
  switch (words[0] ?? "") {
    case "":
      return metricsText((await options.metrics?.text()) ?? "");
    case "resource":
      return metricsText(await resourceMetrics(list(), runtime, clock, signal));
    case "probes":
      return metricsText((await options.probeMetrics?.text()) ?? "");
    case "cadvisor":
      return metricsText(
        await cadvisorMetrics(list(), runtime, clock.now(), signal, await options.stats?.("all", signal)),
      );
    default:
      return notFound();
  }
}

async function stats({ words, query, signal }: RouteRequest, options: KubeletServerOptions): Promise<HttpResponse> {
  if (words[0] !== "summary" || !options.stats) return notFound();
  return json(await options.stats(query.get("only_cpu_and_memory") === "true" ? "cpu and memory" : "all", signal));
}

function configz(_: RouteRequest, { configuration }: KubeletServerOptions): HttpResponse {
  return json(configuration ? { kubeletconfig: configuration() } : {});
}

function disabledDebugging({ words }: RouteRequest): HttpResponse {
  if (words[0] === "pprof") return text(405, "profiling endpoint is disabled.\n");
  return words[0] === "flags" ? text(405, "flags endpoint is disabled.\n") : notFound();
}
