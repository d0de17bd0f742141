// One priority level: its share of the server, what it lends and borrows, and the queues in which its requests wait.
import type { PriorityLevelConfiguration } from "#api/flowcontrol/v1/priority-level-configuration.ts";
import type { Clock } from "#base/clock.ts";
import { DemandIntegral, type DemandStats, demandAfter, noDemand } from "./demand.ts";
import { DroppedRequests } from "./dropped-requests.ts";
import { type LevelMeters, QueueSet, type Restraint } from "./queue-set.ts";

/** Seats. */
export interface LevelLimits {
  readonly nominal: number;
  /** What is left when all is lent that may be. */
  readonly least: number;
  /** With all that may be borrowed. */
  readonly most: number;
}

type LevelSpec = PriorityLevelConfiguration["spec"];

export class PriorityLevel {
  readonly name: string;
  readonly queues: QueueSet;
  readonly dropped = new DroppedRequests();
  uid = "";
  spec: LevelSpec;
  limits: LevelLimits = { nominal: 0, least: 0, most: 0 };
  /** Seats that one request may take, as far as it is estimated; 0 is without limit. */
  mostSeats = 0;
  stats: DemandStats = noDemand;
  /** Whether nobody wants it any more: it goes when the last of its requests is over. */
  isQuiescing = false;
  readonly #demand: DemandIntegral;

  constructor(name: string, spec: LevelSpec, clock: Clock, meters: LevelMeters) {
    const demand = new DemandIntegral(clock.elapsed());
    this.name = name;
    this.spec = spec;
    this.#demand = demand;
    this.queues = new QueueSet(clock, {
      waiting: (requests, now) => meters.waiting(requests, now),
      executing: (requests, now) => meters.executing(requests, now),
      seats: (seats, now) => meters.seats(seats, now),
      demand: (seats, now) => {
        demand.set(seats, now);
        meters.demand(seats, now);
      },
      dispatched: (readings) => meters.dispatched?.(readings),
      unaccommodated: (request) => meters.unaccommodated?.(request),
    });
  }

  get isExempt(): boolean {
    return this.spec.type === "Exempt";
  }

  get shares(): number {
    return sharesOf(this.spec);
  }

  /** Whether a flow of this level must be told apart from others. */
  get hasManyQueues(): boolean {
    return (this.spec.limited?.limitResponse.queuing?.queues ?? 0) > 1;
  }

  /** Ends a period of the demand. */
  review(now: number): void {
    this.stats = demandAfter(this.stats, this.#demand.take(now));
  }

  /** Sets how many seats there are for now. */
  allot(seats: number, now: number): void {
    this.queues.configure(restraintOf(this.spec), seats, now);
  }
}

export const sharesOf = ({ limited, exempt }: LevelSpec): number =>
  limited?.nominalConcurrencyShares ?? exempt?.nominalConcurrencyShares ?? 0;

export function limitsOf({ limited, exempt }: LevelSpec, total: number, shareSum: number): LevelLimits {
  const { nominalConcurrencyShares: shares = 0, lendablePercent = 0 } = limited ?? exempt ?? {};
  const nominal = shareSum > 0 ? Math.ceil((total * shares) / shareSum) : 0;
  const borrowable = limited?.borrowingLimitPercent;
  return {
    nominal,
    least: nominal - Math.round((nominal * lendablePercent) / 100),
    most: nominal + (borrowable === undefined ? total : Math.round((nominal * borrowable) / 100)),
  };
}

/** What one request may take of a level: few enough that those beside it still find a seat. */
export function mostSeatsOf({ limited }: LevelSpec, { nominal }: LevelLimits): number {
  const handSize = limited?.limitResponse.queuing?.handSize;
  if (handSize === undefined) return 0;
  return Math.max(1, Math.min(Math.ceil(nominal * 0.15), Math.floor(nominal / handSize)));
}

function restraintOf({ type, limited }: LevelSpec): Restraint {
  if (type === "Exempt") return { type: "exempt" };
  const queuing = limited?.limitResponse.queuing;
  if (!queuing) return { type: "reject" };
  const { queues, handSize, queueLengthLimit: lengthLimit } = queuing;
  return { type: "queue", shape: { queues, handSize, lengthLimit } };
}
