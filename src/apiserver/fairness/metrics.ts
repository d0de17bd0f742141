// What priority and fairness counts. What changes with every request is kept as plain numbers, and looked at when metrics are read.
import type { Clock } from "#base/clock.ts";
import type { Counter, Histogram, MetricRegistry } from "#base/metrics.ts";
import type { Borrowing } from "./borrowing.ts";
import type { Flow, FlowControl } from "./flow-control.ts";
import { levelFamilies, presentFamilies, ratioFamilies, requestFamilies } from "./metric-families.ts";
import type { LevelMeters } from "./queue-set.ts";
import { TimedRatio } from "./timed-ratio.ts";

/** The series of one flow, found once. */
export interface FlowSeries {
  readonly dispatched: Counter;
  readonly waits: Histogram;
  readonly rejectedWaits: Histogram;
  readonly executions: Histogram;
  readonly watchExecutions: Histogram;
  readonly seats: Histogram;
  readonly watchers: Histogram;
  readonly queueLength: Histogram;
}

export type RejectionReason = "concurrency-limit" | "queue-full" | "time-out";

interface LevelRatios {
  readonly waiting: TimedRatio;
  readonly executing: TimedRatio;
  readonly seats: TimedRatio;
  readonly demand: TimedRatio;
}

export class FairnessMetrics {
  readonly #clock: Clock;
  readonly #registry: MetricRegistry;
  readonly #requests;
  readonly #ratioFamilies;
  readonly #levels;
  readonly #ofFlows = new WeakMap<Flow, FlowSeries>();
  readonly #ratios: TimedRatio[] = [];
  readonly #levelRatios = new Map<string, LevelRatios>();
  /** Requests that read and requests that write, while they wait and while they are served. */
  readonly kinds: Readonly<Record<"waiting" | "executing", Readonly<Record<"readOnly" | "mutating", TimedRatio>>>>;

  constructor(registry: MetricRegistry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
    this.#requests = requestFamilies(registry);
    this.#ratioFamilies = ratioFamilies(registry);
    this.#levels = levelFamilies(registry);
    const { kinds } = this.#ratioFamilies;
    const both = (phase: string) => ({
      readOnly: this.#ratio(kinds.of(phase, "readOnly")),
      mutating: this.#ratio(kinds.of(phase, "mutating")),
    });
    this.kinds = { waiting: both("waiting"), executing: both("executing") };
  }

  /** Reads the present state before each exposition. */
  follow(control: FlowControl): void {
    const { flows, levels } = presentFamilies(this.#registry);
    this.#registry.reading(() => {
      const now = this.#clock.elapsed();
      for (const ratio of this.#ratios) ratio.advance(now);
      for (const family of [...Object.values(flows), ...Object.values(levels)]) family.clear();
      for (const { level, schema, tally } of control.flows) {
        for (const key of ["waiting", "waitingSeats", "executing", "executingSeats"] as const)
          flows[key].of(level.name, schema).set(tally[key]);
        flows.inUse.of(level.name, schema).set(tally.executingSeats);
      }
      for (const { name, limits, queues } of control.levels.values()) {
        levels.nominal.of(name).set(limits.nominal);
        levels.nominalBefore.of(name).set(limits.nominal);
        levels.least.of(name).set(limits.least);
        levels.most.of(name).set(limits.most);
        levels.current.of(name).set(queues.limit);
        levels.currentR.of(name).set(queues.currentR);
      }
    });
  }

  seriesOf(flow: Flow): FlowSeries {
    const known = this.#ofFlows.get(flow);
    if (known) return known;
    const labels = [flow.level.name, flow.schema];
    const { dispatched, waits, executions, seats, watchers, queueLength } = this.#requests;
    const series: FlowSeries = {
      dispatched: dispatched.of(...labels),
      waits: waits.of(...labels, "true"),
      rejectedWaits: waits.of(...labels, "false"),
      executions: executions.of(...labels, "regular"),
      watchExecutions: executions.of(...labels, "watch"),
      seats: seats.of(...labels),
      watchers: watchers.of(...labels),
      queueLength: queueLength.of(...labels),
    };
    this.#ofFlows.set(flow, series);
    return series;
  }

  rejected(flow: Flow, reason: RejectionReason): void {
    this.#requests.rejected.of(flow.level.name, flow.schema, reason).add();
  }

  metersOf(name: string): LevelMeters {
    const { requests, seats, demand } = this.#ratioFamilies;
    const ratios: LevelRatios = this.#levelRatios.get(name) ?? {
      waiting: this.#ratio(requests.of("waiting", name)),
      executing: this.#ratio(requests.of("executing", name)),
      seats: this.#ratio(seats.of(name, "executing")),
      demand: this.#ratio(demand.of(name)),
    };
    this.#levelRatios.set(name, ratios);
    const { dispatchR, latestS, nextS, nextDiscountedS } = this.#levels;
    return {
      waiting: (requests, now) => ratios.waiting.set(requests, now),
      executing: (requests, now) => ratios.executing.set(requests, now),
      seats: (seats, now) => ratios.seats.set(seats, now),
      demand: (seats, now) => ratios.demand.set(seats, now),
      dispatched: ({ currentR, startR, least, most, leastDiscounted, mostDiscounted }) => {
        dispatchR.of(name).set(currentR);
        latestS.of(name).set(startR);
        nextS.of(name, "min").set(least);
        nextS.of(name, "max").set(most);
        nextDiscountedS.of(name, "min").set(leastDiscounted);
        nextDiscountedS.of(name, "max").set(mostDiscounted);
      },
      unaccommodated: (request) => this.#requests.unaccommodated.of(name, request.arrival.schema).add(),
    };
  }

  /** Notes what the levels have to go by from now on. */
  adjusted(control: FlowControl, { targets, share, seats }: Borrowing, total: number): void {
    const now = this.#clock.elapsed();
    let [waiting, executing] = [0, 0];
    for (const level of control.levels.values()) {
      const { name, stats, limits, spec } = level;
      for (const key of ["most", "average", "deviation", "smoothed"] as const)
        this.#levels[key].of(name).set(stats[key]);
      this.#levels.target.of(name).set(targets.get(level) ?? 0);
      const { queues = 0, queueLengthLimit = 1 } = spec.limited?.limitResponse.queuing ?? {};
      const own = seats.get(level) || Math.max(1, Math.round(total / 10));
      const ratios = this.#levelRatios.get(name);
      ratios?.waiting.setLimit(Math.max(1, queues) * queueLengthLimit, now);
      for (const ratio of [ratios?.executing, ratios?.seats, ratios?.demand]) ratio?.setLimit(own, now);
      waiting += queues * queueLengthLimit;
      executing += limits.nominal;
    }
    this.#levels.share.of().set(share);
    for (const kind of ["readOnly", "mutating"] as const) {
      this.kinds.waiting[kind].setLimit(waiting, now);
      this.kinds.executing[kind].setLimit(executing, now);
    }
  }

  #ratio(histogram: Histogram): TimedRatio {
    const ratio = new TimedRatio(histogram, this.#clock.elapsed());
    this.#ratios.push(ratio);
    return ratio;
  }
}
