// How webhooks did, under upstream's names.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go.
import type { Counter, Histogram, MetricFamily, MetricRegistry } from "#base/metrics.ts";
import { perServer } from "./per-server.ts";

/** What upstream calls the two kinds of webhooks; the second is not what it calls the step. */
export type WebhookType = "admit" | "validating";

export interface WebhookOutcome {
  readonly name: string;
  readonly type: WebhookType;
  readonly operation: string;
  readonly code: number;
  readonly rejected: boolean;
  readonly ms: number;
}

/** A server that is asked to may answer with any number; a series for each would grow without bound. */
const codeText = (code: number): string => String(Math.min(code, 600));

export class WebhookMetrics {
  readonly #durations: MetricFamily<Histogram>;
  readonly #requests: MetricFamily<Counter>;
  readonly #rejections: MetricFamily<Counter>;
  readonly #failedOpen: MetricFamily<Counter>;

  constructor(registry: MetricRegistry) {
    this.#durations = registry.histogram({
      name: "apiserver_admission_webhook_admission_duration_seconds",
      help: "How long a webhook took.",
      labels: ["name", "type", "operation", "rejected"],
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
      stability: "STABLE",
    });
    this.#requests = registry.counter({
      name: "apiserver_admission_webhook_request_total",
      help: "Calls of webhooks, by what came of them.",
      labels: ["name", "type", "operation", "code", "rejected"],
      stability: "ALPHA",
    });
    this.#rejections = registry.counter({
      name: "apiserver_admission_webhook_rejection_count",
      help: "Requests that were refused by a webhook, or because one failed.",
      labels: ["name", "type", "operation", "error_type", "rejection_code"],
      stability: "ALPHA",
    });
    this.#failedOpen = registry.counter({
      name: "apiserver_admission_webhook_fail_open_count",
      help: "Calls of webhooks that failed and were ignored.",
      labels: ["name", "type"],
      stability: "ALPHA",
    });
  }

  called({ name, type, operation, code, rejected, ms }: WebhookOutcome): void {
    this.#requests.of(name, type, operation, codeText(code), String(rejected)).add();
    this.#durations.of(name, type, operation, String(rejected)).observe(ms / 1000);
  }

  rejected(
    { name, type, operation, code }: WebhookOutcome,
    error: "calling_webhook_error" | "apiserver_internal_error" | "no_error",
  ): void {
    this.#rejections.of(name, type, operation, error, codeText(code)).add();
  }

  failedOpen(name: string, type: WebhookType): void {
    this.#failedOpen.of(name, type).add();
  }
}

/** Both kinds of webhooks are counted in the same families. */
export const webhookMetricsOf = perServer((server) => server.metrics && new WebhookMetrics(server.metrics));
