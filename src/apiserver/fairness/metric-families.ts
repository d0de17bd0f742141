// The names under which priority and fairness counts: upstream's, with its labels and buckets.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/metrics/metrics.go.
import type { Counter, Gauge, Histogram, MetricFamily, MetricRegistry, Stability } from "#base/metrics.ts";

const prefix = "apiserver_flowcontrol_";
const level = "priority_level";
const flow = [level, "flow_schema"];
const seconds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];

class Declarations {
  readonly #registry: MetricRegistry;

  constructor(registry: MetricRegistry) {
    this.#registry = registry;
  }

  counter(
    name: string,
    help: string,
    labels: readonly string[],
    stability: Stability = "ALPHA",
  ): MetricFamily<Counter> {
    return this.#registry.counter({ name: prefix + name, help, labels, stability });
  }

  gauge(name: string, help: string, labels: readonly string[], stability: Stability = "ALPHA"): MetricFamily<Gauge> {
    return this.#registry.gauge({ name: prefix + name, help, labels, stability });
  }

  histogram(
    name: string,
    help: string,
    form: { readonly labels: readonly string[]; readonly buckets: readonly number[]; readonly stability?: Stability },
  ): MetricFamily<Histogram> {
    return this.#registry.histogram({ name: prefix + name, help, stability: "ALPHA", ...form });
  }
}

/** What happens to requests. */
export function requestFamilies(registry: MetricRegistry) {
  const all = new Declarations(registry);
  all.counter("epoch_advance_total", "How often the virtual clock was set back.", [level, "success"]);
  return {
    rejected: all.counter("rejected_requests_total", "Requests that were rejected.", [...flow, "reason"], "BETA"),
    dispatched: all.counter("dispatched_requests_total", "Requests that were let go.", flow, "BETA"),
    unaccommodated: all.counter(
      "request_dispatch_no_accommodation_total",
      "How often the next request had to wait for seats.",
      flow,
    ),
    waits: all.histogram("request_wait_duration_seconds", "How long requests waited.", {
      labels: [...flow, "execute"],
      buckets: seconds,
      stability: "BETA",
    }),
    executions: all.histogram("request_execution_seconds", "How long it took to serve, or to begin a watch.", {
      labels: [...flow, "type"],
      buckets: seconds,
    }),
    seats: all.histogram("work_estimated_seats", "Seats that requests were estimated to take.", {
      labels: flow,
      buckets: [1, 2, 4, 8, 16, 32, 64, 100],
    }),
    watchers: all.histogram("watch_count_samples", "Watches that hear of a write.", {
      labels: flow,
      buckets: [0, 1, 10, 100, 1000, 10_000],
    }),
    queueLength: all.histogram("request_queue_length_after_enqueue", "Requests in a queue, the new one included.", {
      labels: flow,
      buckets: [0, 10, 25, 50, 100, 250, 500, 1000],
    }),
  };
}

/** Numbers as parts of their limits, over time: buckets count nanoseconds. */
export function ratioFamilies(registry: MetricRegistry) {
  const all = new Declarations(registry);
  return {
    seats: all.histogram("priority_level_seat_utilization", "Seats in use, by nanoseconds.", {
      labels: [level, "phase"],
      buckets: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    }),
    requests: all.histogram("priority_level_request_utilization", "Requests, by nanoseconds.", {
      labels: ["phase", level],
      buckets: [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
    }),
    demand: all.histogram("demand_seats", "Seats that could be used, by nanoseconds.", {
      labels: [level],
      buckets: [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6],
    }),
    kinds: all.histogram("read_vs_write_current_requests", "Requests that read and that write, by nanoseconds.", {
      labels: ["phase", "request_kind"],
      buckets: [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    }),
  };
}

/** What is written when a request is let go from a queue, and when seats are divided anew. */
export function levelFamilies(registry: MetricRegistry) {
  const all = new Declarations(registry);
  const gauge = (name: string, help: string, ...labels: readonly string[]) => all.gauge(name, help, [level, ...labels]);
  return {
    dispatchR: gauge("dispatch_r", "The virtual clock when a request was last let go."),
    latestS: gauge("latest_s", "Where the last request that was let go begins in virtual time."),
    nextS: gauge("next_s_bounds", "Where the next requests begin, over all queues.", "bound"),
    nextDiscountedS: gauge("next_discounted_s_bounds", "The same, less the work under way.", "bound"),
    most: gauge("demand_seats_high_watermark", "The most seats that could be used, of late."),
    average: gauge("demand_seats_average", "Seats that could be used, on average, of late."),
    deviation: gauge("demand_seats_stdev", "The standard deviation of that."),
    smoothed: gauge("demand_seats_smoothed", "Seats that could be used, smoothed."),
    target: gauge("target_seats", "Seats that a level should have."),
    share: all.gauge("seat_fair_frac", "The share of its target that a level gets.", []),
  };
}

/** What is looked up when metrics are read. */
export function presentFamilies(registry: MetricRegistry) {
  const all = new Declarations(registry);
  return {
    flows: {
      waiting: all.gauge("current_inqueue_requests", "Requests that wait.", flow, "BETA"),
      waitingSeats: all.gauge("current_inqueue_seats", "Seats that are waited for.", flow),
      executing: all.gauge("current_executing_requests", "Requests that are served.", flow, "BETA"),
      executingSeats: all.gauge("current_executing_seats", "Seats in use.", flow, "BETA"),
      inUse: all.gauge("request_concurrency_in_use", "Seats in use, under an older name.", flow),
    },
    levels: {
      nominal: all.gauge("nominal_limit_seats", "Seats of a level by its share.", [level], "BETA"),
      nominalBefore: all.gauge("request_concurrency_limit", "The same under an older name.", [level]),
      least: all.gauge("lower_limit_seats", "Seats that a level keeps when it lends all it may.", [level]),
      most: all.gauge("upper_limit_seats", "Seats that a level has when it borrows all it may.", [level]),
      current: all.gauge("current_limit_seats", "Seats of a level for now.", [level]),
      currentR: all.gauge("current_r", "The virtual clock.", [level]),
    },
  };
}
