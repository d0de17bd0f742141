// Counts requests to a kubelet, and measures how long they take.
import type { Clock } from "#base/clock.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import { type HttpResponse, isStream } from "#wire/http.ts";
import type { KubeletServer } from "./server.ts";

const methods: ReadonlySet<string> = new Set(["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"]);
/** Paths whose requests last as long as their clients like. */
const long: ReadonlySet<string> = new Set(["exec", "attach", "portForward", "containerLogs", "run"]);
const kinds: ReadonlySet<string> = new Set(["resource", "probes", "cadvisor"]);
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts requests to a server. `knownPaths` are counted apart, all others together. */
export function countRequests(
  serve: KubeletServer,
  metrics: MetricRegistry,
  clock: Clock,
  knownPaths: ReadonlySet<string>,
): KubeletServer {
  const labels = ["method", "path", "server_type", "long_running"];
  const declare = (name: string, help: string) => ({
    name: `kubelet_http_${name}`,
    help,
    labels,
    stability: "ALPHA" as const,
  });
  const requests = metrics.counter(
    declare("requests_total", "Number of the http requests received since the server started"),
  );
  const inflight = metrics.gauge(declare("inflight_requests", "Number of the inflight http requests"));
  const duration = metrics.histogram({
    ...declare("requests_duration_seconds", "Duration in seconds to serve http requests"),
    buckets: seconds,
  });
  return async (request) => {
    const path = pathOf(request.url, knownPaths);
    const method = methods.has(request.method) ? request.method : "other";
    const values = [method, path, "readwrite", String(long.has(path))];
    const begun = clock.elapsed();
    const isOver = () => {
      inflight.of(...values).add(-1);
      duration.of(...values).observe((clock.elapsed() - begun) / 1000);
    };
    requests.of(...values).add();
    inflight.of(...values).add(1);
    let response: HttpResponse;
    try {
      response = await serve(request);
    } catch (error) {
      isOver();
      throw error;
    }
    const { upgraded, body } = response;
    if (upgraded) return { ...response, upgraded: (connection) => upgraded(connection).finally(isOver) };
    if (isStream(body)) return { ...response, body: readUntil(body, isOver) };
    isOver();
    return response;
  };
}

async function* readUntil(body: AsyncIterable<Uint8Array>, isOver: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    isOver();
  }
}

/** The first word of a path; of the metrics, which. */
function pathOf(url: string, known: ReadonlySet<string>): string {
  const [first = "", second = ""] = url.slice(1).split(/[/?]/, 2);
  if (!known.has(first)) return "other";
  return first === "metrics" && kinds.has(second) ? `metrics/${second}` : first;
}
