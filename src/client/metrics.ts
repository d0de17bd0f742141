// What the parts of this layer count, as dashboards expect it.
import type { MetricRegistry } from "#base/metrics.ts";

export { type MetricLabels, type Metrics, noMetrics } from "#base/metrics.ts";

/** Says what the names mean that this layer counts by; to be called once for a registry. */
export function declareClientMetrics(registry: MetricRegistry): void {
  registry.gauge({
    name: "leader_election_master_status",
    help: "Whether this process leads, 1 if it does.",
    labels: ["name"],
    stability: "ALPHA",
  });
  registry.gauge({ name: "workqueue_depth", help: "Keys that wait.", labels: ["name"], stability: "BETA" });
  registry.counter({
    name: "workqueue_retries_total",
    help: "Keys that were put back after a failure.",
    labels: ["name"],
    stability: "BETA",
  });
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
