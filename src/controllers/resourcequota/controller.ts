// Counts anew what namespaces use of their quotas: when limits change, when something is given back, and every five minutes.
//
// The API server charges each write to the quotas; this controller only corrects the sums. Any kind can be limited, so this is a component
// of its own, which follows the kinds that quotas name. A kind that cannot be listed is not counted: its usage stays as it was.
// Upstream: pkg/controller/resourcequota/resource_quota_controller.go and pkg/controller/resourcequota/resource_quota_monitor.go.
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import type { Clock } from "#base/clock.ts";
import { explain, isConflict } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#base/metrics.ts";
import type { WorkQueue } from "#base/queue.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Client } from "#client/client.ts";
import { type Discovery, followDiscovery, type Occasion } from "#client/discovery.ts";
import { FollowedKinds } from "#client/followed-kinds.ts";
import type { Informer } from "#client/informer.ts";
import type { Informers } from "#client/informers.ts";
import { keyOfObject, resourceName } from "#client/object-key.ts";
import { measuredQueue } from "#client/queue-metrics.ts";
import { unlessGone } from "#client/unless-gone.ts";
import type { Evaluator } from "#rules/quota/evaluator.ts";
import { evaluatorOf } from "#rules/quota/list.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiObject, metadataOf } from "#schema/object.ts";
import { RecentCharges, settleMs } from "./charges.ts";
import { givesBack, type KindUsage, namesOf, recount, sameAmounts, statusAfter } from "./usage.ts";

const workers = 5;
const resyncMs = 300_000;
const discoveryMs = 30_000;
/** How long to wait for the first list of a kind. After that the kind is not counted until it has been listed. */
const firstListMs = 5000;
/** A namespace that is being emptied gives back everything, one object after the other. */
const batchMs = 100;

export interface ResourceQuotaControllerOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly discovery: Discovery;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
}

/** A kind that can be counted. It is followed once a quota names it. */
class Countable {
  readonly kind: AnyKind;
  readonly evaluator: Evaluator;
  informer: Informer<AnyKind> | undefined;
  stop: (() => void) | undefined;
  /** Until when its first list is waited for. */
  patience = 0;

  constructor(kind: AnyKind, evaluator: Evaluator) {
    this.kind = kind;
    this.evaluator = evaluator;
  }
}

export class ResourceQuotaController implements Component {
  readonly name = "resourcequota";
  readonly #options: ResourceQuotaControllerOptions;
  readonly #quotas: Informer<typeof ResourceQuota>;
  readonly #queue: WorkQueue;
  readonly #charges: RecentCharges;
  readonly #kinds = new FollowedKinds<Countable>({
    isWanted: (kind) => kind.verbs.includes("list") && kind.verbs.includes("watch") && evaluatorOf(kind) !== undefined,
    begin: (kind) => this.#begin(kind),
    end: (countable) => this.#end(countable),
  });

  constructor(options: ResourceQuotaControllerOptions) {
    this.#options = options;
    this.#quotas = options.informers.of(ResourceQuota);
    this.#queue = measuredQueue({ name: "resourcequota_primary", ...options });
    this.#charges = new RecentCharges(options.clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#quotas.onChange(({ key, old, object }) => this.#quotaChanged(key, old, object));
    const { clock, discovery } = this.#options;
    const discovered = Promise.withResolvers<void>();
    const look = async (occasion: Occasion, ended: AbortSignal) => {
      await this.#discover(occasion, ended);
      discovered.resolve();
    };
    try {
      await this.#quotas.synced(signal);
      const working = Array.from({ length: workers }, (_, i) => ({
        name: `${this.name} ${i}`,
        run: async (ended: AbortSignal) => {
          await unlessAborted(discovered.promise, ended);
          await this.#work(ended);
        },
      }));
      const loops = [
        { name: `${this.name} resync`, run: (ended: AbortSignal) => this.#resync(ended) },
        {
          name: `${this.name} discovery`,
          run: (ended: AbortSignal) => followDiscovery(discovery, { clock, everyMs: discoveryMs, look }, ended),
        },
      ];
      await supervise([...loops, ...working], signal);
    } finally {
      stop();
      for (const countable of this.#kinds.values()) countable.stop?.();
    }
  }

  async #resync(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(resyncMs, signal);
      for (const key of this.#quotas.cache.keys()) this.#queue.add(key);
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

  async #discover(occasion: Occasion, signal: AbortSignal): Promise<void> {
    const { discovery, log } = this.#options;
    try {
      this.#kinds.update(await discovery.discover(signal), occasion);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn("kinds not discovered, quotas are kept for those known so far", { error });
    }
  }

  /** Adds a kind and recounts the quotas that name it. */
  #begin(kind: AnyKind): Countable {
    const evaluator = evaluatorOf(kind);
    if (!evaluator) throw new Error(`${resourceName(kind)} cannot be counted`);
    for (const quota of this.#quotas.cache.list())
      if (namesOf(quota, evaluator).length > 0) this.#queue.add(keyOfObject(quota));
    return new Countable(kind, evaluator);
  }

  #end({ kind, stop }: Countable): void {
    stop?.();
    this.#options.informers.dropUnwatched(kind);
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
    const concerned = this.#kinds.values().filter(({ evaluator }) => namesOf(present, evaluator).length > 0);
    const counted = (await Promise.all(concerned.map((one) => this.#isListed(one, signal)))).flatMap((isListed, i) =>
      isListed && concerned[i] ? concerned[i] : [],
    );
    const quota = this.#quotas.cache.get(key);
    if (!quota) return;
    const objects = counted.map((one) => this.#countedIn(quota.metadata.namespace ?? "", one));
    const usage = await recount(quota, objects, clock.now());
    const { status, isChanged, isHeld } = statusAfter(quota, usage, this.#charges.of(key));
    if (isHeld) this.#queue.addAfter(key, settleMs);
    if (isChanged) await unlessGone(client.bound({ signal }).update(ResourceQuota, { ...quota, status }, "status"));
    const missing = concerned.filter((one) => !counted.includes(one)).map(({ kind }) => resourceName(kind));
    if (missing.length > 0) throw new Error(`not counted, since they could not be listed: ${missing.join(", ")}`);
  }

  /** Objects are read as what evaluators take: any object of their kind. */
  #countedIn(namespace: string, { informer, evaluator }: Countable): KindUsage {
    return { evaluator, objects: (informer?.cache.list(namespace) ?? []) as readonly ApiObject[] };
  }

  /** Whether the objects of a kind are known. It is followed from now on. */
  async #isListed(countable: Countable, signal: AbortSignal): Promise<boolean> {
    const { informers, clock } = this.#options;
    const informer = informers.optional(countable.kind);
    if (countable.informer !== informer) this.#follow(countable, informer);
    if (informer.hasSynced) return true;
    const late = new AbortController();
    const cancel = clock.after(Math.max(0, countable.patience - clock.elapsed()), () => late.abort());
    try {
      await informer.synced(AbortSignal.any([signal, late.signal]));
      return true;
    } catch {
      signal.throwIfAborted();
      return false; // it takes too long, or the kind was dropped
    } finally {
      cancel();
    }
  }

  #follow(countable: Countable, informer: Informer<AnyKind>): void {
    countable.stop?.();
    countable.informer = informer;
    countable.patience = this.#options.clock.elapsed() + firstListMs;
    countable.stop = informer.onChange(({ old, object }) => {
      if (old !== undefined) this.#changed(countable.evaluator, old as ApiObject, object as ApiObject | undefined);
    });
  }

  #changed(evaluator: Evaluator, old: ApiObject, object: ApiObject | undefined): void {
    const now = this.#options.clock.now();
    for (const quota of this.#quotas.cache.list(metadataOf(old).namespace ?? ""))
      if (givesBack(quota, evaluator, [old, object], now)) this.#queue.addAfter(keyOfObject(quota), batchMs);
  }
}
