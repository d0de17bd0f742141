// Runs controllers: informers shared among them, a queue for each, and all that their authors would otherwise forget.

import type { Clock } from "#base/clock.ts";
import { ApiError, explain, isConflict } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { WorkQueue } from "#base/queue.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { controllerOf } from "#rules/owners.ts";
import { groupOf } from "#schema/api-version.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiObject, metadataOf } from "#schema/object.ts";
import type { Client, ClientWrite } from "./client.ts";
import {
  type Again,
  type CacheView,
  type Controller,
  cacheView,
  kindsOf,
  type Reconcile,
  TerminalError,
} from "./controller.ts";
import { Cooldown } from "./cooldown.ts";
import { EventRecorder } from "./events.ts";
import type { InformerChange } from "./informer.ts";
import { Informers } from "./informers.ts";
import { type Metrics, noMetrics } from "./metrics.ts";
import { causeOf, keyOf, placeOf } from "./object-key.ts";
import { OwnWrites } from "./own-writes.ts";
import { measuredQueue } from "./queue-metrics.ts";
import { causesOf, Triggers } from "./triggers.ts";
import { WriteLimiter } from "./write-limiter.ts";

export interface ControllersOptions {
  /** Lists, watches and reports for all of them. */
  readonly client: Client;
  /** Under which identity a controller writes; defaults to that of `client`. */
  readonly clientFor?: (controller: string) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Shared with others of the process; defaults to own ones. */
  readonly informers?: Informers;
  /** Which instance reports: the `source.host` of events. */
  readonly host?: string;
}

export interface RunningControllers extends Component {
  /** Whether all caches are filled: for a readiness check. */
  readonly hasSynced: boolean;
}

/** The controllers as one component; it runs its informers and its event recorder, too. */
export function runControllers(
  controllers: readonly Controller<AnyKind>[],
  options: ControllersOptions,
): RunningControllers {
  const informers = options.informers ?? new Informers(options);
  const recorder = new EventRecorder({ ...options, kinds: controllers.map((one) => one.for) });
  return {
    name: "controllers",
    get hasSynced() {
      return informers.hasSynced;
    },
    run: (signal) =>
      supervise(
        [
          ...(options.informers ? [] : [informers]),
          recorder,
          ...controllers.map((one) => new ControllerRun(one, informers, recorder, options)),
        ],
        signal,
      ),
  };
}

class ControllerRun implements Component {
  readonly name: string;
  readonly #controller: Controller<AnyKind>;
  readonly #informers: Informers;
  readonly #recorder: EventRecorder;
  readonly #options: ControllersOptions;
  readonly #queue: WorkQueue;
  readonly #ownWrites: OwnWrites;
  readonly #pace: WriteLimiter;
  readonly #rests: Cooldown;
  readonly #triggers = new Triggers();
  readonly #kinds: ReadonlySet<AnyKind>;
  readonly #cache: CacheView;
  readonly #client: Client;

  constructor(one: Controller<AnyKind>, informers: Informers, recorder: EventRecorder, options: ControllersOptions) {
    this.name = one.name;
    this.#controller = one;
    this.#informers = informers;
    this.#recorder = recorder;
    this.#options = options;
    this.#queue = measuredQueue({
      name: one.queue ?? one.name,
      clock: options.clock,
      metrics: options.metrics,
      backoff: one.backoff,
    });
    this.#ownWrites = new OwnWrites((key) => this.#queue.add(key));
    this.#pace = new WriteLimiter(options.clock);
    this.#rests = new Cooldown(options.clock);
    this.#kinds = kindsOf(one);
    this.#client = options.clientFor?.(one.name) ?? options.client;
    this.#cache = cacheView((kind) => {
      if (!this.#kinds.has(kind))
        throw new Error(`controller ${one.name} reads ${kind.plural} without saying so in owns, watches or reads`);
      return informers.of(kind).cache;
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 5, resyncMs } = this.#controller;
    const stops = this.#listen();
    try {
      await Promise.all([...this.#kinds].map((kind) => this.#informers.of(kind).synced(signal)));
      const parts: Component[] = Array.from({ length: workers }, (_, i) => ({
        name: `${this.name} ${i}`,
        run: (stop) => this.#work(stop),
      }));
      if (resyncMs !== undefined)
        parts.push({ name: `${this.name} resync`, run: (stop) => this.#resync(resyncMs, stop) });
      await supervise(parts, signal);
    } finally {
      for (const stop of stops) stop();
      this.#ownWrites.close();
      this.#queue.close();
    }
  }

  /** Turns changes into keys. Nothing else happens when something changes. */
  #listen(): (() => void)[] {
    const { for: subject, owns = [], watches = [], batchMs = 0 } = this.#controller;
    const add = (key: string) => this.#queue.addAfter(key, Math.max(batchMs, this.#rests.leftMs(key)));
    const wake = (key: string, kind: AnyKind, { old, object }: InformerChange<unknown>) => {
      this.#triggers.note(key, kind, object ?? old);
      add(key);
    };
    const owner = (kind: AnyKind, change: InformerChange<unknown>) => {
      for (const one of [change.old, change.object]) {
        const reference = controllerOf(one ?? {});
        if (reference?.kind !== subject.kind || groupOf(reference.apiVersion) !== subject.group) continue;
        const namespace = subject.scope === "Namespaced" ? metadataOf(one).namespace : undefined;
        wake(keyOf({ namespace, name: reference.name }), kind, change);
      }
    };
    return [
      this.#informers.of(subject).onChange(({ key, old, object }) => {
        if (!this.#concerns(old) && !this.#concerns(object)) return;
        if (asksTheSame(old, object)) add(key);
        else this.#queue.add(key);
      }),
      ...owns.map((kind) => this.#informers.of(kind).onChange((change) => owner(kind, change))),
      ...watches.map(({ kind, wakes, matters, exceptNew }) =>
        this.#informers.of(kind).onChange((change) => {
          const { old, object } = change;
          if (exceptNew && old === undefined) return;
          if (old !== undefined && object !== undefined && matters?.(old, object) === false) return;
          for (const one of [old, object])
            if (one !== undefined) for (const place of wakes(one, this.#cache)) wake(keyOf(place), kind, change);
        }),
      ),
    ];
  }

  #concerns(object: Infer<AnyKind> | undefined): boolean {
    return object !== undefined && (this.#controller.concerns?.(object, this.#cache) ?? true);
  }

  async #resync(everyMs: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(everyMs, signal);
      for (const key of this.#informers.of(this.#controller.for).cache.keys()) this.#queue.add(key);
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.next(signal);
      try {
        await this.#process(key, signal);
      } finally {
        this.#queue.done(key);
      }
      signal.throwIfAborted();
    }
  }

  async #process(key: string, signal: AbortSignal): Promise<void> {
    if (!this.#ownWrites.isSeen(key)) return;
    const waitMs = this.#pace.waitMs(key);
    if (waitMs > 0) return this.#queue.addAfter(key, waitMs);
    const { clock, metrics = noMetrics } = this.#options;
    const start = clock.elapsed();
    const labels = { controller: this.name };
    try {
      const again = await this.#reconcile(key, signal);
      this.#queue.forget(key);
      if (again) this.#queue.addAfter(key, again.afterMs);
      metrics.count("controller_runtime_reconcile_total", { ...labels, result: again ? "requeue_after" : "success" });
    } catch (error) {
      if (signal.aborted) return;
      metrics.count("controller_runtime_reconcile_total", { ...labels, result: "error" });
      this.#failed(key, error);
    } finally {
      const tookMs = clock.elapsed() - start;
      this.#rests.took(key, tookMs);
      metrics.observe("controller_runtime_reconcile_time_seconds", labels, tookMs / 1000);
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { for: subject, gone } = this.#controller;
    const object = this.#informers.of(subject).cache.get(key);
    const place = placeOf(key);
    const triggers = this.#triggers.take(key);
    if (object === undefined && !gone) return undefined;
    let hasWritten = false;
    const updated: ApiObject[] = [];
    const client = this.#client.bound({
      signal,
      because: causesOf(causeOf(subject, key, metadataOf(object ?? {}).resourceVersion), triggers),
      onWrite: (write) => {
        hasWritten = true;
        if (write.verb === "update" || write.verb === "patch") updated.push(write.object);
        this.#note(key, write);
      },
    });
    const context = this.#context(client, signal, object ?? { ...this.#name, metadata: place });
    try {
      const again = await (object === undefined ? gone?.(place, context) : this.#controller.reconcile(object, context));
      return again || undefined;
    } catch (error) {
      this.#triggers.giveBack(key, triggers);
      throw error;
    } finally {
      if (hasWritten) this.#pace.wrote(key, { object, updated });
    }
  }

  get #name() {
    const { apiVersion, kind } = this.#controller.for;
    return { apiVersion, kind };
  }

  #context(client: Client, signal: AbortSignal, object: object): Reconcile {
    const { clock, random, log, host } = this.#options;
    const component = this.#controller.reportsAs ?? `${this.name}-controller`;
    return {
      client,
      signal,
      cache: this.#cache,
      clock,
      random,
      log: log.with({ controller: this.name }),
      event: (type, reason, message, about = object) =>
        this.#recorder.record(about, { type, reason, message, component, ...(host !== undefined && { host }) }),
    };
  }

  #note(key: string, { kind, object }: ClientWrite): void {
    if (this.#kinds.has(kind)) this.#ownWrites.note(key, this.#informers.of(kind), object);
  }

  #failed(key: string, error: unknown): void {
    const { log } = this.#options;
    const fields = { controller: this.name, key, error };
    if (error instanceof TerminalError) {
      this.#queue.forget(key);
      log.error("reconcile gave up", fields);
      return;
    }
    const afterSeconds = error instanceof ApiError ? error.details?.retryAfterSeconds : undefined;
    this.#queue.retry(key, afterSeconds ? afterSeconds * 1000 : undefined);
    if (isConflict(error)) log.debug("reconcile met a conflict", { ...fields, error: explain(error) });
    else log.warn("reconcile failed", fields);
  }
}

/** Whether only the status of an object has changed, or something of no account. */
function asksTheSame(old: unknown, object: unknown): boolean {
  if (old === undefined || object === undefined) return false;
  const [before, after] = [metadataOf(old), metadataOf(object)];
  return before.generation === after.generation && before.deletionTimestamp === after.deletionTimestamp;
}
