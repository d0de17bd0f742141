import type { ResourceAddress, User } from "#wire/api-request.ts";
import type { Call } from "../pipeline/call.ts";
import type { AnswerFacts, LifeListener } from "../pipeline/request-life.ts";
import type { Flow } from "./flow-control.ts";
import type { FlowSeries } from "./metrics.ts";
import type { FairRequest, FlowTally, RequestArrival } from "./request-list.ts";

/** Where the seats of a request go back to. */
export interface SeatOwner {
  finished(ticket: Ticket): void;
}

/** Which requests it stands among, and where they are counted. */
export interface TicketPlace {
  readonly flow: Flow;
  readonly series: FlowSeries;
  readonly distinguisher: string;
}

/** A request that has its place: what its level knows of it, and when it gives its seats back. A class and not closures: it is made for every request. */
export class Ticket implements RequestArrival, LifeListener {
  readonly flow: Flow;
  readonly series: FlowSeries;
  readonly distinguisher: string;
  readonly isRead: boolean;
  readonly isWatch: boolean;
  readonly #call: Call;
  readonly #owner: SeatOwner;
  request: FairRequest | undefined;
  /** Takes a watch out of the count of those who hear of writes. */
  forget: (() => void) | undefined;

  constructor(call: Call, { flow, series, distinguisher }: TicketPlace, owner: SeatOwner) {
    this.#call = call;
    this.flow = flow;
    this.series = series;
    this.distinguisher = distinguisher;
    this.#owner = owner;
    const { target } = call;
    const verb = target.type === "resource" ? target.verb : undefined;
    this.isWatch = verb === "watch";
    this.isRead = verb === undefined ? isReadMethod(call) : verb === "get" || verb === "list" || this.isWatch;
  }

  get schema(): string {
    return this.flow.schema;
  }

  get tally(): FlowTally {
    return this.flow.tally;
  }

  get user(): User {
    return this.#call.user;
  }

  get verb(): string {
    const { target, over } = this.#call;
    return (target.type === "resource" && target.verb) || (over?.http.method.toLowerCase() ?? "");
  }

  get path(): string {
    return this.#call.over?.http.path ?? "";
  }

  get address(): Partial<ResourceAddress> {
    const { target } = this.#call;
    return target.type === "path" ? {} : target.address;
  }

  /** A watch holds its seats until it has sent what there was when it began; one that another server answers holds none. */
  answered({ isLasting }: AnswerFacts): void {
    if (isLasting && this.#call.answer?.type !== "watch") this.#owner.finished(this);
  }

  ended(): void {
    this.#owner.finished(this);
    this.forget?.();
  }

  /** To be called when a watch has begun. */
  get began(): () => void {
    return () => this.#owner.finished(this);
  }
}

const isReadMethod = ({ over }: Call): boolean => over?.http.method === "GET" || over?.http.method === "HEAD";
