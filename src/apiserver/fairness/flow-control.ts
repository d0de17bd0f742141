// The levels and schemas that are in force, made from the objects that say so. What every server has is there whether or not anyone has
// written it. Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go.
import type { FlowSchema } from "#api/flowcontrol/v1/flow-schema.ts";
import type { PriorityLevelConfiguration } from "#api/flowcontrol/v1/priority-level-configuration.ts";
import type { Clock } from "#base/clock.ts";
import { priorityLevels as bootstrapLevels, flowSchemas as bootstrapSchemas } from "../bootstrap/flow-control.ts";
import { type Borrowing, borrow } from "./borrowing.ts";
import { Classifier, inMatchingOrder } from "./matching.ts";
import { limitsOf, mostSeatsOf, PriorityLevel, sharesOf } from "./priority-level.ts";
import type { LevelMeters } from "./queue-set.ts";
import type { FlowTally } from "./request-list.ts";

/** Requests that one schema leads to one level. */
export interface Flow {
  readonly schema: string;
  readonly uid: string;
  readonly level: PriorityLevel;
  readonly distinguisher: "ByUser" | "ByNamespace" | undefined;
  readonly tally: FlowTally;
}

/** Whether the level of a schema is missing. */
export interface SchemaReference {
  readonly schema: FlowSchema;
  readonly level: string;
  readonly isDangling: boolean;
}

export interface FlowControlOptions {
  readonly clock: Clock;
  /** Seats of the server: requests that read and requests that write, together. */
  readonly seats: number;
  readonly metersOf: (level: string) => LevelMeters;
}

export class FlowControl {
  readonly #options: FlowControlOptions;
  #levels: ReadonlyMap<string, PriorityLevel> = new Map();
  #flows: readonly Flow[] = [];
  #classifier: Classifier<Flow>;
  /** Kept when the configuration changes: requests under way are counted there. */
  readonly #tallies = new Map<string, FlowTally>();

  constructor(options: FlowControlOptions) {
    this.#options = options;
    this.#levels = this.#digestLevels([]);
    this.#classifier = this.#digestSchemas([]);
    this.adjust();
  }

  get levels(): ReadonlyMap<string, PriorityLevel> {
    return this.#levels;
  }

  get flows(): readonly Flow[] {
    return this.#flows;
  }

  get classifier(): Classifier<Flow> {
    return this.#classifier;
  }

  /** Takes over what the objects say, and answers which schemas name a level that is not there. Seats are divided by `adjust`. */
  digest(levels: readonly PriorityLevelConfiguration[], schemas: readonly FlowSchema[]): readonly SchemaReference[] {
    const names = new Set(levels.map(({ metadata }) => metadata.name ?? ""));
    const references = schemas.map((schema): SchemaReference => {
      const { name } = schema.spec.priorityLevelConfiguration;
      return { schema, level: name, isDangling: !names.has(name) };
    });
    this.#levels = this.#digestLevels(levels);
    this.#classifier = this.#digestSchemas(
      references.filter(({ isDangling }) => !isDangling).map(({ schema }) => schema),
    );
    return references;
  }

  /** Divides the server's seats by shares, then lets levels borrow. To be called every ten seconds, and when levels have changed. */
  adjust(): Borrowing {
    const { clock, seats } = this.#options;
    const now = clock.elapsed();
    const levels = [...this.#levels.values()];
    const shareSum = levels.reduce((sum, { spec }) => sum + sharesOf(spec), 0);
    for (const level of levels) {
      level.limits = limitsOf(level.spec, seats, shareSum);
      level.mostSeats = mostSeatsOf(level.spec, level.limits);
      level.review(now);
    }
    const borrowing = borrow(levels);
    for (const [level, own] of borrowing.seats) level.allot(own, now);
    return borrowing;
  }

  /** Whether a level that nobody wants any more can be let go of. */
  get hasLeftovers(): boolean {
    for (const { isQuiescing, queues } of this.#levels.values()) if (isQuiescing && queues.isIdle) return true;
    return false;
  }

  #digestLevels(objects: readonly PriorityLevelConfiguration[]): ReadonlyMap<string, PriorityLevel> {
    const { clock, metersOf } = this.#options;
    const levels = new Map<string, PriorityLevel>();
    const keep = (name: string, spec: PriorityLevelConfiguration["spec"], uid: string) => {
      const level = this.#levels.get(name) ?? new PriorityLevel(name, spec, clock, metersOf(name));
      level.spec = spec;
      level.uid = uid;
      level.isQuiescing = false;
      levels.set(name, level);
    };
    for (const { metadata, spec } of objects) keep(metadata.name ?? "", spec, metadata.uid ?? "");
    for (const [name, spec] of mandatoryLevels)
      if (!levels.has(name)) keep(name, this.#levels.get(name)?.spec ?? spec, "");
    // What still has requests goes on with its share until they are over.
    for (const [name, level] of this.#levels) {
      if (levels.has(name) || level.queues.isIdle) continue;
      level.isQuiescing = true;
      levels.set(name, level);
    }
    return levels;
  }

  #digestSchemas(good: readonly FlowSchema[]): Classifier<Flow> {
    const missing = mandatorySchemas.filter(
      ({ metadata: { name } }) => !good.some((one) => one.metadata.name === name),
    );
    const candidates = inMatchingOrder([...good, ...missing]).flatMap((schema) => {
      const { metadata, spec } = schema;
      const level = this.#levels.get(spec.priorityLevelConfiguration.name);
      return level ? [{ schema, flow: this.#flow(metadata, spec, level) }] : [];
    });
    this.#flows = candidates.map(({ flow }) => flow);
    const fallback = this.#flows.find(({ schema }) => schema === catchAll) ?? this.#flows.at(-1);
    return new Classifier(candidates, fallback as Flow);
  }

  #flow(metadata: FlowSchema["metadata"], spec: FlowSchema["spec"], level: PriorityLevel): Flow {
    const { name: schema = "", uid = "" } = metadata;
    const type = spec.distinguisherMethod?.type;
    const distinguisher = type === "ByUser" || type === "ByNamespace" ? type : undefined;
    return { schema, uid, level, distinguisher, tally: this.#tally(`${level.name}/${schema}`) };
  }

  #tally(key: string): FlowTally {
    const tally = this.#tallies.get(key) ?? { waiting: 0, waitingSeats: 0, executing: 0, executingSeats: 0 };
    this.#tallies.set(key, tally);
    return tally;
  }
}

const catchAll = "catch-all";
const mandatoryNames: ReadonlySet<string> = new Set(["exempt", catchAll]);

/** What every server has, as it would be read. */
const mandatoryLevels = new Map(
  bootstrapLevels
    .filter(({ object }) => mandatoryNames.has(object.metadata.name ?? ""))
    .map(({ object }) => [object.metadata.name ?? "", object.spec as PriorityLevelConfiguration["spec"]]),
);
const mandatorySchemas = bootstrapSchemas
  .filter(({ object }) => mandatoryNames.has(object.metadata.name ?? ""))
  .map(({ object }) => object as unknown as FlowSchema);
