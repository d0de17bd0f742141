// Why anything changed. Every committed write leaves a record here: who, what, which request, what it was caused by, and how long
// each stage took. A controller names what it acted on (`Knarr-Because: deployments.apps/default/web@17`), so records join into chains:
// request → Deployment → ReplicaSet → Pods → Binding → status. Kept beside the store, bounded, never inside objects.
import type { Clock } from "#base/clock.ts";
import type { Revision } from "#store/engine.ts";
import { type RequestStage, type ResourceAddress, stages, type Trace, type User } from "#wire/api-request.ts";
import { parseSteps } from "#wire/steps.ts";
import type { Cause, WriteRecord } from "#wire/write-record.ts";

const mostCauses = 16;
const longest = 2048;

const shortened = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= longest ? text : text.slice(0, longest);
const causePattern = /^([a-z0-9.-]+)\/(?:([a-z0-9.-]+)\/)?([^/@,]+)@(\d{1,15})$/;

const noCauses: readonly Cause[] = [];

/** Parses the causes that a client names. Malformed ones are left out: a wrong cause must not fail a valid write. */
export function parseCauses(header: string | undefined): readonly Cause[] {
  if (!header) return noCauses;
  return header.split(",", mostCauses).flatMap((part) => {
    const [, resource = "", namespace = "", name = "", revision] = causePattern.exec(part.trim()) ?? [];
    return revision === undefined ? [] : [{ resource, namespace, name, revision: Number(revision) }];
  });
}

const partNames: ReadonlySet<string> = new Set(["system:kube-controller-manager", "system:kube-scheduler"]);
const partGroups: ReadonlySet<string> = new Set([
  "system:masters",
  "system:nodes",
  "system:serviceaccounts:kube-system",
]);

/** Whether the causes that a user names are recorded. Ordinary users are not trusted: they could blame a part of the system. */
export const isPart = ({ name, groups }: User): boolean =>
  partNames.has(name) || groups.some((group) => partGroups.has(group));

/** Follows one request through its stages. */
export class RequestTrace implements Trace {
  readonly id: string;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #spent: Partial<Record<RequestStage, number>> = {};
  #last: number;

  constructor(id: string, clock: Pick<Clock, "elapsed">) {
    this.id = id;
    this.#clock = clock;
    this.#last = clock.elapsed();
  }

  /** A stage passed twice counts both times. */
  mark(stage: RequestStage): void {
    const now = this.#clock.elapsed();
    this.#spent[stage] = (this.#spent[stage] ?? 0) + (now - this.#last);
    this.#last = now;
  }

  spent(stage: RequestStage): number | undefined {
    return this.#spent[stage];
  }
}

const traceparentPattern = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/** The trace a client asks us to be part of (W3C), if its header is valid. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  const id = traceparentPattern.exec(traceparent ?? "")?.[1];
  return id === undefined || /^0+$/.test(id) ? undefined : id;
}

export interface CommittedWrite {
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

/** The rows that can be reached from some rows. */
function closure(from: readonly number[], next: (row: number) => readonly (number | undefined)[]): Set<number> {
  const reached = new Set(from);
  for (const one of reached) for (const other of next(one)) if (other !== undefined) reached.add(other);
  return reached;
}

/** A record without its numbers. The headers of clients are parsed on demand: most records are never read. */
interface Words extends Omit<WriteRecord, "revision" | "at" | "stages" | "because" | "steps" | "subresource"> {
  readonly subresource: string | undefined;
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

  record({ revision, at, address, name, verb, user, userAgent, because, steps, trace }: CommittedWrite): void {
    const { group, resource, namespace = "", subresource } = address;
    const row = this.#words.length < this.#limit ? this.#words.length : this.#start;
    this.#words[row] = {
      resource: group === "" ? resource : `${resource}.${group}`,
      namespace,
      name,
      verb,
      subresource,
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
      this.#numbers[first + 2 + i] = trace?.spent(stages[i] as RequestStage) ?? Number.NaN;
    if (this.#words.length === this.#limit) this.#start = (row + 1) % this.#limit;
  }

  /** All writes of one request. */
  ofRequest(traceId: string): readonly WriteRecord[] {
    return this.#where((words) => words.traceId === traceId).map((row) => this.#at(row));
  }

  /** All writes to one object, what caused them, and what they caused in turn, by revision. */
  ofObject(resource: string, namespace: string, name: string): readonly WriteRecord[] {
    const own = this.#where((one) => one.name === name && one.resource === resource && one.namespace === namespace);
    if (own.length === 0) return [];
    const { rows, effects } = this.#links();
    const causes = closure(own, (row) => this.#causesOf(row).map(({ revision }) => rows.get(revision)));
    const all = closure(own, (row) => {
      const revision = this.#revisionOf(row);
      const likely = effects.get(revision) ?? [];
      return likely.filter((other) => this.#causesOf(other).some((cause) => cause.revision === revision));
    });
    for (const row of causes) all.add(row);
    return [...all].map((row) => this.#at(row)).sort((a, b) => a.revision - b.revision);
  }

  /** Rows of records, oldest first. */
  #where(isWanted: (words: Words) => boolean): readonly number[] {
    const found: number[] = [];
    const count = this.#words.length;
    for (let i = 0; i < count; i++) {
      const row = (this.#start + i) % count;
      if (isWanted(this.#words[row] as Words)) found.push(row);
    }
    return found;
  }

  /** Rows by revision, and rows by the revision of their cause. Only the numbers of causes are compared, without parsing the rest. */
  #links(): {
    readonly rows: ReadonlyMap<Revision, number>;
    readonly effects: ReadonlyMap<Revision, readonly number[]>;
  } {
    const rows = new Map<Revision, number>();
    const effects = new Map<Revision, number[]>();
    for (let row = 0; row < this.#words.length; row++) {
      rows.set(this.#revisionOf(row), row);
      const { because = "" } = this.#words[row] as Words;
      for (let at = because.indexOf("@"); at >= 0; at = because.indexOf("@", at + 1)) {
        const revision = Number.parseInt(because.slice(at + 1, at + 16), 10);
        const known = effects.get(revision);
        if (known) known.push(row);
        else effects.set(revision, [row]);
      }
    }
    return { rows, effects };
  }

  #revisionOf(row: number): Revision {
    return this.#numbers[row * columns] ?? 0;
  }

  #causesOf(row: number): readonly Cause[] {
    return parseCauses(this.#words[row]?.because);
  }

  #at(row: number): WriteRecord {
    const first = row * columns;
    const { because, steps, resource, namespace, name, verb, subresource, ...others } = this.#words[row] as Words;
    const spent: Partial<Record<RequestStage, number>> = {};
    stages.forEach((stage, i) => {
      const ms = this.#numbers[first + 2 + i] ?? Number.NaN;
      if (ms >= 0) spent[stage] = ms;
    });
    return {
      revision: this.#revisionOf(row),
      at: this.#numbers[first + 1] ?? 0,
      resource,
      namespace,
      name,
      verb,
      ...(subresource !== undefined && { subresource }),
      ...others,
      because: parseCauses(because),
      stages: spent,
      ...(steps !== undefined && { steps: parseSteps(steps) }),
    };
  }
}
