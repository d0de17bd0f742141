// Reports what happened, for people. Reporting never waits and never fails the work it is about: events that cannot be written
// in time are dropped.
import { catalog } from "#api/catalog.ts";
import { Event } from "#api/core/v1/event.ts";
import type { ObjectReference } from "#api/core/v1/references.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError, isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import type { Draft } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { Client } from "./client.ts";
import type { EventType } from "./controller.ts";
import { type DraftEvent, EventCorrelator } from "./event-correlation.ts";
import { type Metrics, noMetrics } from "./metrics.ts";
import { causeOf, keyOf } from "./object-key.ts";

const queueLimit = 1000;
const tries = 12;
const retryMs = 10_000;
const nanosPerMs = 1_000_000;

export interface RecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Kinds that are reported about besides the built-in ones. */
  readonly kinds?: readonly AnyKind[];
}

export interface Report {
  readonly type: EventType;
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Who reports: `replicaset-controller`. */
  readonly component: string;
  /** On which node. */
  readonly host?: string;
  /** Which part of the object: `spec.containers{web}`. */
  readonly fieldPath?: string;
}

export class EventRecorder implements Component {
  readonly name = "events";
  readonly #options: RecorderOptions;
  readonly #correlator: EventCorrelator;
  readonly #queue: DraftEvent[] = [];
  #isDropping = false;
  #wake: (() => void) | undefined;
  #named: number;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#named = options.random.below(nanosPerMs); // others report about the same object in the same millisecond
    this.#correlator = new EventCorrelator(options.clock, (subject) => this.#nameFor(subject));
  }

  /** Reports about an object, or about what a reference refers to. */
  record(about: object, { type, reason, message, component, host, fieldPath }: Report): void {
    const { clock, log, metrics = noMetrics } = this.#options;
    const involvedObject = { ...referenceTo(about), ...(fieldPath !== undefined && { fieldPath }) };
    if (this.#queue.length >= queueLimit) {
      metrics.count("events_dropped_total", { component });
      // Logged once per overflow: a log line for each dropped event would take longer than writing the event.
      if (!this.#isDropping) log.warn("events dropped, too many are waiting", { involvedObject, reason, message });
      this.#isDropping = true;
      return;
    }
    if (this.#queue.length < queueLimit / 2) this.#isDropping = false;
    const at = timeOf(clock.now());
    this.#queue.push({
      metadata: { name: this.#nameFor(involvedObject.name ?? ""), namespace: involvedObject.namespace || "default" },
      involvedObject,
      type,
      reason,
      message,
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host ?? "",
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    });
    this.#wake?.();
  }

  async run(signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake?.();
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted) {
        const event = this.#queue.shift();
        if (event) await this.#write(event, signal);
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
    throw signal.reason;
  }

  async #write(reported: DraftEvent, signal: AbortSignal): Promise<void> {
    const { clock, random, log, client } = this.#options;
    const correlated = this.#correlator.correlate(reported);
    if (!correlated) return;
    const { event, isUpdate } = correlated;
    const because = causeIn(reported, this.#options.kinds ?? []);
    for (let attempt = 1; ; attempt++) {
      try {
        this.#correlator.stored(await this.#send(client.bound({ signal, ...because }), event, isUpdate));
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { involvedObject, reason, message } = event;
        if (attempt === tries || isFinal(error)) {
          log.debug("event refused", { involvedObject, reason, message, error });
          return;
        }
      }
      // The first wait is random, so that not all clients return at the same moment after an outage.
      await clock.sleep(attempt === 1 ? retryMs * random.next() : retryMs, signal);
    }
  }

  async #send(client: Client, event: DraftEvent, isUpdate: boolean): Promise<Event> {
    if (isUpdate) {
      const { metadata, count, message, lastTimestamp } = event;
      try {
        return await client.patch(Event, metadata, "strategic", { count, message, lastTimestamp });
      } catch (error) {
        if (!isNotFound(error)) throw error; // it has expired meanwhile: it begins again
      }
    }
    return client.create(Event, event);
  }

  /** The object's name and the time in nanoseconds, as upstream makes it; the last digits only tell events of one millisecond apart. */
  #nameFor(subject: string): string {
    const { clock, random } = this.#options;
    const nanos = BigInt(Math.floor(clock.now())) * BigInt(nanosPerMs) + BigInt(this.#named++ % nanosPerMs);
    const name = `${subject}.${nanos.toString(16)}`;
    return dns1123Subdomain(name).length === 0 ? name : random.uuid();
  }
}

/** What an event is about. */
export function referenceTo(about: object): Draft<ObjectReference> {
  if (!("metadata" in about)) return about;
  const { apiVersion, kind, metadata } = about as ApiObject;
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

/** An event was caused by what it is about, as that was then. */
function causeIn({ involvedObject }: DraftEvent, kinds: readonly AnyKind[]): { readonly because?: string } {
  const { apiVersion = "", kind = "", namespace, name = "", resourceVersion } = involvedObject ?? {};
  if (resourceVersion === undefined) return {};
  const isMeant = (one: AnyKind) => one.kind === kind && one.apiVersion === apiVersion;
  const known = kinds.find(isMeant) ?? catalog.find(isMeant);
  return known ? { because: causeOf(known, keyOf({ namespace, name }), resourceVersion) } : {};
}

/** The server has judged the event itself; only when it is overloaded or unwell is there use in another try. */
const isFinal = (error: unknown): boolean => error instanceof ApiError && error.code !== 429 && error.code < 500;
