// Why anything changed. Every committed write leaves a record here: who, what, which request, what it was caused by, and how long
// each stage took. A controller names what it acted on (`Knarr-Because: deployments.apps/default/web@17`), so records join into chains:
// request → Deployment → ReplicaSet → Pods → Binding → status. Kept beside the store, bounded, never inside objects.
import type { Clock } from "#base/clock.ts";
import type { Revision } from "#store/engine.ts";
import { type ResourceAddress, type Stage, stages, type Trace, type User } from "#wire/api-request.ts";
import { parseSteps } from "#wire/steps.ts";
import type { Cause, WriteRecord } from "#wire/write-record.ts";

const mostCauses = 16;
const longest = 4096;

const shortened = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= longest ? text : text.slice(0, longest);
const causePattern = /^([a-z0-9.-]+)\/(?:([a-z0-9.-]+)\/)?([^/@,]+)@(\d{1,15})$/;

const noCauses: readonly Cause[] = [];

/** What a client says it acted on. What cannot be read is left out: a wrong cause must not stop a right write. */
export function parseCauses(header: string | undefined): readonly Cause[] {
  if (!header) return noCauses;
  return header.split(",", mostCauses).flatMap((part) => {
    const [, resource = "", namespace = "", name = "", revision] = causePattern.exec(part.trim()) ?? [];
    return revision === undefined ? [] : [{ resource, namespace, name, revision: Number(revision) }];
  });
}

/** Follows one request through its stages. */
export class RequestTrace implements Trace {
  readonly id: string;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #spent: Partial<Record<Stage, number>> = {};
  #last: number;

  constructor(id: string, clock: Pick<Clock, "elapsed">) {
    this.id = id;
    this.#clock = clock;
    this.#last = clock.elapsed();
  }

  /** A stage passed twice counts both times. */
  mark(stage: Stage): void {
    const now = this.#clock.elapsed();
    this.#spent[stage] = (this.#spent[stage] ?? 0) + (now - this.#last);
    this.#last = now;
  }

  spent(stage: Stage): number | undefined {
    return this.#spent[stage];
  }
}

const traceparentPattern = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/** The trace a client asks us to be part of (W3C), if its header is valid. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  const id = traceparentPattern.exec(traceparent ?? "")?.[1];
  return id === undefined || /^0+$/.test(id) ? undefined : id;
}

export interface Committed {
  readonly revision: Revision;
  readonly at: number;
  readonly address: ResourceAddress;
  readonly name: string;
  readonly verb: string;
  readonly user: User;
  readonly userAgent: string;
  readonly because: string | undefined;
  readonly steps?: string | undefined;
  readonly trace: Trace | undefined;
}

/** All that can be reached from some records. */
function closure(
  from: readonly WriteRecord[],
  next: (one: WriteRecord) => readonly (WriteRecord | undefined)[],
): Set<WriteRecord> {
  const reached = new Set(from);
  for (const one of reached) for (const other of next(one)) if (other) reached.add(other);
  return reached;
}

/** A record without its numbers. What clients told is read when someone asks: most records are never looked at. */
interface Words extends Omit<WriteRecord, "revision" | "at" | "stages" | "because" | "steps"> {
  readonly because: string | undefined;
  readonly steps: string | undefined;
}

/** Of each record: its revision, its time, and what was spent in each stage. */
const columns = 2 + stages.length;

/**
 * The records of the newest writes. Their numbers are kept apart from their words: as fields of objects, they would be three quarters
 * of a record's memory.
 */
export class Causality {
  readonly #limit: number;
  readonly #words: Words[] = [];
  readonly #numbers: Float64Array;
  /** Where the ring begins once it is full. */
  #start = 0;

  /** 20,000 records take about 6 MiB. */
  constructor(limit = 20_000) {
    this.#limit = limit;
    this.#numbers = new Float64Array(limit * columns);
  }

  record({ revision, at, address, name, verb, user, userAgent, because, steps, trace }: Committed): void {
    const { group, resource, namespace = "", subresource } = address;
    const row = this.#words.length < this.#limit ? this.#words.length : this.#start;
    this.#words[row] = {
      resource: group === "" ? resource : `${resource}.${group}`,
      namespace,
      name,
      verb,
      ...(subresource !== undefined && { subresource }),
      user: user.name,
      userAgent: userAgent.length > 200 ? userAgent.slice(0, 200) : userAgent,
      traceId: trace?.id ?? "",
      because: shortened(because),
      steps: shortened(steps),
    };
    const first = row * columns;
    this.#numbers[first] = revision;
    this.#numbers[first + 1] = at;
    for (let i = 0; i < stages.length; i++)
      this.#numbers[first + 2 + i] = trace?.spent(stages[i] as Stage) ?? Number.NaN;
    if (this.#words.length === this.#limit) this.#start = (row + 1) % this.#limit;
  }

  /** All writes of one request. */
  ofRequest(traceId: string): readonly WriteRecord[] {
    return this.#all().filter((record) => record.traceId === traceId);
  }

  /** All writes to one object, what caused them, and what they caused in turn, by revision. */
  ofObject(resource: string, namespace: string, name: string): readonly WriteRecord[] {
    const records = this.#all();
    const byRevision = new Map(records.map((record) => [record.revision, record]));
    const effects = new Map<Revision, WriteRecord[]>();
    for (const record of records)
      for (const { revision } of record.because) {
        const known = effects.get(revision);
        if (known) known.push(record);
        else effects.set(revision, [record]);
      }

    const own = records.filter((one) => one.resource === resource && one.namespace === namespace && one.name === name);
    const causes = closure(own, ({ because }) => because.map(({ revision }) => byRevision.get(revision)));
    const all = causes.union(closure(own, ({ revision }) => effects.get(revision) ?? []));
    return [...all].sort((a, b) => a.revision - b.revision);
  }

  /** Oldest first. */
  #all(): readonly WriteRecord[] {
    const count = this.#words.length;
    return Array.from({ length: count }, (_, i) => this.#at((this.#start + i) % count));
  }

  #at(row: number): WriteRecord {
    const [revision = 0, at = 0, ...spent] = this.#numbers.subarray(row * columns, (row + 1) * columns);
    const passed = stages.map((stage, i) => [stage, spent[i] ?? Number.NaN] as const).filter(([, ms]) => ms >= 0);
    const { because, steps, ...words } = this.#words[row] as Words;
    return {
      revision,
      at,
      ...words,
      because: parseCauses(because),
      stages: Object.fromEntries(passed),
      ...(steps !== undefined && { steps: parseSteps(steps) }),
    };
  }
}
