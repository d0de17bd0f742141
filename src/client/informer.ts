// Keeps a copy of all objects of a kind, or of a selection, and notifies its handlers of changes.
//
//   list     as the first events of a watch where the server can, else page by page
//   watch    from the last resourceVersion seen; bookmarks move it on while nothing happens
//   resume   when the watch ends or breaks: from that resourceVersion, so nothing is missed and nothing comes twice
//   relist   when the server no longer knows that resourceVersion (410); handlers see the differences as changes
//
// A watch that has been silent for longer than bookmarks may take is given up and resumed: it cannot die unnoticed.
import { breathe } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError, explain, isExpired } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import { Cache } from "./cache.ts";
import type { Client, ObjectEvent, Selection } from "./client.ts";
import { type Metrics, noMetrics } from "./metrics.ts";
import { keyOfObject } from "./object-key.ts";

/** Added if there is no `old`, deleted if there is no `object`. On a resync both are the same. */
export interface InformerChange<O> {
  readonly key: string;
  readonly old: O | undefined;
  readonly object: O | undefined;
}
export type ChangeHandler<O> = (change: InformerChange<O>) => void;

export interface InformerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

export interface InformerOptions extends InformerContext, Selection {
  /** The resync interval: how often handlers are called with all objects again. Never by default. */
  readonly resyncMs?: number;
  /** How long a watch may be silent. Servers send bookmarks about once a minute. */
  readonly idleMs?: number;
}

const retryDelays = { firstMs: 800, maxMs: 30_000, jitter: 1 };
/** A watch that ended sooner counts as failed: the next one waits for the back-off. */
const shortWatchMs = 1000;
const initialEventsEnd = "k8s.io/initial-events-end";

export class Informer<K extends AnyKind> implements Component {
  readonly kind: K;
  readonly cache = new Cache<Infer<K>>();
  readonly #options: InformerOptions;
  readonly #handlers = new Set<ChangeHandler<Infer<K>>>();
  readonly #progressHandlers = new Set<() => void>();
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  #isDropped = false;
  /** Undefined when only a list will do. */
  #resourceVersion: string | undefined;
  #canStreamList = true;

  constructor(kind: K, options: InformerOptions) {
    this.kind = kind;
    this.#options = options;
  }

  get name(): string {
    return `informer of ${this.kind.plural}`;
  }

  /** Whether all objects of the first list are in the cache and handlers have been called with them. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Whether `drop` was called: no handler is called any more. */
  get isDropped(): boolean {
    return this.#isDropped;
  }

  /** Whether there are any handlers. */
  get isWatched(): boolean {
    return this.#handlers.size > 0 || this.#progressHandlers.size > 0;
  }

  /** The cache holds every change up to this revision. */
  get progress(): number {
    return Number(this.#resourceVersion ?? -1);
  }

  /** Resolves when the cache has been filled; rejects with the signal's reason, or when the informer is dropped before that. */
  synced(signal: AbortSignal): Promise<void> {
    return unlessAborted(this.#synced.promise, signal);
  }

  /** Calls the handler with every object in the cache, and from then on with every change. Handlers must neither throw nor wait. */
  onChange(handler: ChangeHandler<Infer<K>>): () => void {
    this.#handlers.add(handler);
    for (const object of this.cache.list()) handler({ key: keyOfObject(object), old: undefined, object });
    return () => this.#handlers.delete(handler);
  }

  /** Called whenever `progress` has moved, after the handlers were called. */
  onProgress(handler: () => void): () => void {
    this.#progressHandlers.add(handler);
    return () => this.#progressHandlers.delete(handler);
  }

  /** Lets go of all objects and all handlers, and of those who wait for the first list. Whoever runs it must abort it, too. */
  drop(reason: Error): void {
    this.#isDropped = true;
    this.#handlers.clear();
    this.#progressHandlers.clear();
    this.cache.clear();
    this.#synced.promise.catch(() => undefined); // there may be nobody who waits
    this.#synced.reject(reason);
  }

  /** Lists and watches until the signal aborts. No failure of the server ends it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log, resyncMs } = this.#options;
    const cancelResync = resyncMs === undefined ? undefined : this.#resyncEvery(resyncMs);
    try {
      for (let failures = 0; !signal.aborted; ) {
        const start = clock.elapsed();
        try {
          await this.#listAndWatch(signal);
          failures = clock.elapsed() - start < shortWatchMs ? failures + 1 : 0;
        } catch (error) {
          if (signal.aborted) break;
          failures = clock.elapsed() - start < shortWatchMs ? failures + 1 : 1;
          this.#recover(error);
          log[isOurFault(error) ? "warn" : "debug"]("watch failed", {
            resource: this.kind.plural,
            error: explain(error),
          });
        }
        if (failures > 0) await clock.sleep(backoffMs(retryDelays, failures - 1, random), signal);
      }
    } finally {
      cancelResync?.();
    }
    throw signal.reason;
  }

  async #listAndWatch(signal: AbortSignal): Promise<void> {
    if (this.#resourceVersion !== undefined) return this.#watch(this.#resourceVersion, signal);
    if (this.#canStreamList) return this.#watch(undefined, signal);
    const { client } = this.#options;
    const { items, resourceVersion } = await client.bound({ signal }).list(this.kind, this.#selection);
    this.#count("list");
    await this.#replace(items, resourceVersion, signal);
    return this.#watch(resourceVersion, signal);
  }

  /** Without a resourceVersion the objects there are come first. */
  async #watch(resourceVersion: string | undefined, signal: AbortSignal): Promise<void> {
    const { client, random } = this.#options;
    const silence = new Silence(this.#options);
    let initial: Infer<K>[] | undefined = resourceVersion === undefined ? [] : undefined;
    try {
      const events = await client.watch(this.kind, {
        ...this.#selection,
        ...(resourceVersion === undefined ? { sendInitialEvents: true } : { resourceVersion }),
        holds: true,
        timeoutSeconds: 300 + random.below(300), // spread, so that not all watches of a server end together
        signal: AbortSignal.any([signal, silence.signal]),
      });
      this.#count("watch");
      for await (const batch of events) {
        signal.throwIfAborted(); // a batch that was on its way
        silence.heard();
        for (const event of batch) {
          if (!initial) this.#apply(event);
          else if (event.type === "ADDED") initial.push(event.object);
          else if (endsInitial(event)) {
            await this.#replace(initial, metadataOf(event.object).resourceVersion, signal);
            initial = undefined;
          }
        }
        if (!initial) for (const handler of this.#progressHandlers) handler();
      }
      silence.signal.throwIfAborted();
      signal.throwIfAborted();
    } catch (error) {
      if (initial && (silence.signal.aborted || isRefusal(error))) this.#canStreamList = false;
      throw error;
    } finally {
      silence.end();
    }
  }

  #apply({ type, object }: ObjectEvent<Infer<K>>): void {
    const { resourceVersion, uid } = metadataOf(object);
    if (type !== "BOOKMARK") {
      const key = keyOfObject(object);
      if (type === "DELETED") {
        const old = this.cache.delete(key);
        if (old) this.#tell({ key, old: object, object: undefined });
      } else {
        const known = metadataOf(this.cache.get(key) ?? {});
        const isOld = known.uid === uid && Number(known.resourceVersion) >= Number(resourceVersion);
        if (!isOld) this.#tell({ key, old: this.cache.set(key, object), object });
      }
    }
    this.#resourceVersion = resourceVersion;
  }

  /** Makes the cache hold exactly these objects, and calls handlers with the differences. */
  async #replace(
    objects: readonly Infer<K>[],
    resourceVersion: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted(); // what was on its way must not fill a cache that was dropped
    const pause = breathe();
    const gone = new Set(this.cache.keys());
    for (const object of objects) {
      const key = keyOfObject(object);
      gone.delete(key);
      const known = metadataOf(this.cache.get(key) ?? {});
      const { uid, resourceVersion: changed } = metadataOf(object);
      if (known.uid !== uid || known.resourceVersion !== changed)
        this.#tell({ key, old: this.cache.set(key, object), object });
      if (!pause.due()) continue;
      await pause.now();
      signal.throwIfAborted();
    }
    for (const key of gone) {
      const old = this.cache.delete(key);
      if (old) this.#tell({ key, old, object: undefined });
    }
    this.#resourceVersion = resourceVersion;
    this.#hasSynced = true;
    this.#synced.resolve();
    for (const handler of this.#progressHandlers) handler();
  }

  #tell(change: InformerChange<Infer<K>>): void {
    for (const handler of this.#handlers) handler(change);
  }

  #recover(error: unknown): void {
    if (isExpired(error) || isTooLarge(error)) this.#resourceVersion = undefined;
  }

  #resyncEvery(ms: number): () => void {
    const { clock } = this.#options;
    let cancel = clock.after(ms, function again() {
      tellAll();
      cancel = clock.after(ms, again);
    });
    const tellAll = () => {
      for (const object of this.cache.list()) this.#tell({ key: keyOfObject(object), old: object, object });
    };
    return () => cancel();
  }

  get #selection(): Selection {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return { namespace, labelSelector, fieldSelector };
  }

  #count(what: string): void {
    (this.#options.metrics ?? noMetrics).count("reflector_requests_total", { resource: this.kind.plural, verb: what });
  }
}

/** Aborts its signal when nothing has been heard for too long. One timer, however many events there are. */
class Silence {
  readonly #gone = new AbortController();
  readonly #clock: Clock;
  readonly #limitMs: number;
  #last: number;
  #cancel: () => void;

  constructor({ clock, idleMs = 150_000 }: InformerOptions) {
    this.#clock = clock;
    this.#limitMs = idleMs;
    this.#last = clock.elapsed();
    this.#cancel = clock.after(idleMs, () => this.#check());
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  heard(): void {
    this.#last = this.#clock.elapsed();
  }

  end(): void {
    this.#cancel();
  }

  #check(): void {
    const left = this.#last + this.#limitMs - this.#clock.elapsed();
    if (left > 0) this.#cancel = this.#clock.after(left, () => this.#check());
    else this.#gone.abort(new Error(`the watch was silent for ${this.#limitMs} ms`));
  }
}

const endsInitial = ({ type, object }: ObjectEvent<unknown>): boolean =>
  type === "BOOKMARK" && metadataOf(object).annotations?.[initialEventsEnd] === "true";

/** The server does not know how to begin a watch with a list. */
const isRefusal = (error: unknown): boolean => error instanceof ApiError && (error.code === 422 || error.code === 400);

/** Retrying will not help: the request is forbidden, or the resource does not exist. */
const isOurFault = (error: unknown): boolean =>
  error instanceof ApiError && error.code < 500 && error.code !== 429 && !isExpired(error);

/** The store was reset, or it is another server: it has never reached our revision. */
const isTooLarge = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.details?.causes?.some(({ reason }) => reason === "ResourceVersionTooLarge") === true;
