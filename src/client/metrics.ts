// What the parts of this layer count, as dashboards expect it.
import type { MetricRegistry } from "#base/metrics.ts";

export { type MetricLabels, type Metrics, noMetrics } from "#base/metrics.ts";

/** Declares the metrics of this layer. To be called once for each registry. */
export function declareClientMetrics(registry: MetricRegistry): void {
  registry.gauge({
    name: "leader_election_master_status",
    help: "Whether this process leads, 1 if it does.",
    labels: ["name"],
    stability: "ALPHA",
  });
  declareQueueMetrics(registry);
  declareRequestMetrics(registry);
  registry.counter({
    name: "controller_runtime_reconcile_total",
    help: "Reconciles by how they ended.",
    labels: ["controller", "result"],
  });
  registry.histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "How long reconciles took.",
    labels: ["controller"],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  registry.counter({
    name: "reflector_requests_total",
    help: "Lists and watches of informers.",
    labels: ["resource", "verb"],
  });
  registry.counter({ name: "events_dropped_total", help: "Events that were not sent.", labels: ["component"] });
}

function declareQueueMetrics(registry: MetricRegistry): void {
  const common = { labels: ["name"], stability: "BETA" } as const;
  const buckets = [1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 0.001, 0.01, 0.1, 1, 10];
  registry.gauge({ name: "workqueue_depth", help: "Keys that wait.", ...common });
  registry.counter({ name: "workqueue_adds_total", help: "Keys that were added.", ...common });
  registry.counter({
    name: "workqueue_retries_total",
    help: "Keys that were put back after a failure.",
    ...common,
  });
  registry.histogram({
    name: "workqueue_queue_duration_seconds",
    help: "How long keys waited until they were taken.",
    buckets,
    ...common,
  });
  registry.histogram({
    name: "workqueue_work_duration_seconds",
    help: "How long keys that were taken were worked on.",
    buckets,
    ...common,
  });
  registry.gauge({
    name: "workqueue_unfinished_work_seconds",
    help: "How long workers have been at what they have not finished, all together.",
    ...common,
  });
  registry.gauge({
    name: "workqueue_longest_running_processor_seconds",
    help: "How long the slowest worker has been at what it has not finished.",
    ...common,
  });
}

function declareRequestMetrics(registry: MetricRegistry): void {
  const common = { labels: ["verb", "host"], stability: "ALPHA" } as const;
  const sizes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
  registry.counter({
    name: "rest_client_requests_total",
    help: "Requests that were sent, by how they were answered.",
    labels: ["code", "method", "host"],
    stability: "ALPHA",
  });
  registry.histogram({
    name: "rest_client_request_duration_seconds",
    help: "How long answers took, watches excepted.",
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    ...common,
  });
  registry.histogram({
    name: "rest_client_request_size_bytes",
    help: "Bytes of what was sent.",
    buckets: sizes,
    ...common,
  });
  registry.histogram({
    name: "rest_client_response_size_bytes",
    help: "Bytes of what was answered, watches excepted.",
    buckets: sizes,
    ...common,
  });
}
