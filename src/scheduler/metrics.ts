// What the scheduler counts, by upstream's names.
import type { MetricRegistry } from "#base/metrics.ts";

const doubling = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => Number((first * 2 ** i).toPrecision(12)));

/** Declares the metrics of this layer. To be called once for each registry. */
export function declareSchedulerMetrics(registry: MetricRegistry): void {
  const byResult = ["profile", "result"];
  registry.counter({
    name: "scheduler_schedule_attempts_total",
    help: "Attempts to find a node for a pod, by how they ended: scheduled, unschedulable or error.",
    labels: byResult,
    stability: "STABLE",
  });
  registry.histogram({
    name: "scheduler_scheduling_attempt_duration_seconds",
    help: "How long attempts took, without binding.",
    labels: byResult,
    buckets: doubling(0.001, 15),
    stability: "STABLE",
  });
  registry.histogram({
    name: "scheduler_pod_scheduling_attempts",
    help: "How many attempts it took until a pod had its node.",
    buckets: doubling(1, 5),
    stability: "STABLE",
  });
  registry.histogram({
    name: "scheduler_pod_scheduling_sli_duration_seconds",
    help: "How long it took from when a pod was first seen until it had its node.",
    labels: ["attempts"],
    buckets: doubling(0.01, 20),
    stability: "BETA",
  });
  registry.gauge({
    name: "scheduler_pending_pods",
    help: "Pods without a node, by what they wait for: active, backoff, unschedulable or gated.",
    labels: ["queue"],
    stability: "STABLE",
  });
  registry.counter({
    name: "scheduler_preemption_attempts_total",
    help: "How often it was tried to make room for a pod.",
    stability: "STABLE",
  });
  registry.histogram({
    name: "scheduler_preemption_victims",
    help: "How many pods were sent away for one.",
    buckets: doubling(1, 7),
    stability: "STABLE",
  });
}
