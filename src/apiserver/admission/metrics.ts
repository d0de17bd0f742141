// How long admission takes, as a whole and plugin by plugin.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go.
import type { Clock } from "#base/clock.ts";
import type { Histogram, MetricFamily, MetricRegistry } from "#base/metrics.ts";
import type { AdmissionOperation } from "./plugin.ts";

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

export type AdmissionType = "admit" | "validate";

export class AdmissionMetrics {
  readonly #clock: Clock;
  readonly #steps: MetricFamily<Histogram>;
  readonly #plugins: MetricFamily<Histogram>;

  constructor(registry: MetricRegistry, clock: Clock) {
    this.#clock = clock;
    this.#steps = registry.histogram({
      name: "apiserver_admission_step_admission_duration_seconds",
      help: "How long all plugins took together.",
      labels: ["type", "operation", "rejected"],
      buckets,
      stability: "STABLE",
    });
    this.#plugins = registry.histogram({
      name: "apiserver_admission_controller_admission_duration_seconds",
      help: "How long one plugin took.",
      labels: ["name", "type", "operation", "rejected"],
      buckets,
      stability: "STABLE",
    });
  }

  now(): number {
    return this.#clock.elapsed();
  }

  ofStep(type: AdmissionType, operation: AdmissionOperation): Durations {
    return new Durations(this.#steps, [type, operation.toUpperCase()]);
  }

  ofPlugin(name: string, type: AdmissionType, operation: AdmissionOperation): Durations {
    return new Durations(this.#plugins, [name, type, operation.toUpperCase()]);
  }
}

/** Of what was let pass and of what was not; a series is made when there is something to note. */
export class Durations {
  readonly #family: MetricFamily<Histogram>;
  readonly #labels: readonly string[];
  #passed: Histogram | undefined;

  constructor(family: MetricFamily<Histogram>, labels: readonly string[]) {
    this.#family = family;
    this.#labels = labels;
  }

  passed(ms: number): void {
    this.#passed ??= this.#family.of(...this.#labels, "false");
    this.#passed.observe(ms / 1000);
  }

  rejected(ms: number): void {
    this.#family.of(...this.#labels, "true").observe(ms / 1000);
  }
}
