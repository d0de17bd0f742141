import type { Counter, MetricFamily, MetricRegistry } from "#base/metrics.ts";

export interface CollectorMetrics {
  readonly read: Counter;
  readonly sent: Counter;
  /** By reason. */
  readonly dropped: MetricFamily<Counter>;
  readonly cut: Counter;
  readonly lostFiles: Counter;
  readonly failures: Counter;
}

/** What a collector counts. `buffered` is asked whenever somebody looks. */
export function collectorMetrics(
  registry: MetricRegistry,
  buffered: () => number,
  logs: () => number,
): CollectorMetrics {
  const bytes = registry.gauge({
    name: "knarr_log_collector_buffer_bytes",
    help: "Memory of lines that wait to be taken.",
  });
  const followed = registry.gauge({ name: "knarr_log_collector_logs", help: "Logs of containers that are followed." });
  registry.reading(() => {
    bytes.of().set(buffered());
    followed.of().set(logs());
  });
  const counter = (name: string, help: string, labels: readonly string[] = []) =>
    registry.counter({ name: `knarr_log_collector_${name}`, help, labels });
  return {
    read: counter("read_lines_total", "Lines that were read.").of(),
    sent: counter("sent_lines_total", "Lines that were taken by the output.").of(),
    dropped: counter("dropped_lines_total", "Lines that will never be delivered, by reason.", ["reason"]),
    cut: counter("cut_lines_total", "Lines that were too long and lost their end.").of(),
    lostFiles: counter("lost_files_total", "Rotated files that were removed before they were read.").of(),
    failures: counter("send_failures_total", "Attempts to send that failed.").of(),
  };
}
