// Sends audit events to a server, as an EventList, and tries again where that fails.
import type { Clock } from "#base/clock.ts";
import { retry } from "#base/retry.ts";
import { eventListJson } from "./event.ts";
import type { AuditBackend } from "./sink.ts";

export interface AuditWebhookOptions {
  readonly post: (body: string) => Promise<{ readonly code: number }>;
  readonly close: () => void;
  readonly initialBackoffMs: number;
  readonly clock: Clock;
}

/** As often as upstream tries. */
const tries = 5;

export function auditWebhook({ post, close, initialBackoffMs, clock }: AuditWebhookOptions): AuditBackend {
  const ended = new AbortController();
  return {
    name: "webhook",
    isOrdered: false,
    write(records) {
      const body = eventListJson(records.map(({ json }) => json));
      const backoff = { firstMs: initialBackoffMs, maxMs: initialBackoffMs * 2 ** tries, factor: 1.5, tries, clock };
      return retry(
        async () => {
          const { code } = await post(body);
          if (code < 200 || code > 299) throw new WebhookRefusal(code);
        },
        { ...backoff, when: (error) => !(error instanceof WebhookRefusal) || error.isPassing },
        ended.signal,
      );
    },
    async close() {
      ended.abort(new Error("the server is ending"));
      close();
    },
  };
}

class WebhookRefusal extends Error {
  override readonly name = "WebhookRefusal";
  /** Whether another try may help. */
  readonly isPassing: boolean;

  constructor(code: number) {
    super(`the audit webhook answered ${code}`);
    this.isPassing = code === 429 || code >= 500;
  }
}
