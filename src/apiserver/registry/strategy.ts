// What is special about storing a kind, where it differs from what all kinds do. Most kinds have no entry in the list.
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import type { Filter } from "#schema/apply/filter.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Problem } from "#schema/problem.ts";
import type { User } from "#wire/api-request.ts";
import type { Reserver, ReserverParts } from "./reservation.ts";

export interface StrategyContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly user: User;
}

export interface Strategy {
  /** An update of an object that does not exist creates it. */
  readonly createOnUpdate?: boolean;
  /** An update must say which resourceVersion it is based on. */
  readonly needsResourceVersion?: boolean;
  /** Why no objects can be created at present; undefined if they can. */
  refusesNew?(): string | undefined;
  /** The status a client sends along with a create is kept. */
  readonly keepsStatusOnCreate?: boolean;
  /** Whether all of an object may change while it waits for initializers: a pod that nobody has seen does not run yet. */
  readonly isFreeUntilInitialized?: boolean;
  /** Changes of what is wanted are counted in metadata.generation. */
  readonly countsGenerations?: boolean;
  /** What counts as wanted; defaults to everything but metadata and status. */
  readonly wanted?: (object: ApiObject) => unknown;
  /** Objects vanish this long after their last write. */
  readonly ttlSeconds?: number;
  /** Whether the server keeps all objects in memory, which it does by default; otherwise gets and lists are read from the store. */
  readonly keepsObjects?: boolean;
  /** Makes what gives objects of the kind things that no two may share. */
  reserver?(parts: ReserverParts): Reserver;
  /** Adds what a client owns of an object without having said it, and takes off what it does not, before it is noted who owns what. */
  prepareForTracking?(object: DraftObject): void;
  /** After defaults, before validation. */
  prepareForCreate?(object: DraftObject, context: StrategyContext): void;
  prepareForUpdate?(object: DraftObject, old: ApiObject, context: StrategyContext): void;
  prepareForStatusUpdate?(object: DraftObject, old: ApiObject, context: StrategyContext): void;
  /**
   * What a write through `status` leaves as it is, besides all that is not the status. `metadata` stands for what clients may write of
   * it: labels, annotations, finalizers and owners.
   */
  readonly statusKeeps?: readonly ("metadata" | "metadata.labels" | "metadata.ownerReferences")[];
  /** Fields that writers do not come to own, where it is more than what a write leaves as it is. */
  readonly unowned?: { readonly object?: readonly string[]; readonly status?: readonly string[] };
  /** What is wrong with a new object, where finding out takes time. */
  verify?(object: ApiObject): Promise<readonly Problem[]>;
  /** Warnings about an accepted object. */
  warnings?(object: ApiObject, old: ApiObject | undefined): Iterable<string>;
  /** The same about a status. */
  statusWarnings?(object: ApiObject): Iterable<string>;
  /** Subresources that are parts of the object, by name. */
  readonly parts?: Readonly<Record<string, PartStrategy>>;
  /** Seconds a deleted object is given to end by itself; 0 removes it at once. Without this, all are removed at once. */
  graceSeconds?(object: ApiObject, asked: number | undefined): number;
  /** Whether nothing but finalizers in metadata holds the object back; a namespace has some of its own. */
  mayGo?(object: ApiObject): boolean;
  /** When a deletion has been accepted but the object stays for now. */
  prepareForDeletion?(object: DraftObject): void;
  /** What happens to dependents of a deleted object when the client does not say. */
  readonly orphansDependents?: boolean;
  /** The warning for deletions that do not say what becomes of dependents. */
  readonly deletionWarning?: string;
}

/** A part of the object with a path and rules of its own, such as `approval`. */
export interface PartStrategy {
  /** Undoes all that may not change through this path. */
  prepare(object: DraftObject, old: ApiObject, context: StrategyContext): void;
  problems(object: ApiObject, old: ApiObject): readonly Problem[];
  /** Which fields a writer through this path can own. */
  readonly owned: Filter;
}
