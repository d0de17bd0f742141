// One controller at work. Its author writes `reconcile`; the rest is here: a queue with back-off, workers, causes of writes, read-your-writes,
// rate limits, events and metrics.
import { ApiError, explain, isConflict } from "#base/errors.ts";
import type { WorkQueue } from "#base/queue.ts";
import { type Component, supervise } from "#base/supervise.ts";
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
import type { EventRecorder } from "./events.ts";
import type { Informers } from "./informers.ts";
import { noMetrics } from "./metrics.ts";
import { causeOf, placeOf } from "./object-key.ts";
import { OwnWrites } from "./own-writes.ts";
import { measuredQueue } from "./queue-metrics.ts";
import type { ControllersOptions } from "./run-controllers.ts";
import { causesOf, Triggers } from "./triggers.ts";
import { WakeUps } from "./wake-ups.ts";
import { WriteLimiter } from "./write-limiter.ts";

/** One controller at work: its queue, its workers, and what its reconciles are given. */
export class ControllerRun implements Component {
  readonly name: string;
  readonly #controller: Controller<AnyKind>;
  readonly #informers: Informers;
  readonly #recorder: EventRecorder;
  readonly #options: ControllersOptions;
  readonly #queue: WorkQueue;
  readonly #ownWrites: OwnWrites;
  readonly #writeLimiter: WriteLimiter;
  readonly #cooldown: Cooldown;
  readonly #triggers = new Triggers();
  readonly #wakeUps: WakeUps;
  readonly #kinds: ReadonlySet<AnyKind>;
  readonly #cache: CacheView;
  readonly #client: Client;

  constructor(
    controller: Controller<AnyKind>,
    informers: Informers,
    recorder: EventRecorder,
    options: ControllersOptions,
  ) {
    this.name = controller.name;
    this.#controller = controller;
    this.#informers = informers;
    this.#recorder = recorder;
    this.#options = options;
    this.#queue = measuredQueue({
      name: controller.queue ?? controller.name,
      clock: options.clock,
      metrics: options.metrics,
      backoff: controller.backoff,
    });
    this.#ownWrites = new OwnWrites((key) => this.#queue.add(key));
    this.#writeLimiter = new WriteLimiter(options.clock);
    this.#cooldown = new Cooldown(options.clock);
    this.#kinds = kindsOf(controller);
    this.#client = options.clientFor?.(controller.name) ?? options.client;
    this.#cache = cacheView((kind) => {
      if (!this.#kinds.has(kind))
        throw new Error(
          `controller ${controller.name} reads ${kind.plural} without saying so in owns, watches or reads`,
        );
      return informers.of(kind).cache;
    });
    const { batchMs = 0 } = controller;
    this.#wakeUps = new WakeUps(controller, informers, this.#cache, {
      add: (key) => this.#queue.add(key),
      addLater: (key) => this.#queue.addAfter(key, Math.max(batchMs, this.#cooldown.leftMs(key))),
      note: (key, kind, object) => this.#triggers.note(key, kind, object),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 5, resyncMs } = this.#controller;
    const stops = this.#wakeUps.listen();
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
    const waitMs = this.#writeLimiter.waitMs(key);
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
      this.#cooldown.took(key, tookMs);
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
      if (hasWritten) this.#writeLimiter.wrote(key, { object, updated });
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
