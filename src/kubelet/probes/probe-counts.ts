// What probes came to, and how long they took, under upstream's names.
// Upstream: pkg/kubelet/prober/prober_manager.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { MetricRegistry } from "#base/metrics.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";
export type ProbeCount = "successful" | "failed" | "unknown";

export interface CountedProbe {
  readonly pod: Pod;
  readonly container: string;
  readonly kind: ProbeKind;
}

export interface ProbeCounts {
  count(probe: CountedProbe, result: ProbeCount, seconds: number): void;
  /** The container is gone. */
  forget(probe: CountedProbe): void;
}

const results: readonly ProbeCount[] = ["successful", "failed", "unknown"];

export function probeCounts(registry: MetricRegistry): ProbeCounts {
  const totals = registry.counter({
    name: "prober_probe_total",
    help: "Cumulative number of a liveness, readiness or startup probe for a container by result.",
    labels: ["probe_type", "result", "container", "pod", "namespace", "pod_uid"],
    stability: "BETA",
  });
  const durations = registry.histogram({
    name: "prober_probe_duration_seconds",
    help: "Duration in seconds for a probe response.",
    labels: ["probe_type", "container", "pod", "namespace"],
    stability: "ALPHA",
  });
  const labels = ({ pod: { metadata }, container, kind }: CountedProbe) => {
    const type = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    const place = [container, metadata.name, metadata.namespace ?? ""];
    return { total: (result: ProbeCount) => [type, result, ...place, metadata.uid ?? ""], duration: [type, ...place] };
  };
  return {
    count(probe, result, seconds) {
      const { total, duration } = labels(probe);
      totals.of(...total(result)).add();
      if (result !== "unknown") durations.of(...duration).observe(seconds);
    },
    forget(probe) {
      const { total, duration } = labels(probe);
      for (const result of results) totals.forget(...total(result));
      durations.forget(...duration);
    },
  };
}
