// Fair queuing of one priority level. In a virtual world all queues that have requests are served at once, each with the same number of
// seats; in the real one the request is let go next that would be finished first there. How long a request takes is guessed when it is
// let go, and put right when it is over. Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset; what it
// does and why is in KEP-1040. All is plain state and arithmetic: time is given with each call, in milliseconds that never jump back.
import type { Clock } from "#base/clock.ts";
import { Dealer, type FlowState } from "./dealer.ts";
import { estimatedSeconds, FairRequest, type RequestArrival, RequestList, RequestQueue } from "./request-list.ts";
import { type WorkEstimate, widthOf } from "./work-estimate.ts";

export interface QueueShape {
  readonly queues: number;
  readonly handSize: number;
  readonly lengthLimit: number;
}

/** What happens to requests beyond the limit; those that are exempt have none. */
export type Restraint = { readonly type: "queue"; readonly shape: QueueShape } | { readonly type: "reject" | "exempt" };

export type SeatRejection = "concurrency-limit" | "queue-full";

/** Follows what a level does; called whenever the number has changed. */
export interface LevelMeters {
  waiting(requests: number, now: number): void;
  executing(requests: number, now: number): void;
  seats(seats: number, now: number): void;
  /** Seats that are in use or waited for. */
  demand(seats: number, now: number): void;
  /** A request was let go from a queue: readings of the virtual clock, and bounds over queues where requests wait. */
  dispatched?(readings: DispatchReadings): void;
  /** The next request could not be let go, for want of seats. */
  unaccommodated?(request: FairRequest): void;
}

export interface DispatchReadings {
  readonly currentR: number;
  readonly startR: number;
  readonly least: number;
  readonly most: number;
  readonly leastDiscounted: number;
  readonly mostDiscounted: number;
}

export interface QueueSetTotals {
  readonly waiting: number;
  readonly executing: number;
  readonly seatsInUse: number;
  readonly dispatched: number;
  readonly rejected: number;
  readonly cancelled: number;
}

/** Where a request belongs. */
interface Place {
  readonly flow: FlowState;
  readonly queue: RequestQueue;
}

export class QueueSet {
  readonly #clock: Pick<Clock, "after" | "elapsed">;
  readonly #meters: LevelMeters;
  #restraint: Restraint = { type: "reject" };
  #dealer: Dealer | undefined;
  #limit = 0;
  readonly #queues: RequestQueue[] = [];
  /** Requests that are served and came from no queue. */
  readonly #unqueued = new RequestList();
  /** The virtual clock: seat-seconds that each queue has been allotted. */
  #currentR = 0;
  #syncedAt: number;
  #robin = 0;
  #enqueued = 0;
  #waiting = 0;
  #waitingSeats = 0;
  #executing = 0;
  #seatsInUse = 0;
  /** Queues with requests, and the seats in use by requests that came from queues. */
  #active = 0;
  #queuedSeats = 0;
  #dispatched = 0;
  #rejected = 0;
  #cancelled = 0;

  constructor(clock: Pick<Clock, "after" | "elapsed">, meters: LevelMeters) {
    this.#clock = clock;
    this.#meters = meters;
    this.#syncedAt = clock.elapsed();
  }

  get limit(): number {
    return this.#limit;
  }

  get currentR(): number {
    return this.#currentR;
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#executing === 0;
  }

  get queues(): readonly RequestQueue[] {
    return this.#queues;
  }

  get unqueued(): Iterable<FairRequest> {
    return this.#unqueued;
  }

  get totals(): QueueSetTotals {
    return {
      waiting: this.#waiting,
      executing: this.#executing,
      seatsInUse: this.#seatsInUse,
      dispatched: this.#dispatched,
      rejected: this.#rejected,
      cancelled: this.#cancelled,
    };
  }

  /** Queues are added at once, and removed when they are empty. */
  configure(restraint: Restraint, limit: number, now: number): void {
    this.#sync(now);
    if (restraint.type === "queue") {
      const { queues, handSize } = restraint.shape;
      while (this.#queues.length < queues) this.#queues.push(new RequestQueue(this.#queues.length));
      if (this.#dealer?.deckSize !== queues || this.#dealer.handSize !== handSize)
        this.#dealer = new Dealer(queues, handSize);
    }
    this.#restraint = restraint;
    this.#limit = limit;
    for (const queue of this.#queues.toReversed()) this.#removeIfSuperfluous(queue);
    this.#dispatchAll(now);
  }

  /** Lets the request go, puts it in a queue, or rejects it. */
  start(arrival: RequestArrival, estimate: WorkEstimate, now: number): FairRequest | SeatRejection {
    this.#sync(now);
    if (this.#restraint.type !== "queue") {
      if (!this.#accommodates(widthOf(estimate))) return this.#reject("concurrency-limit");
      const request = new FairRequest(arrival, estimate, now, this.#currentR);
      this.#execute(request, this.#unqueued, now);
      return request;
    }
    const flow = (this.#dealer as Dealer).flowOf(arrival.schema, arrival.distinguisher);
    const queue = this.#shortestQueue(flow.hand);
    if (this.#isModest(flow, estimate)) return this.#letGo(arrival, estimate, now, { flow, queue });
    if (this.#seatsInUse >= this.#limit && queue.waiting.length >= this.#restraint.shape.lengthLimit)
      return this.#reject("queue-full");
    // Most requests come when none waits: to put them into a queue and to look for them in all queues would be most of the work.
    if (this.#waiting === 0 && this.#seatsInUse < this.#limit && this.#accommodates(widthOf(estimate)))
      return this.#letGo(arrival, estimate, now, { flow, queue });
    const request = new FairRequest(arrival, estimate, now, this.#currentR);
    request.queue = queue;
    request.flow = flow;
    flow.underWay++;
    this.#beginAt(queue);
    this.#enqueue(queue, request, now);
    this.#dispatchAll(now);
    return request;
  }

  /**
   * A narrow request of a flow that has nothing else under way, and has not used what it was allotted, does not wait for seats that
   * others hold: in the virtual world it would be served now. Upstream makes it wait until one of them is free, which is soon where each
   * request has a thread. Here one thread serves all, and seats come free late and all at once. At most as many seats again are given out so.
   */
  #isModest({ underWay, usedR }: FlowState, estimate: WorkEstimate): boolean {
    if (underWay > 0 || usedR > this.#currentR || widthOf(estimate) > 1) return false;
    return this.#limit > 0 && this.#seatsInUse < 2 * this.#limit;
  }

  #letGo(arrival: RequestArrival, estimate: WorkEstimate, now: number, { flow, queue }: Place): FairRequest {
    const request = new FairRequest(arrival, estimate, now, this.#currentR);
    request.queue = queue;
    request.flow = flow;
    flow.underWay++;
    this.#beginAt(queue);
    this.#robin = queue.index;
    this.#leave(queue, request, now);
    return request;
  }

  /** A queue that had nothing to do begins now in the virtual world. */
  #beginAt(queue: RequestQueue): void {
    if (queue.waiting.length === 0 && (!queue.isActive || queue.nextDispatchR < this.#currentR))
      queue.nextDispatchR = this.#currentR;
  }

  /** Takes a request out of its queue that waits no longer; false if it does not wait. */
  cancel(request: FairRequest, now: number): boolean {
    const { queue } = request;
    if (request.state !== "waiting" || !queue) return false;
    this.#sync(now);
    request.state = "over";
    if (request.flow) request.flow.underWay--;
    this.#dequeue(queue, request);
    this.#bound(queue);
    this.#cancelled++;
    this.#rejected++;
    this.#meters.waiting(this.#waiting, now);
    this.#meters.demand(this.#seatsInUse + this.#waitingSeats, now);
    request.decided?.(false);
    return true;
  }

  /** To be called once for each request that was let go, when it has been served. */
  finish(request: FairRequest, now: number): void {
    if (request.state !== "executing") return;
    this.#sync(now);
    request.state = "over";
    this.#executing--;
    request.tally.executing--;
    this.#meters.executing(this.#executing, now);
    const { queue } = request;
    if (queue) {
      queue.executing.remove(request);
      if (!queue.isActive) this.#active--;
      const spared = request.initialSeats * (estimatedSeconds - (now - request.startedAt) / 1000);
      queue.nextDispatchR -= spared;
      if (request.flow) request.flow.usedR -= spared;
      this.#bound(queue);
    } else this.#unqueued.remove(request);
    if (request.additionalMs > 0)
      this.#clock.after(request.additionalMs, () => {
        const later = this.#clock.elapsed();
        this.#sync(later);
        this.#release(request, later);
        this.#dispatchAll(later);
      });
    else this.#release(request, now);
    this.#dispatchAll(now);
  }

  /** In the virtual world time goes on by what each queue with requests gets of the seats that are wanted. */
  #sync(now: number): void {
    const seconds = (now - this.#syncedAt) / 1000;
    this.#syncedAt = now;
    if (this.#active === 0) return;
    this.#currentR += (seconds * Math.min(this.#queuedSeats + this.#waitingSeats, this.#limit)) / this.#active;
  }

  #reject(reason: SeatRejection): SeatRejection {
    this.#rejected++;
    return reason;
  }

  /** Of the hand that the flow was dealt. Each search begins at another card, so that flows with common cards are not led to the same. */
  #shortestQueue(hand: readonly number[]): RequestQueue {
    const offset = this.#enqueued++ % hand.length;
    let best: RequestQueue | undefined;
    for (let i = 0; i < hand.length; i++) {
      const queue = this.#queues[hand[(offset + i) % hand.length] as number] as RequestQueue;
      if (queue.waiting.length === 0) return queue;
      if (!best || queue.waitingWork < best.waitingWork) best = queue;
    }
    return best as RequestQueue;
  }

  #enqueue(queue: RequestQueue, request: FairRequest, now: number): void {
    if (!queue.isActive) this.#active++;
    queue.waiting.push(request);
    queue.waitingSeats += request.width;
    queue.waitingWork += request.work;
    this.#waiting++;
    this.#waitingSeats += request.width;
    request.tally.waiting++;
    request.tally.waitingSeats += request.width;
    this.#meters.waiting(this.#waiting, now);
    this.#meters.demand(this.#seatsInUse + this.#waitingSeats, now);
  }

  #dequeue(queue: RequestQueue, request: FairRequest): void {
    queue.waiting.remove(request);
    queue.waitingSeats -= request.width;
    queue.waitingWork = queue.waiting.length === 0 ? 0 : queue.waitingWork - request.work;
    if (!queue.isActive) this.#active--;
    this.#waiting--;
    this.#waitingSeats -= request.width;
    request.tally.waiting--;
    request.tally.waitingSeats -= request.width;
  }

  #dispatchAll(now: number): void {
    while (this.#waiting > 0 && this.#seatsInUse < this.#limit) if (!this.#dispatchNext(now)) return;
  }

  /** Lets the request go that would be finished first in the virtual world. A wide one holds up the others until there are seats for it. */
  #dispatchNext(now: number): boolean {
    const queue = this.#nextQueue();
    const request = queue?.waiting.first;
    if (!queue || !request) return false;
    if (!this.#accommodates(request.width)) {
      this.#meters.unaccommodated?.(request);
      return false;
    }
    this.#robin = queue.index;
    if (this.#meters.dispatched) this.#meters.dispatched(this.#readings(queue));
    this.#dequeue(queue, request);
    if (request.finalSeats > this.#limit) {
      request.additionalMs *= request.finalSeats / this.#limit;
      request.finalSeats = this.#limit;
    }
    this.#leave(queue, request, now);
    this.#meters.waiting(this.#waiting, now);
    this.#bound(queue);
    request.decided?.(true);
    return true;
  }

  /** Round robin among those that are equal. */
  #nextQueue(): RequestQueue | undefined {
    const queues = this.#queues;
    let best: RequestQueue | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 1; i <= queues.length; i++) {
      const queue = queues[(this.#robin + i) % queues.length] as RequestQueue;
      const { first } = queue.waiting;
      if (!first) continue;
      const finish = queue.nextDispatchR + first.work;
      if (finish >= least) continue;
      least = finish;
      best = queue;
    }
    return best;
  }

  #readings({ nextDispatchR: startR }: RequestQueue): DispatchReadings {
    const waiting = this.#queues.filter((queue) => queue.waiting.length > 0);
    const starts = waiting.map(({ nextDispatchR }) => nextDispatchR);
    const discounted = waiting.map((queue) => queue.nextDispatchR - queue.seatsInUse * estimatedSeconds);
    return {
      currentR: this.#currentR,
      startR,
      least: Math.min(...starts),
      most: Math.max(...starts),
      leastDiscounted: Math.min(...discounted),
      mostDiscounted: Math.max(...discounted),
    };
  }

  #leave(queue: RequestQueue, request: FairRequest, now: number): void {
    if (!queue.isActive) this.#active++;
    this.#execute(request, queue.executing, now);
    queue.seatsInUse += request.width;
    this.#queuedSeats += request.width;
    queue.nextDispatchR += request.work;
    const { flow } = request;
    if (flow) flow.usedR = Math.max(flow.usedR, this.#currentR) + request.work;
  }

  #execute(request: FairRequest, among: RequestList, now: number): void {
    request.state = "executing";
    request.startedAt = now;
    among.push(request);
    this.#dispatched++;
    this.#executing++;
    this.#seatsInUse += request.width;
    request.tally.executing++;
    request.tally.executingSeats += request.width;
    this.#meters.executing(this.#executing, now);
    this.#meters.seats(this.#seatsInUse, now);
    this.#meters.demand(this.#seatsInUse + this.#waitingSeats, now);
  }

  #release(request: FairRequest, now: number): void {
    const { queue, width } = request;
    this.#seatsInUse -= width;
    request.tally.executingSeats -= width;
    this.#meters.seats(this.#seatsInUse, now);
    this.#meters.demand(this.#seatsInUse + this.#waitingSeats, now);
    if (request.flow) request.flow.underWay--;
    if (!queue) return;
    queue.seatsInUse -= width;
    this.#queuedSeats -= width;
    this.#removeIfSuperfluous(queue);
  }

  #removeIfSuperfluous(queue: RequestQueue): void {
    const wanted = this.#restraint.type === "queue" ? this.#restraint.shape.queues : 0;
    if (this.#queues.length <= wanted || queue.isActive || this.#queues[queue.index] !== queue) return;
    this.#queues.splice(queue.index, 1);
    for (let i = queue.index; i < this.#queues.length; i++) (this.#queues[i] as RequestQueue).index = i;
    if (this.#robin >= queue.index) this.#robin = Math.max(0, this.#robin - 1);
  }

  /** A request wider than the whole level is served alone. */
  #accommodates(width: number): boolean {
    if (this.#restraint.type === "exempt") return true;
    if (width > this.#limit) return this.#executing === 0;
    return this.#seatsInUse + width <= this.#limit;
  }

  /** Nothing is let go in the virtual world before it came: a queue that used less than its share must not save it up. */
  #bound(queue: RequestQueue): void {
    const { first } = queue.waiting;
    if (first && queue.nextDispatchR < first.arrivalR) queue.nextDispatchR = first.arrivalR;
  }
}
