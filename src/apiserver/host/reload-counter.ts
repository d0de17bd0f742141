import type { Clock } from "#base/clock.ts";
import type { MetricRegistry } from "#base/metrics.ts";

export type CountReload = (status: "success" | "failure") => void;

/** Counts how often a configuration was read again while the server runs, by upstream's names. */
export function reloadCounter(
  metrics: MetricRegistry,
  subject: "authentication" | "authorization" | "encryption",
  clock: Clock,
): CountReload {
  const common = { labels: ["status"], stability: subject === "encryption" ? "ALPHA" : "BETA" } as const;
  const total = metrics.counter({
    name: `apiserver_${subject}_config_controller_automatic_reloads_total`,
    help: `How often the ${subject} configuration was read again.`,
    ...common,
  });
  const last = metrics.gauge({
    name: `apiserver_${subject}_config_controller_automatic_reload_last_timestamp_seconds`,
    help: "When that was last.",
    ...common,
  });
  return (status) => {
    total.of(status).add();
    last.of(status).set(clock.now() / 1000);
  };
}
