// Where events of the audit log go. A backend takes a batch and says whether it has it; around it are what a mode promises: `blocking` makes
// requests wait until their events are stored, `blocking-strict` refuses those whose first event cannot be, and `batch` does neither.
import { turn } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Counter, MetricFamily, MetricRegistry } from "#base/metrics.ts";
import type { Soon } from "#base/soon.ts";
import { type AuditEvent, eventJson, eventLine, tells } from "./event.ts";

/** An event, and its JSON, which is made once however many want it. */
export class AuditRecord {
  readonly event: AuditEvent;
  #json: string | undefined;

  constructor(event: AuditEvent) {
    this.event = event;
  }

  get json(): string {
    this.#json ??= eventJson(this.event);
    return this.#json;
  }
}

/** Keeps events. Rejects where it cannot. */
export interface AuditBackend {
  readonly name: string;
  /** Whether a batch must be written before the next one is given. */
  readonly isOrdered: boolean;
  write(records: readonly AuditRecord[]): Promise<void>;
  /** Resolves when all that was taken has been written. */
  close(): Promise<void>;
}

export interface AuditSink {
  /** Whether requests are refused whose first event cannot be kept: then they wait for that before they go on, and not only before they are answered. */
  readonly isStrict?: boolean;
  /** False of events that are not kept and must be; at once where nobody has to wait. */
  take(record: AuditRecord): Soon<boolean>;
  /** Somebody waits for what was taken. */
  hurry?(): void;
  close(): Promise<void>;
}

export const auditModes = ["batch", "blocking", "blocking-strict"] as const;
export type AuditMode = (typeof auditModes)[number];

export class AuditMetrics {
  readonly events: Counter;
  readonly rejected: Counter;
  readonly levels: MetricFamily<Counter>;
  readonly #errors: MetricFamily<Counter>;
  readonly #log: Log;

  constructor(registry: MetricRegistry, log: Log) {
    const declare = (name: string, help: string, labels: readonly string[] = []) =>
      registry.counter({ name: `apiserver_audit_${name}`, help, labels, stability: "ALPHA" });
    this.events = declare("event_total", "Audit events that were made.").of();
    this.rejected = declare("requests_rejected_total", "Requests refused because they could not be recorded.").of();
    this.levels = declare("level_total", "Requests, by the level at which they are recorded.", ["level"]);
    this.#errors = declare("error_total", "Audit events that were not recorded as they should be.", ["plugin"]);
    this.#log = log;
  }

  /** Events are lost: the log says which, as far as that is no secret. */
  failed(plugin: string, error: unknown, lost: readonly AuditRecord[]): void {
    this.#errors.of(plugin).add(lost.length);
    this.#log.error("audit events are lost", {
      plugin,
      count: lost.length,
      error: explain(error),
      events: lost.slice(0, mostTold).map(({ event }) => eventLine(event)),
    });
  }
}

/** Of a batch that is lost, the first few events say enough. */
const mostTold = 10;

export interface Truncation {
  readonly maxEventBytes: number;
  readonly maxBatchBytes: number;
}

/** Events that are too large lose their bodies; those that are too large without are lost. */
export function truncating(backend: AuditBackend, { maxEventBytes }: Truncation, metrics: AuditMetrics): AuditBackend {
  const fit = (record: AuditRecord): readonly AuditRecord[] => {
    if (sizeOf(record) <= maxEventBytes) return [record];
    const { event } = record;
    const small = tells(event.level, "Request") ? new AuditRecord(withoutBodies(event)) : record;
    if (sizeOf(small) <= maxEventBytes) return [small];
    metrics.failed("truncate", new Error("event is too large even after truncating"), [small]);
    return [];
  };
  return {
    name: backend.name,
    isOrdered: backend.isOrdered,
    write(records) {
      const fitting = records.flatMap(fit);
      return fitting.length === 0 ? Promise.resolve() : backend.write(fitting);
    },
    close: () => backend.close(),
  };
}

export const withoutBodies = (event: AuditEvent): AuditEvent => ({
  ...event,
  requestObject: undefined,
  responseObject: undefined,
  annotations: new Map([...(event.annotations ?? []), ["audit.k8s.io/truncated", "true"]]),
});

/** Bytes are counted with the newline. A text of one byte a character is the rule, so most are not looked at. */
const sizeOf = ({ json }: AuditRecord): number => utf8Length(json) + 1;

function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else if (code >= 0xd800 && code <= 0xdbff) {
      bytes += 2;
      i++;
    } else bytes += 2;
  }
  return bytes;
}

/** How long an event waits for the answer that waits for it, so that a request that is answered soon takes one write and not two. */
const longestHoldMs = 10;

/** Requests wait until their events are stored, or until it is known that they are not. Events of
 * one turn are written together, and have one promise: a write takes as long for many as for one. */
export class BlockingSink implements AuditSink {
  readonly isStrict: boolean;
  readonly #backend: AuditBackend;
  readonly #metrics: AuditMetrics;
  readonly #clock: Clock;
  #batch: BlockingBatch | undefined;
  #isAwaited = false;
  #writing: Promise<void> | undefined;

  constructor(backend: AuditBackend, metrics: AuditMetrics, { clock, isStrict }: BlockingOptions) {
    this.isStrict = isStrict;
    this.#backend = backend;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  take(record: AuditRecord): Promise<boolean> {
    this.#batch ??= {
      records: [],
      isKept: Promise.withResolvers(),
      cancelHold: this.#clock.after(longestHoldMs, () => this.hurry()),
    };
    this.#batch.records.push(record);
    return this.#batch.isKept.promise;
  }

  hurry(): void {
    this.#isAwaited = true;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async close(): Promise<void> {
    while (this.#batch || this.#writing) {
      this.hurry();
      await this.#writing;
    }
    await this.#backend.close();
  }

  async #writeAll(): Promise<void> {
    while (this.#isAwaited) {
      await turn(); // the other events of this turn are written with it
      this.#isAwaited = false;
      if (!this.#batch) return;
      const batch = this.#batch;
      this.#batch = undefined;
      const written = this.#write(batch);
      if (this.#backend.isOrdered) await written;
    }
  }

  async #write({ records, isKept, cancelHold }: BlockingBatch): Promise<void> {
    cancelHold();
    try {
      await this.#backend.write(records);
      isKept.resolve(true);
    } catch (error) {
      this.#metrics.failed(this.#backend.name, error, records);
      isKept.resolve(!this.isStrict);
    }
  }
}

export interface BlockingOptions {
  readonly isStrict: boolean;
  readonly clock: Clock;
}

interface BlockingBatch {
  readonly records: AuditRecord[];
  readonly isKept: PromiseWithResolvers<boolean>;
  readonly cancelHold: () => void;
}

export interface BatchOptions {
  /** Events that wait at most; more are lost. */
  readonly bufferSize: number;
  readonly maxSize: number;
  /** How long the first event of a batch waits for others. */
  readonly maxWaitMs: number;
  /** The most bytes of a batch, where those are counted. */
  readonly maxBytes?: number;
  readonly throttle?: { readonly qps: number; readonly burst: number };
  readonly clock: Clock;
}

/** Requests do not wait: events are gathered, and written in the order in which they came. */
export class BatchingSink implements AuditSink {
  readonly #backend: AuditBackend;
  readonly #metrics: AuditMetrics;
  readonly #options: BatchOptions;
  #waiting: AuditRecord[] = [];
  #cancelWait: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;
  readonly #allowance: Allowance | undefined;

  constructor(backend: AuditBackend, metrics: AuditMetrics, options: BatchOptions) {
    this.#backend = backend;
    this.#metrics = metrics;
    this.#options = options;
    this.#allowance = options.throttle && new Allowance(options.throttle, options.clock);
  }

  take(record: AuditRecord): boolean {
    const { bufferSize, maxSize, maxWaitMs, clock } = this.#options;
    if (this.#isClosed) {
      this.#metrics.failed("buffered", new Error("the server is ending"), [record]);
      return true;
    }
    if (this.#waiting.length >= bufferSize) {
      this.#metrics.failed("buffered", new Error("audit buffer queue blocked"), [record]);
      return true;
    }
    this.#waiting.push(record);
    if (this.#waiting.length >= maxSize) this.#send();
    else this.#cancelWait ??= clock.after(maxWaitMs, () => this.#send());
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#send();
    await this.#sending;
    await this.#backend.close();
  }

  #send(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** One batch at a time, so that events stay in order. While one is on its way, the next grows. */
  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      await this.#allowance?.next();
      try {
        await this.#backend.write(batch);
      } catch (error) {
        this.#metrics.failed(this.#backend.name, error, batch);
      }
      // A batch that is not full waits for its own time, unless nothing comes any more.
      if (this.#waiting.length < this.#options.maxSize && !this.#isClosed) break;
    }
    if (this.#waiting.length > 0)
      this.#cancelWait ??= this.#options.clock.after(this.#options.maxWaitMs, () => this.#send());
  }

  #nextBatch(): readonly AuditRecord[] {
    const { maxSize, maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    let count = 0;
    for (let bytes = 0; count < Math.min(maxSize, this.#waiting.length); count++) {
      if (maxBytes !== Number.POSITIVE_INFINITY) bytes += sizeOf(this.#waiting[count] as AuditRecord);
      if (bytes > maxBytes && count > 0) break;
    }
    return this.#waiting.splice(0, count);
  }
}

/** A bucket of places that fills again with time. */
class Allowance {
  readonly #qps: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #places: number;
  #at: number;

  constructor({ qps, burst }: { readonly qps: number; readonly burst: number }, clock: Clock) {
    this.#qps = qps;
    this.#burst = burst;
    this.#clock = clock;
    this.#places = burst;
    this.#at = clock.elapsed();
  }

  async next(): Promise<void> {
    const now = this.#clock.elapsed();
    this.#places = Math.min(this.#burst, this.#places + ((now - this.#at) / 1000) * this.#qps);
    this.#at = now;
    if (this.#places < 1) {
      const waitMs = ((1 - this.#places) / this.#qps) * 1000;
      await new Promise<void>((resolve) => this.#clock.after(waitMs, resolve));
      this.#at = this.#clock.elapsed();
      this.#places = 1;
    }
    this.#places -= 1;
  }
}

/** All of them; a request waits for all that it has to. */
export function allSinks(sinks: readonly AuditSink[]): AuditSink {
  const [only] = sinks;
  if (only && sinks.length === 1) return only;
  return {
    isStrict: sinks.some(({ isStrict }) => isStrict),
    take(record) {
      const taken = sinks.map((sink) => sink.take(record));
      if (taken.every((one): one is boolean => typeof one === "boolean")) return taken.every(Boolean);
      return Promise.all(taken).then((all) => all.every(Boolean));
    },
    hurry() {
      for (const sink of sinks) sink.hurry?.();
    },
    async close() {
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
}
