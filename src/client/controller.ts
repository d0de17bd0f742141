// What a controller is: a name, the kinds it looks at, and one function from an object to what should be done about it.
// How it is run is in controller-run.ts; how it is tested, in testing.ts.
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Backoff } from "#base/retry.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { Cache, Index } from "./cache.ts";
import type { Client } from "./client.ts";
import type { ObjectKey } from "./object-key.ts";

/** Look again after this time, whether anything has changed by then or not. */
export interface Again {
  readonly afterMs: number;
}

export type ReconcileResult = Promise<Again | undefined> | Promise<void>;

/** Thrown by a reconcile for which there is no use in trying again before something changes. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

export interface Controller<K extends AnyKind> {
  readonly name: string;
  /** What its queue is called in metrics, where dashboards know it by another name. */
  readonly queue?: string;
  /** The kind whose objects are reconciled. */
  readonly for: K;
  /** Selects the objects to reconcile: an object is reconciled if it matches before or after a change. Defaults to all. */
  concerns?(object: Infer<K>, cache: CacheView): boolean;
  /** A change to an object of these kinds reconciles the object that controls it. */
  readonly owns?: readonly AnyKind[];
  /** A change to an object of these kinds reconciles whatever `wakes` says. */
  readonly watches?: readonly Watching[];
  /** Kinds that are read from the cache, but wake nothing. */
  readonly reads?: readonly AnyKind[];
  /** How many objects are reconciled at once; defaults to 5. */
  readonly workers?: number;
  /** Reconciles every object as often as this; never by default. */
  readonly resyncMs?: number;
  /** Debounce: changes of other objects, and of the status of its own, wait this long and are acted on together. No delay by default. */
  readonly batchMs?: number;
  /** How long to wait after failures; defaults to from 5 ms to 1000 s. */
  readonly backoff?: Backoff;
  /** Under which name events are reported; defaults to the controller's with `-controller` behind it. */
  readonly reportsAs?: string;
  /** Brings the cluster closer to what the object asks for. Returns when nothing is left to do, throws to be called again later. */
  reconcile(object: Infer<K>, context: Reconcile): ReconcileResult;
  /** Called when an object is gone, to clean up what owner references do not. May be called more than once, or for an object never seen. */
  gone?(place: ObjectKey, context: Reconcile): ReconcileResult;
}

export const controller = <K extends AnyKind>(spec: Controller<K>): Controller<K> => spec;

export interface Watching {
  readonly kind: AnyKind;
  /** Which objects to reconcile when `object` has changed; called with the old and with the new object. */
  wakes(object: unknown, cache: CacheView): Iterable<ObjectKey>;
  /** Whether a change matters; all do by default. */
  matters?(old: unknown, object: unknown): boolean;
  /** Whether the creation of an object wakes nobody. */
  readonly exceptNew?: boolean;
}

export const watching = <K extends AnyKind>(
  kind: K,
  wakes: (object: Infer<K>, cache: CacheView) => Iterable<ObjectKey>,
  matters?: (old: Infer<K>, object: Infer<K>) => boolean,
  options: Pick<Watching, "exceptNew"> = {},
): Watching => ({
  ...options,
  kind,
  wakes: (object, cache) => wakes(object as Infer<K>, cache), // the informer is of this kind
  ...(matters && { matters: (old: unknown, object: unknown) => matters(old as Infer<K>, object as Infer<K>) }),
});

export type EventType = "Normal" | "Warning";

/** What a reconcile is given. */
export interface Reconcile {
  /** Ends with the reconcile's signal; its writes carry their cause, and are seen by the cache before the next reconcile. */
  readonly client: Client;
  readonly cache: CacheView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Reports something for people to read, about the object or about another. Does not wait. */
  event(type: EventType, reason: string, message: string, about?: object): void;
}

/** All that the controller's kinds hold, as of now. Objects are shared; tests freeze them. */
export interface CacheView {
  get<K extends AnyKind>(kind: K, place: ObjectKey): Infer<K> | undefined;
  list<K extends AnyKind>(kind: K, namespace?: string): readonly Infer<K>[];
  /** The objects that `owner` controls. */
  owned<K extends AnyKind>(kind: K, owner: object): readonly Infer<K>[];
  by<K extends AnyKind>(index: Index<K>, value: string): readonly Infer<K>[];
  /** How many objects `by` would return. */
  count<K extends AnyKind>(index: Index<K>, value: string): number;
}

export const cacheView = (cacheOf: <K extends AnyKind>(kind: K) => Cache<Infer<K>>): CacheView => ({
  get: (kind, place) => cacheOf(kind).get(place),
  list: (kind, namespace) => cacheOf(kind).list(namespace),
  owned: (kind, owner) => cacheOf(kind).owned(metadataOf(owner).uid ?? ""),
  by: (index, value) => cacheOf(index.kind).by(index.values, value),
  count: (index, value) => cacheOf(index.kind).count(index.values, value),
});

/** Every kind a controller looks at. */
export const kindsOf = ({ for: subject, owns = [], watches = [], reads = [] }: Controller<AnyKind>): Set<AnyKind> =>
  new Set([subject, ...owns, ...watches.map(({ kind }) => kind), ...reads]);
