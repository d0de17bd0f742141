// Priority and fairness (KEP-1040): every request falls under a flow schema, which leads to a priority level; a level has seats, and who
// finds none free waits in a queue, so that no client can take the server from the others. The arithmetic is in queue-set.ts and
// flow-control.ts; here requests meet it. Node has one thread, so that seats do not divide the processor: they bound what is under way,
// and with it what stands before a request in the event loop. Upstream: staging/src/k8s.io/apiserver/pkg/server/filters/priority-and-fairness.go.
import type { FlowSchema } from "#api/flowcontrol/v1/flow-schema.ts";
import type { PriorityLevelConfiguration } from "#api/flowcontrol/v1/priority-level-configuration.ts";
import type { Clock } from "#base/clock.ts";
import { DurationError, parseDurationMs } from "#base/duration.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Soon } from "#base/soon.ts";
import { type ResourceAddress, requestWith } from "#wire/api-request.ts";
import { tooManyRequests } from "../in-flight.ts";
import type { Call, CallAnswer } from "../pipeline/call.ts";
import { Deadlines } from "./deadlines.ts";
import { type Flow, FlowControl, type SchemaReference } from "./flow-control.ts";
import type { Target } from "./matching.ts";
import { FairnessMetrics, type RejectionReason } from "./metrics.ts";
import type { FairRequest } from "./request-list.ts";
import { type SeatOwner, Ticket } from "./ticket.ts";
import { namedBy, WatchCounts } from "./watch-counts.ts";
import {
  estimateList,
  estimateWrite,
  oneSeat,
  type ResourceStats,
  type WorkEstimate,
  widthOf,
} from "./work-estimate.ts";

export interface FairnessOptions {
  readonly clock: Clock;
  readonly metrics: MetricRegistry;
  /** Seats of the server. */
  readonly seats: number;
  /** How long a request may take; a quarter of it may be spent waiting. */
  readonly requestTimeoutMs: number;
  /** Undefined of a resource that is not stored here. */
  readonly statsOf: (address: ResourceAddress) => (ResourceStats & { readonly isInMemory: boolean }) | undefined;
}

const mostWaitMs = 60_000;

/** Rejections of a level in a second that are told at once, and of all levels that may be held back at a time, for so long. */
const mostAtOnce = 100;
const mostHeldBack = 2000;
const heldBackMs = 1000;
const heldBackSteps = 50;
const heldBackStepMs = 20;

export class Fairness implements SeatOwner {
  readonly control: FlowControl;
  readonly #options: FairnessOptions;
  readonly #metrics: FairnessMetrics;
  readonly #watches = new WatchCounts();
  readonly #deadlines: Deadlines;
  #heldBack = 0;

  constructor(options: FairnessOptions) {
    const { clock, metrics, seats } = options;
    this.#options = options;
    this.#deadlines = new Deadlines(clock);
    this.#metrics = new FairnessMetrics(metrics, clock);
    this.control = new FlowControl({ clock, seats, metersOf: (level) => this.#metrics.metersOf(level) });
    this.#metrics.follow(this.control);
    this.adjust();
  }

  /** Takes over what the objects say. */
  digest(levels: readonly PriorityLevelConfiguration[], schemas: readonly FlowSchema[]): readonly SchemaReference[] {
    const references = this.control.digest(levels, schemas);
    this.adjust();
    return references;
  }

  /** Lets levels borrow by what they used of late. */
  adjust(): void {
    this.#metrics.adjusted(this.control, this.control.adjust(), this.#options.seats);
  }

  /** Lets the request go on, now or when it is its turn, or answers that there are too many. */
  admit(call: Call): Soon<CallAnswer | undefined> {
    const now = this.#options.clock.elapsed();
    const target = targetOf(call);
    const flow = this.control.classifier.flowOf(call.user, target);
    const series = this.#metrics.seriesOf(flow);
    const ticket = new Ticket(call, { flow, series, distinguisher: distinguisherOf(flow, call, target) }, this);
    call.ticket = ticket;
    const estimate = this.#estimate(call, flow, target);
    series.seats.observe(widthOf(estimate));
    const request = flow.level.queues.start(ticket, estimate, now);
    if (typeof request === "string") {
      if (!call.over) return undefined; // parts of this process wait in turn, but nobody tells them to come back later
      series.rejectedWaits.observe(0);
      return this.#rejected(flow, request);
    }
    ticket.request = request;
    if (request.state === "waiting") return this.#waited(call, ticket, request);
    if (!flow.level.isExempt) series.waits.observe(0);
    this.#begin(call, ticket, now);
    return undefined;
  }

  /** Gives the seats back; the first call counts. */
  finished(ticket: Ticket): void {
    const { request, flow, series, isWatch } = ticket;
    if (request?.state !== "executing") return;
    const now = this.#options.clock.elapsed();
    (isWatch ? series.watchExecutions : series.executions).observe((now - request.startedAt) / 1000);
    this.#metrics.kinds.executing[kindOf(ticket)].add(-1, now);
    flow.level.queues.finish(request, now);
  }

  stop(): void {
    this.#deadlines.stop();
  }

  #begin(call: Call, ticket: Ticket, now: number): void {
    ticket.series.dispatched.add();
    this.#metrics.kinds.executing[kindOf(ticket)].add(1, now);
    if (ticket.isWatch && call.target.type === "resource") {
      ticket.forget = this.#watches.begin(call.target.address, queryOf(call)?.get("fieldSelector") ?? "");
      if (!call.over && call.request) call.request = requestWith(call.request, { began: ticket.began });
    }
    call.life.follow(ticket);
  }

  async #waited(call: Call, ticket: Ticket, request: FairRequest): Promise<CallAnswer | undefined> {
    const { clock } = this.#options;
    const { flow, series } = ticket;
    const { queues } = flow.level;
    const waiting = this.#metrics.kinds.waiting[kindOf(ticket)];
    const signal = call.over?.http.signal ?? call.request?.signal;
    series.queueLength.observe(request.queue?.waiting.length ?? 0);
    waiting.add(1, request.arrivedAt);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    request.decided = resolve;
    const cancel = () => void queues.cancel(request, clock.elapsed());
    const settle = this.#deadlines.set(this.#mostWaitOf(call, ticket), cancel);
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const isExecuted = await promise;
    settle();
    signal?.removeEventListener("abort", cancel);
    const now = clock.elapsed();
    waiting.add(-1, now);
    (isExecuted ? series.waits : series.rejectedWaits).observe((now - request.arrivedAt) / 1000);
    if (!isExecuted) {
      if (!signal?.aborted) return call.over ? this.#rejected(flow, "time-out") : undefined;
      this.#metrics.rejected(flow, "time-out");
      throw signal.reason;
    }
    this.#begin(call, ticket, now);
    return undefined;
  }

  /**
   * Clients that do not heed when to come back are answered when they should have: to reject them as fast as they come would take the
   * thread from those who are served.
   */
  async #later(answer: CallAnswer): Promise<CallAnswer> {
    // Not all at the same moment: they come back together, and one turn of the event loop would have to take them all.
    const ms = heldBackMs + (this.#heldBack++ % heldBackSteps) * heldBackStepMs;
    await new Promise<void>((resolve) => {
      this.#deadlines.set(ms, resolve);
    });
    this.#heldBack--;
    return answer;
  }

  #rejected(flow: Flow, reason: RejectionReason): Soon<CallAnswer> {
    const { level } = flow;
    this.#metrics.rejected(flow, reason);
    level.dropped.note(this.#options.clock.now());
    const { retryAfter } = level.dropped;
    const answer: CallAnswer = { type: "http", response: tooManyRequests(retryAfter) };
    return level.dropped.inLastSecond > mostAtOnce && this.#heldBack < mostHeldBack ? this.#later(answer) : answer;
  }

  /** A quarter of what the request may take at all. */
  #mostWaitOf(call: Call, { isWatch }: Ticket): number {
    const most = this.#options.requestTimeoutMs;
    return Math.min((isWatch ? most : timeoutOf(call, most)) / 4, mostWaitMs);
  }

  #estimate(call: Call, flow: Flow, target: Target): WorkEstimate {
    if (target.type === "path") return oneSeat;
    const { mostSeats } = flow.level;
    switch (target.verb) {
      case "list":
      case "watch":
        return this.#estimateList(call, target, mostSeats);
      case "create":
      case "update":
      case "patch":
      case "delete":
        return this.#estimateWrite(target.address, flow, mostSeats);
      default:
        return oneSeat;
    }
  }

  #estimateList(call: Call, { verb, address }: Target & { readonly type: "resource" }, most: number): WorkEstimate {
    const query = queryOf(call);
    const revision = query?.get("resourceVersion") ?? "";
    const isWatch = verb === "watch";
    if (isWatch && query?.get("sendInitialEvents") !== "true" && revision !== "" && revision !== "0") return oneSeat;
    const fields = query?.get("fieldSelector") ?? "";
    const limit = Number(query?.get("limit") ?? 0);
    const stats = this.#options.statsOf(address);
    const isPast = query?.get("continue") || query?.get("resourceVersionMatch") === "Exact";
    return estimateList(
      {
        stats,
        limit: limit > 0 ? limit : 0,
        hasSelector: fields !== "" || Boolean(query?.get("labelSelector")),
        isNamed: address.name !== undefined || namedBy(fields) !== undefined,
        isFromMemory: isWatch || (stats?.isInMemory === true && !isPast),
      },
      most,
    );
  }

  #estimateWrite(address: ResourceAddress, flow: Flow, most: number): WorkEstimate {
    if (address.resource === "serviceaccounts" && address.subresource === "token") return oneSeat;
    const watchers = this.#watches.interestedIn(address);
    this.#metrics.seriesOf(flow).watchers.observe(watchers);
    return estimateWrite(watchers, most);
  }
}

const queryOf = ({ over, request }: Call): URLSearchParams | undefined => over?.http.query ?? request?.query;

const kindOf = ({ isRead }: Ticket): "readOnly" | "mutating" => (isRead ? "readOnly" : "mutating");

function targetOf({ target, over }: Call): Target {
  if (target.type !== "path") {
    const verb = target.type === "resource" ? target.verb : undefined;
    return { type: "resource", verb: verb ?? over?.http.method.toLowerCase() ?? "", address: target.address };
  }
  return { type: "path", verb: over?.http.method.toLowerCase() ?? "", path: over?.http.path ?? "" };
}

function distinguisherOf({ level, distinguisher }: Flow, { user }: Call, target: Target): string {
  if (distinguisher === undefined || !level.hasManyQueues) return "";
  if (distinguisher === "ByUser") return user.name;
  return target.type === "resource" ? (target.address.namespace ?? "") : "";
}

/** How long a request may take: as long as its client says, but no longer than anyone's. */
export function timeoutOf({ over }: Call, mostMs: number): number {
  const text = over?.http.url.includes("timeout=") ? over.http.query.get("timeout") : undefined;
  if (!text) return mostMs;
  const ms = durationMs(text);
  return ms > 0 && ms < mostMs ? ms : mostMs;
}

/** 0 of a text that is none: whoever serves the request refuses that. */
function durationMs(text: string): number {
  try {
    return parseDurationMs(text);
  } catch (error) {
    if (error instanceof DurationError) return 0;
    throw error;
  }
}
