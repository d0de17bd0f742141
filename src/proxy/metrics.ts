// What the proxy counts, by upstream's names.
// Upstream: pkg/proxy/metrics/metrics.go.
import type { Clock } from "#base/clock.ts";
import type { MetricRegistry, Metrics } from "#base/metrics.ts";
import type { FrontendFamily } from "./frontends.ts";
import type { FrontendChange, ProxyMode } from "./proxy-mode.ts";

const prefix = "kubeproxy_";
const name = (rest: string): string => `${prefix}sync_${rest}`;
const doubling = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => Number((first * 2 ** i).toPrecision(12)));
const steps = (first: number, step: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => first + i * step);

/** So many changes are measured at most until rules follow. */
const mostTriggers = 10_000;

const durations = {
  full_proxy_rules_duration_seconds: "How long it took to write all rules.",
  partial_proxy_rules_duration_seconds: "How long it took to write the rules that had changed.",
  proxy_rules_duration_seconds: "How long it took to write rules, all or some.",
};
const gauges = {
  proxy_rules_last_queued_timestamp_seconds: "When a change was last noticed.",
  proxy_rules_last_timestamp_seconds: "When rules were last written.",
};
const failures = {
  proxy_rules_iptables_restore_failures_total: "Times that iptables rules could not be written.",
  proxy_rules_iptables_partial_restore_failures_total: "Times that changes of iptables rules could not be written.",
  proxy_rules_nftables_sync_failures_total: "Times that nftables rules could not be written.",
};

/** Declares the metrics of this layer. To be called once for each registry. */
export function declareProxyMetrics(registry: MetricRegistry): void {
  const labels = ["ip_family"];
  for (const [rest, help] of Object.entries(durations))
    registry.histogram({ name: name(rest), help, labels, buckets: doubling(0.001, 15) });
  for (const [rest, help] of Object.entries(gauges)) registry.gauge({ name: name(rest), help, labels });
  for (const [rest, help] of Object.entries(failures)) registry.counter({ name: name(rest), help, labels });
  for (const what of ["service", "endpoint"]) {
    const changes = `Changes of ${what}s`;
    registry.counter({ name: name(`proxy_rules_${what}_changes_total`), help: `${changes}.` });
    registry.gauge({ name: name(`proxy_rules_${what}_changes_pending`), help: `${changes} that no rules follow yet.` });
  }
  registry.gauge({
    name: name("proxy_rules_no_local_endpoints_total"),
    help: "Ports of services whose traffic policy keeps traffic on a node that has no endpoint.",
    labels: ["ip_family", "traffic_policy"],
  });
  registry.histogram({
    name: `${prefix}network_programming_duration_seconds`,
    help: "How long it took from a change of endpoints until rules followed.",
    labels,
    buckets: [0.25, 0.5, ...steps(1, 1, 59), ...steps(60, 5, 12), ...steps(120, 30, 7)],
  });
  for (const path of ["healthz", "livez"])
    registry.counter({ name: `${prefix}proxy_${path}_total`, help: `Answers of /${path}, by code.`, labels: ["code"] });
}

/** Notes what a proxy does. */
export class ProxyMeter {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #families: readonly FrontendFamily[];
  readonly #pending = { service: 0, endpoint: 0 };
  /** When endpoints changed that no rules follow yet, in milliseconds since 1970. */
  #triggers: number[] = [];
  /** Services with ports that have no local endpoint where their policy wants one, by family and service. */
  readonly #withoutLocal = new Map<string, { readonly internal: number; readonly external: number }>();

  constructor(metrics: Metrics, clock: Clock, families: readonly FrontendFamily[]) {
    this.#metrics = metrics;
    this.#clock = clock;
    this.#families = families;
  }

  /** `trigger` is the time that the endpoint's change itself names. */
  changed(what: "service" | "endpoint", trigger?: string): void {
    this.#metrics.count(name(`proxy_rules_${what}_changes_total`), {});
    this.#setPending(what, this.#pending[what] + 1);
    this.#stamp("queued_");
    const at = trigger === undefined ? Number.NaN : Date.parse(trigger);
    if (Number.isFinite(at) && this.#triggers.length < mostTriggers) this.#triggers.push(at);
  }

  written(changes: readonly FrontendChange[], isFull: boolean, tookMs: number): void {
    for (const what of ["service", "endpoint"] as const) this.#setPending(what, 0);
    const now = this.#clock.now();
    for (const family of this.#families) {
      const labels = { ip_family: family };
      const seconds = tookMs / 1_000;
      this.#metrics.observe(name("proxy_rules_duration_seconds"), labels, seconds);
      const kind = isFull ? "full" : "partial";
      this.#metrics.observe(name(`${kind}_proxy_rules_duration_seconds`), labels, seconds);
      for (const at of this.#triggers)
        this.#metrics.observe(`${prefix}network_programming_duration_seconds`, labels, (now - at) / 1_000);
    }
    this.#triggers = [];
    this.#stamp("");
    this.#countWithoutLocal(changes);
  }

  failed({ name: mode }: ProxyMode, isFull: boolean): void {
    for (const ip_family of this.#families) {
      if (mode === "nftables") this.#metrics.count(name("proxy_rules_nftables_sync_failures_total"), { ip_family });
      else {
        this.#metrics.count(name("proxy_rules_iptables_restore_failures_total"), { ip_family });
        if (!isFull) this.#metrics.count(name("proxy_rules_iptables_partial_restore_failures_total"), { ip_family });
      }
    }
  }

  #stamp(what: "" | "queued_"): void {
    for (const ip_family of this.#families)
      this.#metrics.set(name(`proxy_rules_last_${what}timestamp_seconds`), { ip_family }, this.#clock.now() / 1_000);
  }

  #setPending(what: "service" | "endpoint", count: number): void {
    this.#pending[what] = count;
    this.#metrics.set(name(`proxy_rules_${what}_changes_pending`), {}, count);
  }

  #countWithoutLocal(changes: readonly FrontendChange[]): void {
    for (const { service, family, frontends } of changes) {
      const bare = frontends.filter(({ targets, without }) => targets.length === 0 && without === "drop");
      const portsOf = (isInternal: boolean) =>
        new Set(bare.filter(({ role }) => (role === "cluster") === isInternal).map(({ portName }) => portName)).size;
      const [internal, external] = [portsOf(true), portsOf(false)];
      const key = `${family} ${service}`;
      if (internal + external === 0) this.#withoutLocal.delete(key);
      else this.#withoutLocal.set(key, { internal, external });
    }
    for (const ip_family of this.#families)
      for (const traffic_policy of ["internal", "external"] as const) {
        let total = 0;
        for (const [key, counts] of this.#withoutLocal) if (key.startsWith(ip_family)) total += counts[traffic_policy];
        this.#metrics.set(name("proxy_rules_no_local_endpoints_total"), { ip_family, traffic_policy }, total);
      }
  }
}
