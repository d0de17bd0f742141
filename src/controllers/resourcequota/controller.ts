// Counts anew what namespaces use of their quotas: when limits change, when something is given back, and every five minutes.
//
// What is taken is charged by the API server as it is written; here it is only put right. Any kind can be limited, so this is a
// component of its own: it follows the kinds that quotas name, as they name them.
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import type { Clock } from "#base/clock.ts";
import { explain, isConflict, isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#base/metrics.ts";
import type { WorkQueue } from "#base/queue.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { Informers } from "#client/informers.ts";
import { keyOfObject } from "#client/place.ts";
import { measuredQueue } from "#client/queue-metrics.ts";
import type { Evaluator } from "#rules/quota/evaluator.ts";
import { evaluatorOf } from "#rules/quota/list.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiObject, metadataOf } from "#schema/object.ts";
import type { Discovery } from "../namespace.ts";
import { RecentCharges, settleMs } from "./charges.ts";
import { type Counted, givesBack, namesOf, recount, sameAmounts, statusAfter } from "./usage.ts";

const workers = 5;
const resyncMs = 300_000;
const discoveryMs = 30_000;
/** A namespace that is being emptied gives back everything, one object after the other. */
const batchMs = 100;

export interface ResourceQuotaControllerOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly discover: Discovery;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
}

interface Followed {
  readonly kind: AnyKind;
  readonly evaluator: Evaluator;
}

export class ResourceQuotaController implements Component {
  readonly name = "resourcequota";
  readonly #options: ResourceQuotaControllerOptions;
  readonly #quotas: Informer<typeof ResourceQuota>;
  readonly #queue: WorkQueue;
  readonly #charges: RecentCharges;
  /** Kinds that can be counted, by group and resource. */
  readonly #kinds = new Map<string, Followed>();
  /** What ends the following of each kind that is followed. */
  readonly #stops = new Map<AnyKind, () => void>();

  constructor(options: ResourceQuotaControllerOptions) {
    this.#options = options;
    this.#quotas = options.informers.of(ResourceQuota);
    this.#queue = measuredQueue({ name: "resourcequota_primary", ...options });
    this.#charges = new RecentCharges(options.clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#quotas.onChange(({ key, old, object }) => this.#quotaChanged(key, old, object));
    const every = (name: string, ms: number, work: () => Promise<void> | void): Component => ({
      name: `${this.name} ${name}`,
      run: async (ended) => {
        for (;;) {
          await this.#options.clock.sleep(ms, ended);
          await work();
        }
      },
    });
    try {
      await this.#quotas.synced(signal);
      await this.#discover();
      const working = Array.from({ length: workers }, (_, i) => ({
        name: `${this.name} ${i}`,
        run: (ended: AbortSignal) => this.#work(ended),
      }));
      const loops = [
        every("resync", resyncMs, () => this.#addAll()),
        every("discovery", discoveryMs, () => this.#discover()),
      ];
      await supervise([...loops, ...working], signal);
    } finally {
      stop();
      for (const end of this.#stops.values()) end();
      this.#stops.clear();
    }
  }

  /** What the API server charges changes a quota, too, and needs no counting. */
  #quotaChanged(key: string, old: ResourceQuota | undefined, quota: ResourceQuota | undefined): void {
    if (!quota) {
      this.#charges.forget(key);
      return;
    }
    this.#charges.note(key, old, quota);
    if (!old || !sameAmounts(old.spec.hard, quota.spec.hard) || !sameAmounts(quota.spec.hard, quota.status.hard))
      this.#queue.add(key);
  }

  #addAll(): void {
    for (const key of this.#quotas.cache.keys()) this.#queue.add(key);
  }

  /** Learns of new kinds; quotas that name one are counted. */
  async #discover(): Promise<void> {
    const { discover, log } = this.#options;
    try {
      for (const kind of await discover()) {
        const id = `${kind.group}/${kind.plural}`;
        if (this.#kinds.has(id) || !kind.verbs.includes("list") || !kind.verbs.includes("watch")) continue;
        const evaluator = evaluatorOf(kind);
        if (!evaluator) continue;
        this.#kinds.set(id, { kind, evaluator });
        for (const quota of this.#quotas.cache.list())
          if (namesOf(quota, evaluator).length > 0) this.#queue.add(keyOfObject(quota));
      }
    } catch (error) {
      log.warn("kinds not discovered, quotas are kept for those known so far", { error });
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    for (;;) {
      const key = await this.#queue.next(signal);
      try {
        await this.#sync(key, signal);
        this.#queue.forget(key);
      } catch (error) {
        if (signal.aborted) throw error;
        this.#queue.retry(key);
        if (isConflict(error)) log.debug("quota changed meanwhile", { key, error: explain(error) });
        else log.warn("quota not counted", { key, error });
      } finally {
        this.#queue.done(key);
      }
    }
  }

  async #sync(key: string, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const present = this.#quotas.cache.get(key);
    if (!present) return;
    const concerned = [...this.#kinds.values()].filter(({ evaluator }) => namesOf(present, evaluator).length > 0);
    await Promise.all(concerned.map((one) => this.#follow(one, signal)));
    const quota = this.#quotas.cache.get(key);
    if (!quota) return;
    const counted = concerned.map((one) => this.#countedIn(quota.metadata.namespace ?? "", one));
    const usage = await recount(quota, counted, clock.now());
    const { status, isChanged, isHeld } = statusAfter(quota, usage, this.#charges.of(key));
    if (isHeld) this.#queue.addAfter(key, settleMs);
    if (!isChanged) return;
    try {
      await client.bound({ signal }).update(ResourceQuota, { ...quota, status }, "status");
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Objects are read as what evaluators take: any object of their kind. */
  #countedIn(namespace: string, { kind, evaluator }: Followed): Counted {
    return { evaluator, objects: this.#options.informers.of(kind).cache.list(namespace) as readonly ApiObject[] };
  }

  async #follow({ kind, evaluator }: Followed, signal: AbortSignal): Promise<void> {
    const informer = this.#options.informers.of(kind);
    if (!this.#stops.has(kind)) {
      const listen = informer.onChange(({ old, object }) => {
        if (old !== undefined) this.#changed(evaluator, old as ApiObject, object as ApiObject | undefined);
      });
      this.#stops.set(kind, listen);
    }
    await informer.synced(signal);
  }

  #changed(evaluator: Evaluator, old: ApiObject, object: ApiObject | undefined): void {
    const now = this.#options.clock.now();
    for (const quota of this.#quotas.cache.list(metadataOf(old).namespace ?? ""))
      if (givesBack(quota, evaluator, [old, object], now)) this.#queue.addAfter(keyOfObject(quota), batchMs);
  }
}
