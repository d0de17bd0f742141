// How much of the server a request takes: seats while it is served, and seats for a while after it, for the events that its write
// sends to watchers. Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/request.

export interface WorkEstimate {
  /** Seats while the request is served. */
  readonly initialSeats: number;
  /** Seats after that, for so long. */
  readonly finalSeats: number;
  readonly additionalMs: number;
}

export const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, additionalMs: 0 };

/** How many objects a resource has, and how large they are on average. */
export interface ResourceStats {
  readonly count: number;
  readonly averageBytes: number;
}

/** What is known of a list, or of the objects that a watch begins with. */
export interface ListFacts {
  /** Undefined of a resource that is not stored here: whoever answers for it does the work. */
  readonly stats: ResourceStats | undefined;
  /** 0 is without limit. */
  readonly limit: number;
  readonly hasSelector: boolean;
  /** Whether it can find one object at most. */
  readonly isNamed: boolean;
  readonly isFromMemory: boolean;
}

const mostListSeats = 100;
const mostWriteSeats = 10;
const bytesPerSeat = 100_000;
/** An answer from memory is made while it is sent, and is never there as a whole. */
const mostBytesFromMemory = 1_000_000;
const watchersPerSeat = 10;
const eventMs = 5;

/** The seats of a list. `mostSeats` is what the level lets one request have; 0 is without limit. */
export function estimateList({ stats, ...facts }: ListFacts, mostSeats: number): WorkEstimate {
  if (!stats) return oneSeat;
  const limited = facts.limit > 0 ? Math.min(facts.limit, stats.count) : stats.count;
  const objects = facts.isNamed
    ? 1
    : facts.isFromMemory || !facts.hasSelector
      ? limited
      : Math.max(limited, Math.floor(stats.count / 2));
  const bytes = objects * stats.averageBytes;
  const seats = Math.ceil((facts.isFromMemory ? Math.min(bytes, mostBytesFromMemory) : bytes) / bytesPerSeat);
  const most = mostSeats === 0 ? mostListSeats : Math.min(mostSeats, mostListSeats);
  const initialSeats = Math.min(Math.max(seats, 1), most);
  return initialSeats === 1 ? oneSeat : { initialSeats, finalSeats: 0, additionalMs: 0 };
}

/** The seats of a write whose event so many watchers get. Few watchers are not worth counting. */
export function estimateWrite(watchers: number, mostSeats: number): WorkEstimate {
  if (watchers < watchersPerSeat) return oneSeat;
  const seats = Math.ceil(watchers / watchersPerSeat);
  const finalSeats = Math.min(seats, mostSeats === 0 ? mostWriteSeats : Math.min(mostSeats, mostWriteSeats));
  return { initialSeats: 1, finalSeats, additionalMs: (seats * eventMs) / finalSeats };
}

export const widthOf = ({ initialSeats, finalSeats }: WorkEstimate): number => Math.max(initialSeats, finalSeats);
