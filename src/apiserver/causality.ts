// Why anything changed. Every committed write leaves a record here: who, what, which request, what it was caused by, and how long
// each stage took. A controller names what it acted on (`Knarr-Because: deployments.apps/default/web@17`), so records join into chains:
// request → Deployment → ReplicaSet → Pods → Binding → status. Kept beside the store, bounded, never inside objects.
import type { Clock } from "#base/clock.ts";
import type { Revision } from "#store/engine.ts";
import type { ResourceAddress, Trace, User } from "#wire/api-request.ts";
import type { Cause, WriteRecord } from "#wire/write-record.ts";

const mostCauses = 16;
const causePattern = /^([a-z0-9.-]+)\/(?:([a-z0-9.-]+)\/)?([^/@,]+)@(\d{1,15})$/;

/** What a client says it acted on. What cannot be read is left out: a wrong cause must not stop a right write. */
export function parseCauses(header: string | undefined): readonly Cause[] {
  if (!header) return [];
  return header
    .slice(0, 4096)
    .split(",", mostCauses)
    .flatMap((part) => {
      const [, resource = "", namespace = "", name = "", revision] = causePattern.exec(part.trim()) ?? [];
      return revision === undefined ? [] : [{ resource, namespace, name, revision: Number(revision) }];
    });
}

/** Follows one request through its stages. */
export class RequestTrace implements Trace {
  readonly id: string;
  readonly stages: Record<string, number> = {};
  readonly #clock: Pick<Clock, "elapsed">;
  #last: number;

  constructor(id: string, clock: Pick<Clock, "elapsed">) {
    this.id = id;
    this.#clock = clock;
    this.#last = clock.elapsed();
  }

  /** The stage that ends now; a stage passed twice counts both times. */
  mark(stage: string): void {
    const now = this.#clock.elapsed();
    this.stages[stage] = (this.stages[stage] ?? 0) + (now - this.#last);
    this.#last = now;
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
  readonly trace: Trace | undefined;
}

/** The records of the newest writes. */
export class Causality {
  readonly #limit: number;
  /** Oldest first; `#start` is where the ring begins once it is full. */
  readonly #ring: WriteRecord[] = [];
  #start = 0;

  /** 20,000 records take about 10 MiB. */
  constructor(limit = 20_000) {
    this.#limit = limit;
  }

  record({ revision, at, address, name, verb, user, userAgent, because, trace }: Committed): void {
    const { group, resource, namespace = "", subresource } = address;
    const record: WriteRecord = {
      revision,
      at,
      resource: group === "" ? resource : `${resource}.${group}`,
      namespace,
      name,
      verb,
      ...(subresource !== undefined && { subresource }),
      user: user.name,
      userAgent: userAgent.slice(0, 200),
      traceId: trace?.id ?? "",
      because: parseCauses(because),
      stages: trace ? { ...trace.stages } : {},
    };
    if (this.#ring.length < this.#limit) this.#ring.push(record);
    else {
      this.#ring[this.#start] = record;
      this.#start = (this.#start + 1) % this.#limit;
    }
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
      for (const { revision } of record.because) effects.set(revision, [...(effects.get(revision) ?? []), record]);

    const chain = new Set<WriteRecord>();
    const follow = (record: WriteRecord, next: (one: WriteRecord) => readonly (WriteRecord | undefined)[]) => {
      const open = [record];
      for (let one = open.pop(); one; one = open.pop()) {
        chain.add(one);
        for (const other of next(one)) if (other && !chain.has(other)) open.push(other);
      }
    };
    const own = records.filter((one) => one.resource === resource && one.namespace === namespace && one.name === name);
    for (const one of own) follow(one, ({ because }) => because.map(({ revision }) => byRevision.get(revision)));
    for (const one of own) follow(one, ({ revision }) => effects.get(revision) ?? []);
    return [...chain].sort((a, b) => a.revision - b.revision);
  }

  #all(): readonly WriteRecord[] {
    return [...this.#ring.slice(this.#start), ...this.#ring.slice(0, this.#start)];
  }
}
