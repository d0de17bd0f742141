// What the server counts of requests, under upstream's names. Series are found without making a key: that would take longer than the
// rest, which is additions.
import type { Clock } from "#base/clock.ts";
import type { Counter, Gauge, Histogram, MetricRegistry } from "#base/metrics.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import { type HttpRequest, type HttpResponse, isParts, isStream } from "#wire/http.ts";

const component = "apiserver";
const resourceLabels = ["verb", "group", "version", "resource", "subresource", "scope", "component"] as const;

/** In place of the release that no longer serves something. */
const stillServed = "";

/** What requests are told apart by. */
interface Counted {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly code: number;
  readonly dryRun: string;
}

/** The series of requests that differ in nothing. */
interface Series extends Counted {
  readonly labels: readonly string[];
  readonly total: Counter;
  readonly duration: Histogram;
  readonly size: Histogram | undefined;
}

export interface RequestMetricsOptions {
  readonly registry: MetricRegistry;
  readonly clock: Clock;
  /** The kind that is served at such a resource and subresource: names that clients make up are not counted by. */
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

  begin(request: HttpRequest): RequestMeasure {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const inflight = isRead ? this.#inflight.readOnly : this.#inflight.mutating;
    inflight.add(1);
    return new RequestMeasure(this, request, this.#options.clock.elapsed(), inflight);
  }

  record(measure: RequestMeasure, response: HttpResponse): HttpResponse {
    measure.leave();
    const series = this.#seriesOf(measure, response.code);
    const { body } = response;
    if (!series) {
      measure.release();
      return response;
    }
    if (isStream(body) || response.upgraded) return this.#lasting(measure, series, response);
    measure.release();
    this.#count(measure, series);
    series.size?.observe(isParts(body) ? body.size : body.length);
    return response;
  }

  #count({ started }: RequestMeasure, { total, duration }: Series): void {
    total.add();
    duration.observe((this.#options.clock.elapsed() - started) / 1000);
  }

  /** A request that lasts is counted when it ends. */
  #lasting(measure: RequestMeasure, series: Series, response: HttpResponse): HttpResponse {
    const open = this.#longRunning.of(...series.labels);
    open.add(1);
    let isOpen = true;
    const ended = () => {
      if (!isOpen) return;
      isOpen = false;
      open.add(-1);
      measure.release();
      this.#count(measure, series);
    };
    measure.request.signal.addEventListener("abort", ended, { once: true });
    const { body, upgraded } = response;
    if (upgraded) return { ...response, upgraded: (connection) => upgraded(connection).finally(ended) };
    return isStream(body) ? { ...response, body: told(body, ended) } : response;
  }

  #seriesOf(measure: RequestMeasure, code: number): Series | undefined {
    const { request, address, path } = measure;
    if (!address && path === "") return undefined;
    const { group = "", version = "", resource = "", subresource = path } = address ?? {};
    const verb = reportedVerb(request, measure.verb);
    const scope = scopeOf(measure);
    const dryRun = request.url.includes("dryRun") ? dryRunOf(request.query) : "";
    const ofResource = this.#known.get(resource);
    for (const one of ofResource ?? [])
      if (
        one.verb === verb &&
        one.code === code &&
        one.scope === scope &&
        one.subresource === subresource &&
        one.group === group &&
        one.version === version &&
        one.dryRun === dryRun
      )
        return one;
    const kind = address && this.#options.kindAt(address);
    if (address && !kind) return undefined;
    if (kind?.deprecated) this.#deprecated.of(group, version, resource, subresource, stillServed).set(1);
    const series = this.#make({ verb, group, version, resource, subresource, scope, code, dryRun });
    if (ofResource) ofResource.push(series);
    else this.#known.set(resource, [series]);
    return series;
  }

  #make(counted: Counted): Series {
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

const nothing = (): void => undefined;

/** One request on its way. What it asks for is noted as soon as it is known. */
export class RequestMeasure {
  readonly request: HttpRequest;
  readonly started: number;
  address: ResourceAddress | undefined;
  /** Of a path that is no resource: one of the few that are counted by. */
  path = "";
  verb: RequestVerb | undefined;
  /** To be called when nothing more is done for the request. */
  release: () => void = nothing;
  readonly #metrics: RequestMetrics;
  readonly #inflight: Gauge;
  #isInside = true;

  constructor(metrics: RequestMetrics, request: HttpRequest, started: number, inflight: Gauge) {
    this.#metrics = metrics;
    this.request = request;
    this.started = started;
    this.#inflight = inflight;
  }

  /** The answer, counted. */
  answered(response: HttpResponse): HttpResponse {
    return this.#metrics.record(this, response);
  }

  /** It is no longer being answered, whether it was or not. */
  leave(): void {
    if (!this.#isInside) return;
    this.#isInside = false;
    this.#inflight.add(-1);
  }
}

function scopeOf({ address, verb }: RequestMeasure): string {
  if (!address) return "";
  if (address.name !== undefined || verb === "create") return "resource";
  return address.namespace === undefined ? "cluster" : "namespace";
}

const methods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

function reportedVerb({ method, headers }: HttpRequest, verb: RequestVerb | undefined): string {
  switch (verb) {
    case "watch":
      return "WATCH";
    case "list":
      return "LIST";
    case "connect":
      return "CONNECT";
    case "patch":
      return headers["content-type"]?.startsWith("application/apply-patch") ? "APPLY" : "PATCH";
    default:
      return method === "HEAD" ? "GET" : methods.has(method) ? method : "other";
  }
}

function dryRunOf(query: URLSearchParams): string {
  const asked = query.getAll("dryRun");
  if (asked.length === 0) return "";
  return asked.every((one) => one === "All") ? "All" : "invalid";
}

/** The same stream; tells when it ends, or when nobody wants more of it. */
function told(body: AsyncIterable<Uint8Array>, ended: () => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const inner = body[Symbol.asyncIterator]();
      const failed = (error: unknown) => {
        ended();
        throw error;
      };
      return {
        next: () =>
          inner.next().then((result) => {
            if (result.done) ended();
            return result;
          }, failed),
        return: async () => {
          ended();
          return (await inner.return?.()) ?? { done: true, value: undefined };
        },
      };
    },
  };
}
