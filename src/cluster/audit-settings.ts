// The flags that say what is recorded of requests, and where, named as upstream names them.

import { parseAuditPolicy } from "#apiserver/audit/policy.ts";
import {
  type AuditBackend,
  AuditMetrics,
  type AuditMode,
  type AuditSink,
  allSinks,
  auditModes,
  BatchingSink,
  BlockingSink,
  truncating,
} from "#apiserver/audit/sink.ts";
import type { AuditOptions } from "#apiserver/audit/trail.ts";
import { auditWebhook } from "#apiserver/audit/webhook.ts";
import { type AuditLogOptions, auditLogFile } from "#apiserver/host/audit-log-file.ts";
import { kubeconfigWebhook } from "#apiserver/host/kubeconfig-webhook.ts";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";
import { flagFile } from "#cli/host/flag-file.ts";

const batchFlags = <const N extends "log" | "webhook">(
  name: N,
  usual: { readonly mode: AuditMode; readonly maxSize: number; readonly throttles: boolean },
) => {
  const flags = {
    mode: {
      type: "string",
      value: auditModes.join("|"),
      default: usual.mode,
      help: "blocking makes requests wait for their events, blocking-strict refuses those that cannot be recorded",
    },
    "batch-buffer-size": { type: "int", default: 10_000, help: "Events that wait in mode batch; more are lost" },
    "batch-max-size": { type: "int", default: usual.maxSize, help: "Most events of a batch" },
    "batch-max-wait": { type: "string", value: "DURATION", default: "30s", help: "How long a batch waits to be full" },
    "batch-throttle-enable": { type: "bool", default: usual.throttles, help: "Whether batches a second are limited" },
    "batch-throttle-qps": { type: "string", value: "NUMBER", default: "10", help: "Batches a second" },
    "batch-throttle-burst": { type: "int", default: 15, help: "Batches at once after a pause" },
    "truncate-enabled": { type: "bool", default: false, help: "Take the bodies out of events that are too large" },
    "truncate-max-event-size": { type: "int", default: 102_400, help: "Most bytes of an event" },
    "truncate-max-batch-size": { type: "int", default: 10_485_760, help: "Most bytes of a batch" },
  } as const;
  type Named = { readonly [K in keyof typeof flags & string as `audit-${N}-${K}`]: (typeof flags)[K] };
  return Object.fromEntries(Object.entries(flags).map(([key, flag]) => [`audit-${name}-${key}`, flag])) as Named;
};

export const auditFlags = {
  "audit-policy-file": { type: "string", value: "FILE", help: "What is recorded of requests; nothing without it" },
  "audit-log-path": {
    type: "string",
    value: "FILE",
    help: "Where events are written, a line each; - is standard output",
  },
  "audit-log-maxage": { type: "int", default: 366, help: "Days for which old logs are kept; 0 is for ever" },
  "audit-log-maxbackup": { type: "int", default: 100, help: "Old logs that are kept; 0 is all" },
  "audit-log-maxsize": { type: "int", default: 100, help: "Mebibytes at which a log is put aside; 0 is never" },
  "audit-log-format": { type: "string", value: "json|legacy", default: "json", help: "How events are written" },
  "audit-log-version": { type: "string", default: "audit.k8s.io/v1", help: "Version of the events in the log" },
  "audit-log-compress": { type: "bool", default: false, help: "Compress old logs" },
  ...batchFlags("log", { mode: "blocking", maxSize: 1, throttles: false }),
  "audit-webhook-config-file": { type: "string", value: "FILE", help: "Kubeconfig of a server that takes events" },
  "audit-webhook-initial-backoff": {
    type: "string",
    value: "DURATION",
    default: "10s",
    help: "How long to wait before events are sent again that were not taken",
  },
  "audit-webhook-version": { type: "string", default: "audit.k8s.io/v1", help: "Version of the events that are sent" },
  ...batchFlags("webhook", { mode: "batch", maxSize: 400, throttles: true }),
} as const;

type AuditSettings = FlagValues<typeof auditFlags>;

/** How long a server that takes events may need for it. */
const webhookMs = 30_000;

interface AuditWorld {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricRegistry;
}

/** Undefined if nothing is recorded. Throws UsageError, and an Error for an invalid policy file. */
export async function auditOf(settings: AuditSettings, world: AuditWorld): Promise<AuditOptions | undefined> {
  checkAuditFlags(settings);
  const { clock, log } = world;
  const file = settings["audit-policy-file"];
  const [path, webhook] = [settings["audit-log-path"], settings["audit-webhook-config-file"]];
  if (file === undefined) {
    if (path !== undefined || webhook !== undefined)
      log.warn("no audit events are recorded, because there is no --audit-policy-file");
    return undefined;
  }
  const policy = flagFile("audit-policy-file", file, (text) =>
    parseAuditPolicy(text, (problem) => log.warn("the audit policy has a field that nobody knows", { problem })),
  );
  const metrics = new AuditMetrics(world.metrics, log);
  const sinks: AuditSink[] = [];
  if (path !== undefined)
    sinks.push(sinkOf(settings, "log", await auditLogFile(logOptions(settings, path, world)), metrics, clock));
  if (webhook !== undefined) {
    const { post, close } = kubeconfigWebhook(webhook, clock);
    const initialBackoffMs = durationFlag("audit-webhook-initial-backoff", settings["audit-webhook-initial-backoff"]);
    const backend = auditWebhook({ post: (body) => post(body, webhookMs), close, initialBackoffMs, clock });
    sinks.push(sinkOf(settings, "webhook", backend, metrics, clock));
  }
  return sinks.length === 0 ? undefined : { policy, sink: allSinks(sinks), metrics };
}

const dayMs = 24 * 60 * 60 * 1000;

const logOptions = (settings: AuditSettings, path: string, { clock, log }: AuditWorld): AuditLogOptions => ({
  path,
  format: settings["audit-log-format"] === "legacy" ? "legacy" : "json",
  maxBytes: settings["audit-log-maxsize"] * 1024 * 1024,
  maxBackups: settings["audit-log-maxbackup"],
  maxAgeMs: settings["audit-log-maxage"] * dayMs,
  compress: settings["audit-log-compress"],
  clock,
  log,
});

function sinkOf(
  settings: AuditSettings,
  name: "log" | "webhook",
  plain: AuditBackend,
  metrics: AuditMetrics,
  clock: Clock,
): AuditSink {
  const truncates = settings[`audit-${name}-truncate-enabled`];
  const maxBatchBytes = settings[`audit-${name}-truncate-max-batch-size`];
  const maxEventBytes = settings[`audit-${name}-truncate-max-event-size`];
  const backend = truncates ? truncating(plain, { maxEventBytes, maxBatchBytes }, metrics) : plain;
  const mode = settings[`audit-${name}-mode`];
  if (mode !== "batch") return new BlockingSink(backend, metrics, { isStrict: mode === "blocking-strict", clock });
  return new BatchingSink(backend, metrics, {
    bufferSize: settings[`audit-${name}-batch-buffer-size`],
    maxSize: settings[`audit-${name}-batch-max-size`],
    maxWaitMs: durationFlag(`audit-${name}-batch-max-wait`, settings[`audit-${name}-batch-max-wait`]),
    ...(truncates && { maxBytes: maxBatchBytes }),
    ...(settings[`audit-${name}-batch-throttle-enable`] && {
      throttle: {
        qps: Number(settings[`audit-${name}-batch-throttle-qps`]),
        burst: settings[`audit-${name}-batch-throttle-burst`],
      },
    }),
    clock,
  });
}

function checkAuditFlags(settings: AuditSettings): void {
  for (const name of ["log", "webhook"] as const) checkBackendFlags(settings, name);
  const format = settings["audit-log-format"];
  if (format !== "json" && format !== "legacy")
    throw new UsageError(`invalid audit log format ${format}, allowed formats are "legacy,json"`);
  for (const name of ["audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"] as const)
    if (settings[name] < 0) throw new UsageError(`--${name} ${settings[name]} can't be a negative number`);
}

function checkBackendFlags(settings: AuditSettings, name: "log" | "webhook"): void {
  const mode = settings[`audit-${name}-mode`];
  if (!auditModes.some((known) => known === mode))
    throw new UsageError(`invalid audit ${name} mode ${mode}, allowed modes are "${auditModes.join(",")}"`);
  const version = settings[`audit-${name}-version`];
  if (version !== "audit.k8s.io/v1")
    throw new UsageError(`--audit-${name}-version: invalid group version, allowed versions are ["audit.k8s.io/v1"]`);
  const positive = (what: string, value: number): void => {
    if (!(value > 0)) throw new UsageError(`invalid audit ${what} ${value}, must be a positive number`);
  };
  positive(`truncate ${name} max event size`, settings[`audit-${name}-truncate-max-event-size`]);
  if (settings[`audit-${name}-truncate-max-batch-size`] < settings[`audit-${name}-truncate-max-event-size`])
    throw new UsageError(`invalid audit truncate ${name} max batch size, must be greater than max event size`);
  if (mode !== "batch") return;
  positive(`batch ${name} buffer size`, settings[`audit-${name}-batch-buffer-size`]);
  positive(`batch ${name} max batch size`, settings[`audit-${name}-batch-max-size`]);
  if (!settings[`audit-${name}-batch-throttle-enable`]) return;
  positive(`batch ${name} throttle QPS`, Number(settings[`audit-${name}-batch-throttle-qps`]));
  positive(`batch ${name} throttle burst`, settings[`audit-${name}-batch-throttle-burst`]);
}
