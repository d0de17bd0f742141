// Deletes what has lost all its owners, sets free what its owner is to be deleted without, and lets an owner that is deleted in
// the foreground go once nothing blocks it any more.

import { Event as CoreEvent } from "#api/core/v1/event.ts";
import { Event as EventsEvent } from "#api/events/v1/event.ts";
import type { Clock } from "#base/clock.ts";
import { inBatches } from "#base/collections.ts";
import { explain, isConflict, isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#base/metrics.ts";
import type { WorkQueue } from "#base/queue.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Informers } from "#client/informers.ts";
import { measuredQueue } from "#client/queue-metrics.ts";
import { groupOf } from "#schema/api-version.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { ObjectMeta, OwnerReference } from "#schema/object-meta.ts";
import type { Discovery } from "../namespace.ts";
import { foregroundFinalizer, isMeant, type Node, nodeOf, OwnerGraph, orphanFinalizer } from "./graph.ts";

const workers = 20;
const discoveryMs = 30_000;
const patchesAtOnce = 20;
/** Events own nothing and are owned by nothing, and there are many. */
const ignored: ReadonlySet<AnyKind> = new Set<AnyKind>([CoreEvent, EventsEvent]);

export interface GarbageCollectorOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly discover: Discovery;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly recorder?: EventRecorder;
}

/** What becomes of the owners an object names. */
interface Owners {
  readonly solid: readonly OwnerReference[];
  readonly dangling: readonly OwnerReference[];
  /** Those that are deleted in the foreground, and wait for this object among others. */
  readonly waiting: readonly OwnerReference[];
}

export class GarbageCollector implements Component {
  readonly name = "garbage-collector";
  readonly #options: GarbageCollectorOptions;
  readonly #graph = new OwnerGraph();
  readonly #queue: WorkQueue;
  /** Kinds that are followed, by group and kind. */
  readonly #kinds = new Map<string, AnyKind>();
  readonly #stops: (() => void)[] = [];

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#queue = measuredQueue({ name: "garbage_collector_attempt_to_delete", ...options });
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#discover(signal);
      const working = Array.from({ length: workers }, (_, i) => ({
        name: `${this.name} ${i}`,
        run: (stop: AbortSignal) => this.#work(stop),
      }));
      await supervise([{ name: `${this.name} discovery`, run: (stop) => this.#rediscover(stop) }, ...working], signal);
    } finally {
      for (const stop of this.#stops) stop();
      this.#queue.close();
    }
  }

  async #rediscover(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(discoveryMs, signal);
      await this.#discover(signal);
    }
  }

  /** Follows kinds that are new, and waits until all that is of them is known: who is not known yet must not count as gone. */
  async #discover(signal: AbortSignal): Promise<void> {
    const { discover, informers, log } = this.#options;
    let kinds: readonly AnyKind[];
    try {
      kinds = await discover();
    } catch (error) {
      log.warn("kinds not discovered, garbage is collected among those known so far", { error });
      return;
    }
    for (const kind of kinds) {
      const name = `${kind.group}/${kind.kind}`;
      if (this.#kinds.has(name) || ignored.has(kind)) continue;
      if (!(["list", "watch", "delete"] as const).every((verb) => kind.verbs.includes(verb))) continue;
      this.#kinds.set(name, kind);
      this.#stops.push(informers.of(kind).onChange(({ old, object }) => this.#changed(kind, old, object)));
    }
    await Promise.all([...this.#kinds.values()].map((kind) => informers.of(kind).synced(signal)));
  }

  #changed(kind: AnyKind, old: unknown, object: unknown): void {
    const before = old === undefined ? undefined : metadataOf(old).uid;
    const node = object === undefined ? undefined : nodeOf(kind, object);
    if (before !== undefined && before !== node?.uid) this.#add(this.#graph.delete(before));
    if (node) this.#add(this.#graph.set(node));
  }

  #add(uids: readonly string[]): void {
    for (const uid of uids) this.#queue.add(uid);
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const client = this.#options.client.bound({ signal });
    for (;;) {
      const uid = await this.#queue.next(signal);
      const node = this.#graph.get(uid);
      try {
        if (node) await this.#process(node, client);
        this.#queue.forget(uid);
      } catch (error) {
        if (signal.aborted) throw error;
        this.#queue.retry(uid);
        const fields = { kind: node?.kind.kind, namespace: node?.namespace, name: node?.name, error };
        if (isConflict(error)) log.debug("garbage collection met a conflict", { ...fields, error: explain(error) });
        else log.warn("garbage collection failed", fields);
      } finally {
        this.#queue.done(uid);
      }
    }
  }

  async #process(node: Node, client: Client): Promise<void> {
    if (node.orphans) return this.#orphan(node, client);
    if (node.awaitsDependents) return this.#await(node, client);
    if (node.isDeleted || node.owners.length === 0) return;
    const latest = await this.#latest(node, client);
    if (!latest?.ownerReferences || latest.deletionTimestamp !== undefined) return;
    const owners = await this.#classify(node, latest.ownerReferences, client);
    if (owners.solid.length === 0) return this.#delete(node, latest, owners, client);
    const lost = new Set([...owners.dangling, ...owners.waiting].map(({ uid }) => uid));
    if (lost.size > 0) await disown(node, latest, (owner) => !lost.has(owner.uid), client);
  }

  async #delete(node: Node, latest: ObjectMeta, { waiting }: Owners, client: Client): Promise<void> {
    const isWaitedFor = waiting.length > 0 && this.#graph.dependents(node.uid).length > 0;
    const propagation = isWaitedFor ? "Foreground" : propagationOf(latest);
    const preconditions = { uid: node.uid, resourceVersion: latest.resourceVersion ?? "" };
    await unlessGone(client.delete(node.kind, node, { propagation, preconditions }));
  }

  async #orphan(node: Node, client: Client): Promise<void> {
    await inBatches(patchesAtOnce, this.#graph.dependents(node.uid), async (dependent) => {
      const latest = await this.#latest(dependent, client);
      if (latest?.ownerReferences?.some(({ uid }) => uid === node.uid))
        await disown(dependent, latest, ({ uid }) => uid !== node.uid, client);
    });
    await this.#removeFinalizer(node, orphanFinalizer, client);
  }

  async #await(node: Node, client: Client): Promise<void> {
    const blockers = this.#graph.blockers(node.uid);
    if (blockers.length === 0) return this.#removeFinalizer(node, foregroundFinalizer, client);
    this.#add(blockers.filter(({ awaitsDependents }) => !awaitsDependents).map(({ uid }) => uid));
  }

  async #removeFinalizer(node: Node, finalizer: string, client: Client): Promise<void> {
    const latest = await this.#latest(node, client);
    if (!latest?.finalizers?.includes(finalizer)) return;
    const { resourceVersion } = latest;
    const finalizers = latest.finalizers.filter((one) => one !== finalizer);
    await unlessGone(client.patch(node.kind, node, "merge", { metadata: { resourceVersion, finalizers } }));
  }

  async #classify(node: Node, references: readonly OwnerReference[], client: Client): Promise<Owners> {
    const owners = { solid: [] as OwnerReference[], dangling: [] as OwnerReference[], waiting: [] as OwnerReference[] };
    for (const reference of references) {
      const present = this.#graph.get(reference.uid);
      const isKnown = present !== undefined && isMeant(reference, present, node);
      const owner = isKnown ? present : await this.#find(node, reference, present, client);
      if (!owner) owners.dangling.push(reference);
      else if (owner.awaitsDependents) owners.waiting.push(reference);
      else owners.solid.push(reference);
    }
    return owners;
  }

  /** An owner that is not known here may still be there: only the server's word counts. */
  async #find(
    node: Node,
    { uid, name, ...reference }: OwnerReference,
    elsewhere: Node | undefined,
    client: Client,
  ): Promise<Node | undefined> {
    const kind = this.#kinds.get(`${groupOf(reference.apiVersion)}/${reference.kind}`);
    if (!kind) throw new Error(`owner ${name} is of the unknown kind ${reference.apiVersion}, ${reference.kind}`);
    if (kind.scope === "Namespaced" && node.namespace === undefined) {
      this.#reportPlace(node, `ownerRef [${kind.apiVersion}/${kind.kind}, name: ${name}, uid: ${uid}] is namespaced`);
      return nodeOf(kind, { metadata: { uid, name } }); // it can never be found, so nothing is ever known of its end
    }
    const namespace = kind.scope === "Namespaced" ? node.namespace : undefined;
    const owner = await client.find(kind, { namespace, name });
    if (owner && metadataOf(owner).uid === uid) return nodeOf(kind, owner);
    if (elsewhere)
      this.#reportPlace(
        node,
        `ownerRef [${kind.apiVersion}/${kind.kind}, namespace: ${namespace ?? ""}, name: ${name}, uid: ${uid}] does not exist in namespace "${namespace ?? ""}"`,
      );
    return undefined;
  }

  #reportPlace({ kind, uid, namespace, name }: Node, message: string): void {
    const about = { apiVersion: kind.apiVersion, kind: kind.kind, uid, namespace, name };
    const report = { type: "Warning", reason: "OwnerRefInvalidNamespace", message } as const;
    this.#options.recorder?.record(about, { ...report, component: "garbage-collector-controller" });
  }

  /** The metadata of the object as the server has it; undefined if it is gone, or another one by that name. */
  async #latest(node: Node, client: Client): Promise<ObjectMeta | undefined> {
    const object = await client.find(node.kind, node);
    const metadata = metadataOf(object ?? {});
    return metadata.uid === node.uid ? metadata : undefined;
  }
}

/** An object keeps the fate of its own dependents that its finalizers ask for. */
function propagationOf({ finalizers = [] }: ObjectMeta): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}

async function disown(
  { kind, namespace, name }: Node,
  { resourceVersion, ownerReferences = [] }: ObjectMeta,
  keeps: (owner: OwnerReference) => boolean,
  client: Client,
): Promise<void> {
  const patch = { metadata: { resourceVersion, ownerReferences: ownerReferences.filter(keeps) } };
  await unlessGone(client.patch(kind, { namespace, name }, "merge", patch));
}

async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
