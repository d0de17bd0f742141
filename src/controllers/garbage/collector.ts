// Deletes objects that have lost all their owners, removes owner references to an owner that is deleted with orphaning, and removes the
// finalizer of an owner that is deleted in the foreground once nothing blocks it any more.
//
// Any kind can own any other, and kinds come and go. Nothing waits for a kind that cannot be listed: whether an owner exists is asked of
// the server. Objects whose owner is of an unknown kind stay until the kind is known, since the owner may exist.
// Upstream: pkg/controller/garbagecollector/garbagecollector.go.
import type { Clock } from "#base/clock.ts";
import { inBatches } from "#base/collections.ts";
import { explain, isConflict } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#base/metrics.ts";
import type { WorkQueue } from "#base/queue.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Client } from "#client/client.ts";
import { type Discovery, type DiscoveryResult, followDiscovery, type Occasion } from "#client/discovery.ts";
import type { EventRecorder } from "#client/events.ts";
import { FollowedKinds } from "#client/followed-kinds.ts";
import type { Informer } from "#client/informer.ts";
import type { Informers } from "#client/informers.ts";
import { Lru } from "#client/lru.ts";
import { resourceName } from "#client/object-key.ts";
import { measuredQueue } from "#client/queue-metrics.ts";
import { unlessGone } from "#client/unless-gone.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { ObjectMeta, OwnerReference } from "#schema/object-meta.ts";
import {
  foregroundFinalizer,
  groupKindOf,
  isMeant,
  type Node,
  nodeOf,
  OwnerGraph,
  orphanFinalizer,
  ownerGroupKind,
} from "./graph.ts";

const workers = 20;
const discoveryMs = 30_000;
/** How long the first lists are waited for. Collection begins without those that take longer. */
const firstListsMs = 30_000;
const patchesAtOnce = 20;
/** How many deleted owners are remembered. */
const absentOwners = 500;
/** Events own nothing and are owned by nothing, and there are many. */
const ignored: ReadonlySet<string> = new Set(["events", "events.events.k8s.io"]);

export interface GarbageCollectorOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly discovery: Discovery;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly recorder?: EventRecorder;
}

/** The owner references of an object, by the state of the owner. */
interface Owners {
  readonly solid: readonly OwnerReference[];
  readonly dangling: readonly OwnerReference[];
  /** Those that are deleted in the foreground, and wait for this object among others. */
  readonly waiting: readonly OwnerReference[];
}

/** The owner is of a kind that is not served, or not yet. */
class UnknownKind extends Error {}

interface InformerHandle {
  readonly kind: AnyKind;
  readonly informer: Informer<AnyKind>;
  readonly stop: () => void;
}

export class GarbageCollector implements Component {
  readonly name = "garbage-collector";
  readonly #options: GarbageCollectorOptions;
  readonly #graph = new OwnerGraph();
  readonly #queue: WorkQueue;
  readonly #followed = new FollowedKinds<InformerHandle>({
    isWanted: (kind) =>
      !ignored.has(resourceName(kind)) &&
      (["list", "watch", "delete"] as const).every((verb) => kind.verbs.includes(verb)),
    begin: (kind) => this.#follow(kind),
    end: (followed) => this.#unfollow(followed),
  });
  /** All kinds that are served, by group and kind: those of owners. */
  #kinds: ReadonlyMap<string, AnyKind> = new Map();
  /** Owners whose deletion was seen: their kind may be removed next, and then the server cannot be asked. */
  readonly #absent = new Lru<true>(absentOwners);

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#queue = measuredQueue({ name: "garbage_collector_attempt_to_delete", ...options });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { discovery, clock } = this.#options;
    const discovered = Promise.withResolvers<void>();
    const look = async (occasion: Occasion, stop: AbortSignal) => {
      await this.#discover(occasion, stop);
      discovered.resolve();
    };
    const working = Array.from({ length: workers }, (_, i) => ({
      name: `${this.name} ${i}`,
      run: (stop: AbortSignal) => this.#work(stop),
    }));
    const collecting = async (stop: AbortSignal) => {
      await unlessAborted(discovered.promise, stop);
      await this.#firstLists(stop);
      await supervise(working, stop);
    };
    try {
      await supervise(
        [
          {
            name: `${this.name} discovery`,
            run: (stop) => followDiscovery(discovery, { clock, everyMs: discoveryMs, look }, stop),
          },
          { name: `${this.name} workers`, run: collecting },
        ],
        signal,
      );
    } finally {
      for (const { stop } of this.#followed.values()) stop();
      this.#queue.close();
    }
  }

  async #discover(occasion: Occasion, signal: AbortSignal): Promise<void> {
    const { discovery, log } = this.#options;
    let discovered: DiscoveryResult;
    try {
      discovered = await discovery.discover(signal);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn("kinds not discovered, garbage is collected among those known so far", { error });
      return;
    }
    this.#followed.update(discovered, occasion);
    this.#learn(discovered, occasion);
  }

  /** Takes over the newly discovered kinds. Objects whose owner is of one of these kinds are looked at again. */
  #learn({ kinds, failures }: DiscoveryResult, occasion: Occasion): void {
    if (kinds.length === 0) return;
    const served = new Map<string, AnyKind>();
    for (const kind of kinds) if (!served.has(groupKindOf(kind))) served.set(groupKindOf(kind), kind);
    const added = new Set([...served.keys()].filter((name) => !this.#kinds.has(name)));
    for (const [name, kind] of this.#kinds)
      if (!served.has(name) && (occasion === "change" || failures.has(kind.apiVersion))) served.set(name, kind);
    this.#kinds = served;
    if (added.size > 0) this.#add(this.#graph.ownedByKinds(added));
  }

  #follow(kind: AnyKind): InformerHandle {
    const informer = this.#options.informers.optional(kind);
    return { kind, informer, stop: informer.onChange(({ old, object }) => this.#changed(kind, old, object)) };
  }

  /** Drops what is known of the objects of a kind, without taking them for deleted. */
  #unfollow({ kind, stop }: InformerHandle): void {
    stop();
    this.#options.informers.dropUnwatched(kind);
    this.#add(this.#graph.deleteKind(kind));
  }

  /** Resolves when all kinds have been listed, or when that takes too long: one that cannot be listed must not stop the others. */
  async #firstLists(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const late = new AbortController();
    const cancel = clock.after(firstListsMs, () => late.abort(new Error(`not within ${firstListsMs} ms`)));
    try {
      const limit = AbortSignal.any([signal, late.signal]);
      const lists = this.#followed.values().map(({ informer }) => informer.synced(limit));
      const results = await Promise.allSettled(lists);
      signal.throwIfAborted();
      if (results.some(({ status }) => status === "rejected"))
        log.warn("not all kinds could be listed, garbage is collected all the same", {
          kinds: this.#followed
            .values()
            .flatMap(({ kind, informer }) => (informer.hasSynced ? [] : resourceName(kind))),
        });
    } finally {
      cancel();
    }
  }

  #changed(kind: AnyKind, old: unknown, object: unknown): void {
    const before = old === undefined ? undefined : metadataOf(old).uid;
    const node = object === undefined ? undefined : nodeOf(kind, object);
    if (before !== undefined && before !== node?.uid) {
      const affected = this.#graph.delete(before);
      if (affected.length > 0) this.#absent.set(coordinates(groupKindOf(kind), nodeOf(kind, old)), true);
      this.#add(affected);
    }
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
        if (error instanceof UnknownKind) log.debug("an owner is not known", { ...fields, error: explain(error) });
        else if (isConflict(error))
          log.debug("garbage collection met a conflict", { ...fields, error: explain(error) });
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
      const owner = isKnown ? present : await this.#ownerOf(node, reference, present, client);
      if (!owner) owners.dangling.push(reference);
      else if (owner.awaitsDependents) owners.waiting.push(reference);
      else owners.solid.push(reference);
    }
    return owners;
  }

  /** An owner that is not in the graph may exist: unless its deletion was seen, the server is asked. */
  async #ownerOf(
    node: Node,
    reference: OwnerReference,
    elsewhere: Node | undefined,
    client: Client,
  ): Promise<Node | undefined> {
    const { uid, name } = reference;
    const groupKind = ownerGroupKind(reference);
    const wasSeenToGo = [node.namespace, undefined].some((namespace) =>
      this.#absent.get(coordinates(groupKind, { namespace, name, uid })),
    );
    if (wasSeenToGo) return undefined;
    const kind = this.#kinds.get(groupKind);
    if (!kind) throw new UnknownKind(`owner ${name} is of the unknown kind ${reference.apiVersion}, ${reference.kind}`);
    if (kind.scope === "Namespaced" && node.namespace === undefined) {
      this.#reportPlace(node, `ownerRef [${kind.apiVersion}/${kind.kind}, name: ${name}, uid: ${uid}] is namespaced`);
      return nodeOf(kind, { metadata: { uid, name } }); // such an owner can never be looked up, so its deletion is never seen
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

const coordinates = (groupKind: string, { namespace = "", name, uid }: Pick<Node, "namespace" | "name" | "uid">) =>
  [groupKind, namespace, name, uid].join("\n");

/** The propagation policy that the finalizers of an object ask for is kept for its own dependents. */
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
