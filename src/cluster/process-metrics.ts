import { declareProcessMetrics } from "#base/host/process-metrics.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { declareClientMetrics } from "#client/metrics.ts";
import { declareProxyMetrics } from "#proxy/metrics.ts";
import { declareSchedulerMetrics } from "#scheduler/metrics.ts";

/** One registry for all parts of a process: what it takes of its machine, and what its controllers do. */
export function processMetrics(): MetricRegistry {
  const metrics = new MetricRegistry();
  declareProcessMetrics(metrics);
  declareClientMetrics(metrics);
  declareSchedulerMetrics(metrics);
  declareProxyMetrics(metrics);
  return metrics;
}
