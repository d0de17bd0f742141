// A list whose members can leave from its middle at no cost. A request waits or is served, never both, so that one pair of links is enough.
import type { ResourceAddress, User } from "#wire/api-request.ts";
import type { FlowState } from "./dealer.ts";
import type { WorkEstimate } from "./work-estimate.ts";

/** Where a request comes from, and what is shown of it to those who look at the queues. */
export interface RequestArrival {
  readonly schema: string;
  /** What tells its flow from others of the same schema. */
  readonly distinguisher: string;
  readonly tally: FlowTally;
  readonly user: User;
  readonly verb: string;
  readonly path: string;
  readonly address: Partial<ResourceAddress>;
}

/** What is counted of the requests of one flow schema at one level. */
export interface FlowTally {
  waiting: number;
  waitingSeats: number;
  executing: number;
  executingSeats: number;
}

/** A request on its way through a queue set. */
export class FairRequest {
  readonly arrival: RequestArrival;
  readonly tally: FlowTally;
  readonly initialSeats: number;
  finalSeats: number;
  additionalMs: number;
  /** Seats that it takes of the level: those of its wider phase. */
  readonly width: number;
  /** In seat-seconds, as estimated. */
  readonly work: number;
  readonly arrivedAt: number;
  readonly arrivalR: number;
  startedAt = 0;
  state: "waiting" | "executing" | "over" = "waiting";
  queue: RequestQueue | undefined;
  flow: FlowState | undefined;
  /** Called once if the request has to wait: true lets it go on. */
  decided: ((isExecuted: boolean) => void) | undefined;
  previous: FairRequest | undefined;
  next: FairRequest | undefined;

  constructor(arrival: RequestArrival, estimate: WorkEstimate, now: number, currentR: number) {
    const { initialSeats, finalSeats, additionalMs } = estimate;
    this.arrival = arrival;
    this.tally = arrival.tally;
    this.initialSeats = initialSeats;
    this.finalSeats = finalSeats;
    this.additionalMs = additionalMs;
    this.width = Math.max(initialSeats, finalSeats);
    this.work = initialSeats * estimatedSeconds + (finalSeats * additionalMs) / 1000;
    this.arrivedAt = now;
    this.arrivalR = currentR;
  }
}

/** How long any request is thought to be served, until it has been. */
export const estimatedSeconds = 0.003;

export class RequestList {
  first: FairRequest | undefined;
  length = 0;
  #last: FairRequest | undefined;

  push(request: FairRequest): void {
    request.previous = this.#last;
    request.next = undefined;
    if (this.#last) this.#last.next = request;
    else this.first = request;
    this.#last = request;
    this.length++;
  }

  remove(request: FairRequest): void {
    const { previous, next } = request;
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    request.previous = undefined;
    request.next = undefined;
    this.length--;
  }

  *[Symbol.iterator](): Generator<FairRequest> {
    for (let one = this.first; one; one = one.next) yield one;
  }
}

/** Requests of one queue: those that wait, and those that are served and came from it. */
export class RequestQueue {
  readonly waiting = new RequestList();
  readonly executing = new RequestList();
  /** Its place among the queues of its level. */
  index: number;
  /** The reading of the virtual clock at which the next request is let go in the virtual world. */
  nextDispatchR = 0;
  /** Seats of its requests, also of those that are over and whose events are still on their way. */
  seatsInUse = 0;
  /** Sums over those that wait. */
  waitingSeats = 0;
  waitingWork = 0;

  constructor(index: number) {
    this.index = index;
  }

  get isActive(): boolean {
    return this.waiting.length > 0 || this.executing.length > 0;
  }
}
