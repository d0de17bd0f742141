// How the server's health checks went, each time someone asked: what service levels are measured by.
import { MetricRegistry } from "#base/metrics.ts";

export class HealthMetrics {
  /** Apart from the rest, as upstream has it: these are read every few seconds. */
  readonly registry = new MetricRegistry();
  readonly #last = this.registry.gauge({
    name: "kubernetes_healthcheck",
    help: "How a check went last: 1 if all was well.",
    labels: ["name", "type"],
    stability: "STABLE",
  });
  readonly #total = this.registry.counter({
    name: "kubernetes_healthchecks_total",
    help: "Checks by how they went.",
    labels: ["name", "type", "status"],
    stability: "STABLE",
  });

  note(type: string, name: string, isWell: boolean): void {
    this.#last.of(name, type).set(isWell ? 1 : 0);
    this.#total.of(name, type, isWell ? "success" : "error").add();
  }
}
