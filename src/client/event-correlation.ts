// Which events are written, and as what: upstream's rules and numbers, so that `kubectl describe` reads as people know it.
//   the same event again     raises the count of the first one
//   ten that differ only in their message, none 10 minutes after the one before, become one "(combined from similar events)"
//   about one object a component may report 25, and one more every 5 minutes
import type { Event } from "#api/core/v1/event.ts";
import type { Clock } from "#base/clock.ts";
import type { Draft } from "#schema/infer.ts";
import { timeOf } from "#schema/time.ts";
import { Lru } from "./lru.ts";

export type DraftEvent = Draft<Event> & { readonly metadata: { readonly name: string; readonly namespace: string } };

const entries = 4096;
const similarLimit = 10;
const similarMs = 600_000;
const burst = 25;
const perMs = 1 / 300_000;

/** What to write: a new event, or one more of an event that is there. Undefined if nothing. */
export type EventWrite = { readonly event: DraftEvent; readonly isUpdate: boolean } | undefined;

interface EventSeries {
  readonly count: number;
  readonly firstTimestamp: string;
  readonly name: string;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #nameOf: (subject: string) => string;
  readonly #similar = new Lru<{ readonly messages: Set<string>; readonly at: number }>(entries);
  readonly #observed = new Lru<EventSeries>(entries);
  readonly #budgets = new Lru<{ readonly tokens: number; readonly at: number }>(entries);

  /** `nameOf` makes a new name for an event about the object of that name. */
  constructor(clock: Clock, nameOf: (subject: string) => string) {
    this.#clock = clock;
    this.#nameOf = nameOf;
  }

  correlate(event: DraftEvent): EventWrite {
    const { event: aggregated, key } = this.#aggregate(event);
    const observed = this.#observe(aggregated, key);
    return this.#isSpam(observed) ? undefined : { event: observed, isUpdate: (observed.count ?? 0) > 1 };
  }

  /** The event as the server has it now. */
  stored(event: Event): void {
    const { count = 1, firstTimestamp = "", metadata } = event;
    this.#observed.set(eventKey(event), { count, firstTimestamp, name: metadata.name });
  }

  #aggregate(event: DraftEvent): { readonly event: DraftEvent; readonly key: string } {
    const now = this.#clock.now();
    const key = aggregateKey(event);
    const known = this.#similar.get(key);
    const messages = known && now - known.at <= similarMs ? known.messages : new Set<string>();
    messages.add(event.message ?? "");
    this.#similar.set(key, { messages, at: now });
    if (messages.size < similarLimit) return { event, key: eventKey(event) };
    const [one = ""] = messages;
    messages.delete(one); // it need not grow beyond the limit
    const { involvedObject, type, reason, source, metadata } = event;
    const at = timeOf(now);
    return {
      key,
      event: {
        metadata: { name: this.#nameOf(involvedObject?.name ?? ""), namespace: metadata.namespace },
        involvedObject,
        type,
        reason,
        source,
        message: `(combined from similar events): ${event.message ?? ""}`,
        count: 1,
        firstTimestamp: at,
        lastTimestamp: at,
      },
    };
  }

  #observe(event: DraftEvent, key: string): DraftEvent {
    const last = this.#observed.get(key);
    const observed: DraftEvent = last
      ? {
          ...event,
          metadata: { ...event.metadata, name: last.name },
          firstTimestamp: last.firstTimestamp,
          count: last.count + 1,
        }
      : event;
    const { count = 1, firstTimestamp = "", metadata } = observed;
    this.#observed.set(key, { count, firstTimestamp, name: metadata.name });
    return observed;
  }

  #isSpam(event: DraftEvent): boolean {
    const key = spamKey(event);
    const now = this.#clock.now();
    const known = this.#budgets.get(key);
    const tokens = known ? Math.min(burst, known.tokens + Math.max(0, now - known.at) * perMs) : burst;
    this.#budgets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    return tokens < 1;
  }
}

const joined = (...parts: readonly (string | undefined)[]): string => parts.map((part) => part ?? "").join("\n");

const spamKey = ({ source, involvedObject: about, type }: Draft<Event>): string =>
  joined(
    source?.component,
    source?.host,
    about?.kind,
    about?.namespace,
    about?.name,
    about?.uid,
    about?.apiVersion,
    type,
  );

const aggregateKey = (event: Draft<Event>): string =>
  joined(spamKey(event), event.reason, event.reportingComponent, event.reportingInstance);

const eventKey = (event: Draft<Event>): string =>
  joined(spamKey(event), event.involvedObject?.fieldPath, event.reason, event.message);
