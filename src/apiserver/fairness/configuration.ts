// Keeps flow control as the FlowSchemas and PriorityLevelConfigurations say, lends seats between levels every few seconds, and says in
// the status of each schema whether its level exists. Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go.
import { FlowSchema } from "#api/flowcontrol/v1/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/v1/priority-level-configuration.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { ServerWrites } from "../bootstrap/server-writes.ts";
import type { CacheOf, WatchCache } from "../watch-cache.ts";
import type { Fairness } from "./fairness.ts";
import type { SchemaReference } from "./flow-control.ts";

const manager = "api-priority-and-fairness-config-consumer-v1";
const borrowingMs = 10_000;
const minuteMs = 60_000;
/** Servers of different versions may disagree about a status: none writes it more often in a minute. */
const mostWritesPerMinute = 6;

export interface FlowConfigurationOptions {
  readonly fairness: Fairness;
  readonly cacheOf: CacheOf;
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class FlowConfiguration implements Component {
  readonly name = "priority and fairness";
  readonly #options: FlowConfigurationOptions;
  readonly #levels: WatchCache;
  readonly #schemas: WatchCache;
  readonly #writes: ServerWrites;
  /** Statuses that are not as they should be, by name. */
  #pending = new Map<string, SchemaReference>();
  #wake: (() => void) | undefined;
  /** When each status was written of late. */
  readonly #written = new Map<string, number[]>();

  constructor(options: FlowConfigurationOptions) {
    this.#options = options;
    this.#levels = options.cacheOf(PriorityLevelConfiguration);
    this.#schemas = options.cacheOf(FlowSchema);
    this.#writes = new ServerWrites(options.request);
    const digest = () => this.#digest();
    for (const cache of [this.#levels, this.#schemas]) cache.listen({ reset: digest, events: digest });
    this.#digest();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await supervise(
        [
          { name: "borrowing", run: (inner) => this.#borrowAtTimes(inner) },
          { name: "flow schema status", run: (inner) => this.#writeStatuses(inner) },
        ],
        signal,
      );
    } finally {
      this.#options.fairness.stop();
    }
  }

  #digest(): void {
    const references = this.#options.fairness.digest(
      this.#levels.list(this.#levels.prefix).map(({ object }) => object as unknown as PriorityLevelConfiguration),
      this.#schemas.list(this.#schemas.prefix).map(({ object }) => object as unknown as FlowSchema),
    );
    this.#pending = new Map(
      references.filter((one) => !isTold(one)).map((one) => [one.schema.metadata.name ?? "", one]),
    );
    if (this.#pending.size > 0) this.#wake?.();
  }

  async #borrowAtTimes(signal: AbortSignal): Promise<void> {
    const { clock, fairness } = this.#options;
    for (;;) {
      await clock.sleep(borrowingMs, signal);
      fairness.adjust();
      // A level that nobody wants any more may have served its last request.
      if (fairness.control.hasLeftovers) this.#digest();
    }
  }

  async #writeStatuses(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      if (this.#pending.size === 0) await this.#woken(signal);
      let isLate = false;
      try {
        for (const reference of [...this.#pending.values()]) isLate = !(await this.#write(reference, signal)) || isLate;
        failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        log.warn("the status of a flow schema could not be written", { error });
        await clock.sleep(Math.min(200 * 2 ** failures++, minuteMs), signal);
      }
      if (isLate && this.#pending.size > 0) await clock.sleep(30_000 + Math.floor(random.next() * 45_000), signal);
    }
  }

  #woken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const aborted = () => reject(signal.reason);
      if (signal.aborted) return aborted();
      signal.addEventListener("abort", aborted, { once: true });
      this.#wake = () => {
        signal.removeEventListener("abort", aborted);
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** False if it was written too often already. */
  async #write(reference: SchemaReference, signal: AbortSignal): Promise<boolean> {
    const name = reference.schema.metadata.name ?? "";
    const now = this.#options.clock.now();
    const recent = (this.#written.get(name) ?? []).filter((at) => now - at < minuteMs);
    if (recent.length >= mostWritesPerMinute) return false;
    this.#written.set(name, [...recent, now]);
    try {
      await this.#writes.applyStatus(FlowSchema, statusOf(reference, now), manager, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "NotFound") throw error; // it was deleted meanwhile
    }
    if (this.#pending.get(name) === reference) this.#pending.delete(name);
    return true;
  }
}

interface Verdict {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

function verdictOn({ level, isDangling }: SchemaReference): Verdict {
  const named = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  return isDangling
    ? { status: "True", reason: "NotFound", message: `${named} but there is no such object` }
    : { status: "False", reason: "Found", message: `${named} and it exists` };
}

function isTold(reference: SchemaReference): boolean {
  const { status, reason, message } = verdictOn(reference);
  const told = reference.schema.status?.conditions?.find(({ type }) => type === "Dangling");
  return told?.status === status && told.reason === reason && told.message === message;
}

function statusOf(reference: SchemaReference, now: number): DraftObject {
  const condition = { type: "Dangling", ...verdictOn(reference), lastTransitionTime: timeOf(now) };
  const { name = "" } = reference.schema.metadata;
  return {
    apiVersion: FlowSchema.apiVersion,
    kind: FlowSchema.kind,
    metadata: { name },
    status: { conditions: [condition] },
  };
}
