// A priority level for tests, and requests that go through it.
import { ManualClock } from "#base/clock.ts";
import { type LevelMeters, QueueSet, type Restraint } from "./queue-set.ts";
import type { FairRequest, FlowTally } from "./request-list.ts";
import { oneSeat, type WorkEstimate } from "./work-estimate.ts";

const nothing = () => undefined;
export const noMeters: LevelMeters = { waiting: nothing, executing: nothing, seats: nothing, demand: nothing };

export const emptyTally = (): FlowTally => ({ waiting: 0, waitingSeats: 0, executing: 0, executingSeats: 0 });

export const queued = (queues: number, handSize: number, lengthLimit: number): Restraint => ({
  type: "queue",
  shape: { queues, handSize, lengthLimit },
});

export class TestLevel {
  readonly clock = new ManualClock();
  readonly queues = new QueueSet(this.clock, noMeters);
  readonly tally = emptyTally();

  constructor(restraint: Restraint, limit: number) {
    this.queues.configure(restraint, limit, 0);
  }

  start(flow: string, estimate: WorkEstimate = oneSeat): FairRequest | string {
    const user = { name: flow, groups: [] };
    const arrival = {
      schema: "test",
      distinguisher: flow,
      tally: this.tally,
      user,
      verb: "get",
      path: "",
      address: {},
    };
    return this.queues.start(arrival, estimate, this.clock.elapsed());
  }

  finish(request: FairRequest): void {
    this.queues.finish(request, this.clock.elapsed());
  }

  /** A client that sends its next request as soon as the last is over, `count` at a time. Answers how much time they were served. */
  flood(
    flow: string,
    count: number,
    serviceMs: number,
    estimate: WorkEstimate = oneSeat,
  ): { served: number; seatMs: number } {
    const result = { served: 0, seatMs: 0 };
    const serve = (request: FairRequest) =>
      this.clock.after(serviceMs, () => {
        result.served++;
        result.seatMs += serviceMs * request.width;
        this.finish(request);
        send();
      });
    const send = () => {
      const request = this.start(flow, estimate);
      if (typeof request === "string") this.clock.after(1, send);
      else if (request.state === "executing") serve(request);
      else
        request.decided = (isExecuted) => {
          if (isExecuted) serve(request);
        };
    };
    for (let i = 0; i < count; i++) send();
    return result;
  }
}
