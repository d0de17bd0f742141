import type { MetricRegistry } from "#base/metrics.ts";
import type { Availability } from "./availability.ts";

/** Counts APIs that are not available, by upstream's names (kube-aggregator/pkg/controllers/status/metrics). */
export function availabilityMetrics(
  metrics: MetricRegistry,
): (name: string, availability: Availability | undefined) => void {
  const unavailable = metrics.gauge({
    name: "aggregator_unavailable_apiservice",
    help: "Whether an aggregated API is unavailable, by the name of its APIService.",
    labels: ["name"],
    stability: "ALPHA",
  });
  const turns = metrics.counter({
    name: "aggregator_unavailable_apiservice_total",
    help: "How often an aggregated API became unavailable, by the name of its APIService and the reason.",
    labels: ["name", "reason"],
    stability: "ALPHA",
  });
  const isDown = new Map<string, boolean>();
  return (name, availability) => {
    if (!availability) {
      if (isDown.delete(name)) unavailable.of(name).set(0);
      return;
    }
    const down = availability.status !== "True";
    unavailable.of(name).set(down ? 1 : 0);
    if (down && isDown.get(name) === false) turns.of(name, availability.reason).add();
    isDown.set(name, down);
  };
}
