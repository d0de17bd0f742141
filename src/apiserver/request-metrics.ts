// What the server counts of requests, under upstream's names. Series are found without making a key: that would take longer than the
// rest, which is additions.
import type { Clock } from "#base/clock.ts";
import type { Counter, Gauge, Histogram, MetricRegistry } from "#base/metrics.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import type { Call } from "./pipeline/call.ts";
import type { AnswerFacts, LifeListener } from "./pipeline/request-life.ts";

const component = "apiserver";
const resourceLabels = ["verb", "group", "version", "resource", "subresource", "scope", "component"] as const;

/** In place of the release that no longer serves something. */
const stillServed = "";

/** The labels of requests. */
interface SeriesLabels {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly code: number;
  readonly dryRun: string;
}

/** The series of requests with equal labels. */
interface Series extends SeriesLabels {
  readonly labels: readonly string[];
  readonly total: Counter;
  readonly duration: Histogram;
  readonly size: Histogram | undefined;
}

export interface RequestMetricsOptions {
  readonly registry: MetricRegistry;
  readonly clock: Clock;
  /** The kind that is served there: resources that do not exist get no series, since clients could make up any number. */
  readonly kindAt: (address: ResourceAddress) => AnyKind | undefined;
}

export class RequestMetrics {
  readonly #options: RequestMetricsOptions;
  readonly #total;
  readonly #duration;
  readonly #size;
  readonly #longRunning;
  readonly #deprecated;
  readonly #inflight;
  /** By resource; of each there are a few, those first that came first. */
  readonly #known = new Map<string, Series[]>();

  constructor(options: RequestMetricsOptions) {
    const { registry } = options;
    this.#options = options;
    const [verb, ...others] = resourceLabels;
    this.#total = registry.counter({
      name: "apiserver_request_total",
      help: "Requests, by what was asked and how it was answered.",
      labels: [verb, "dry_run", ...others, "code"],
      stability: "STABLE",
    });
    this.#duration = registry.histogram({
      name: "apiserver_request_duration_seconds",
      help: "How long it took to answer.",
      labels: [verb, "dry_run", ...others],
      buckets: [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60],
      stability: "STABLE",
    });
    this.#size = registry.histogram({
      name: "apiserver_response_sizes",
      help: "Bytes of the answers to gets and lists.",
      labels: resourceLabels,
      buckets: [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9],
      stability: "STABLE",
    });
    this.#longRunning = registry.gauge({
      name: "apiserver_longrunning_requests",
      help: "Watches and connections that are open.",
      labels: resourceLabels,
      stability: "STABLE",
    });
    this.#deprecated = registry.gauge({
      name: "apiserver_requested_deprecated_apis",
      help: "Resources that are deprecated and were asked for.",
      labels: ["group", "version", "resource", "subresource", "removed_release"],
      stability: "STABLE",
    });
    const inflight = registry.gauge({
      name: "apiserver_current_inflight_requests",
      help: "Requests that are being answered, those that last excepted.",
      labels: ["request_kind"],
      stability: "STABLE",
    });
    this.#inflight = { readOnly: inflight.of("readOnly"), mutating: inflight.of("mutating") };
  }

  /** Follows a request from now on. */
  begin(call: Call): void {
    const inflight = isRead(call) ? this.#inflight.readOnly : this.#inflight.mutating;
    inflight.add(1);
    call.life.follow(new RequestMeasure(this, call, inflight, this.#options.clock.elapsed()));
  }

  openOf(series: Series): Gauge {
    return this.#longRunning.of(...series.labels);
  }

  secondsSince(elapsed: number): number {
    return (this.#options.clock.elapsed() - elapsed) / 1000;
  }

  /** The series of a request that was answered with a code; undefined of one that is not counted. */
  seriesOf(call: Call, code: number): Series | undefined {
    const { target, countedPath } = call;
    const address = target.type === "path" ? undefined : target.address;
    if (!address && countedPath === "") return undefined;
    const { group = "", version = "", resource = "", subresource = countedPath } = address ?? {};
    const verb = reportedVerb(call);
    const scope = scopeOf(call);
    const dryRun = dryRunOf(call);
    const ofResource = this.#known.get(resource);
    for (const series of ofResource ?? [])
      if (
        series.verb === verb &&
        series.code === code &&
        series.scope === scope &&
        series.subresource === subresource &&
        series.group === group &&
        series.version === version &&
        series.dryRun === dryRun
      )
        return series;
    const kind = address && this.#options.kindAt(address);
    if (address && !kind) return undefined;
    if (kind?.deprecated) this.#deprecated.of(group, version, resource, subresource, stillServed).set(1);
    const series = this.#make({ verb, group, version, resource, subresource, scope, code, dryRun });
    if (ofResource) ofResource.push(series);
    else this.#known.set(resource, [series]);
    return series;
  }

  #make(counted: SeriesLabels): Series {
    const { verb, group, version, resource, subresource, scope, code, dryRun } = counted;
    const others = [group, version, resource, subresource, scope, component];
    return {
      ...counted,
      labels: [verb, ...others],
      total: this.#total.of(verb, dryRun, ...others, String(code)),
      duration: this.#duration.of(verb, dryRun, ...others),
      size: verb === "GET" || verb === "LIST" ? this.#size.of(verb, ...others) : undefined,
    };
  }
}

/** Counts one request. A class and not closures: it is made for every request. */
class RequestMeasure implements LifeListener {
  readonly #metrics: RequestMetrics;
  readonly #call: Call;
  readonly #inflight: Gauge;
  readonly #started: number;
  #isInside = true;
  #series: Series | undefined;
  #open: Gauge | undefined;

  constructor(metrics: RequestMetrics, call: Call, inflight: Gauge, started: number) {
    this.#metrics = metrics;
    this.#call = call;
    this.#inflight = inflight;
    this.#started = started;
  }

  answered({ code, size, isLasting }: AnswerFacts): void {
    this.#leave();
    const series = this.#metrics.seriesOf(this.#call, code);
    this.#series = series;
    if (size !== undefined) series?.size?.observe(size);
    if (!series || !isLasting) return;
    this.#open = this.#metrics.openOf(series);
    this.#open.add(1);
  }

  /** A request that lasts is counted when it ends. */
  ended(): void {
    this.#leave();
    this.#open?.add(-1);
    this.#series?.total.add();
    this.#series?.duration.observe(this.#metrics.secondsSince(this.#started));
  }

  #leave(): void {
    if (this.#isInside) this.#inflight.add(-1);
    this.#isInside = false;
  }
}

const verbOf = ({ target }: Call): RequestVerb | undefined => {
  if (target.type === "resource") return target.verb;
  return target.type === "connection" ? "connect" : undefined;
};

const readVerbs: ReadonlySet<string | undefined> = new Set(["get", "list", "watch"]);

function isRead(call: Call): boolean {
  const method = call.over?.http.method;
  return method === undefined ? readVerbs.has(verbOf(call)) : method === "GET" || method === "HEAD";
}

function scopeOf(call: Call): string {
  const { target } = call;
  if (target.type === "path") return "";
  if (target.address.name !== undefined || verbOf(call) === "create") return "resource";
  return target.address.namespace === undefined ? "cluster" : "namespace";
}

const methods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

function reportedVerb(call: Call): string {
  const { over, request } = call;
  const verb = verbOf(call);
  switch (verb) {
    case "watch":
      return "WATCH";
    case "list":
      return "LIST";
    case "connect":
      return "CONNECT";
    case "patch":
      if (over) return over.http.headers["content-type"]?.startsWith("application/apply-patch") ? "APPLY" : "PATCH";
      return request?.body?.patchType === "apply" ? "APPLY" : "PATCH";
    default:
      if (!over) return verb === undefined ? "other" : methodOf[verb];
      return over.http.method === "HEAD" ? "GET" : methods.has(over.http.method) ? over.http.method : "other";
  }
}

/** What a request of this process would be over HTTP. */
const methodOf = { get: "GET", create: "POST", update: "PUT", delete: "DELETE", deletecollection: "DELETE" } as const;

function dryRunOf({ over, request }: Call): string {
  if (over && !over.http.url.includes("dryRun")) return "";
  const values = (over?.http.query ?? request?.query)?.getAll("dryRun") ?? [];
  if (values.length === 0) return "";
  return values.every((value) => value === "All") ? "All" : "invalid";
}
