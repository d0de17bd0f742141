// Reads from the API what the rules need to know. Nothing is decided here.

import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { lastSeen } from "#api/core/v1/columns/event.ts";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { isReason } from "#base/errors.ts";
import type { Client, Selection } from "#client/client.ts";
import { keyOf, type ObjectKey } from "#client/object-key.ts";
import { controllerOf } from "#rules/owners.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import { containersOf, type PodFacts, type PodVerdict } from "./reasons/pod-facts.ts";

export interface Sources {
  readonly client: Client;
  /** The writes that led to an object and followed from it, as far as they are remembered. */
  writesOf(kind: AnyKind, place: ObjectKey): Promise<readonly WriteRecord[]>;
  /** What the scheduler said of each node when it last tried to place a pod, if it tells. */
  verdictsOn(pod: ObjectKey): Promise<readonly PodVerdict[]>;
  /** The last lines that a container wrote, in its last run if it has ended; none if they cannot be read. */
  lastLines(pod: ObjectKey, container: string): Promise<readonly string[]>;
  /** In milliseconds since 1970. */
  now(): number;
}

/** Lists are empty for kinds that the user may not read: the other facts are often enough. */
export async function listAllowed<K extends AnyKind>(
  client: Client,
  kind: K,
  selection: Selection,
): Promise<readonly Infer<K>[]> {
  try {
    return (await client.list(kind, selection)).items;
  } catch (error) {
    if (isReason(error, "Forbidden")) return [];
    throw error;
  }
}

/** About one object, oldest first. Events of what has no namespace are kept in `default`. */
export async function eventsAbout(object: unknown, client: Client): Promise<readonly Event[]> {
  const { namespace = "default", uid = "", name } = metadataOf(object);
  // Kubelets report about their node before they know its uid, and use its name instead.
  const uids = metadataOf(object).namespace === undefined ? [uid, name] : [uid];
  const lists = await Promise.all(
    uids.map((one) => listAllowed(client, Event, { namespace, fieldSelector: `involvedObject.uid=${one}` })),
  );
  return byTime(lists.flat());
}

const timeOf = (event: Event): string => lastSeen(event) ?? event.metadata.creationTimestamp;
const byTime = (events: readonly Event[]): readonly Event[] =>
  events.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)));

/** Of more objects than this, the events are read all at once. */
const fewPods = 5;
/** For at most this many pods scheduler verdicts and logs are read. */
const mostAsked = 5;

export async function podFacts(pods: readonly Pod[], sources: Sources): Promise<readonly PodFacts[]> {
  const { client } = sources;
  const [events, nodes, allNodes, claims, verdicts, lines] = await Promise.all([
    eventsOf(pods, client),
    nodesOf(pods, client),
    pods.some(({ spec }) => !spec.nodeName) ? listAllowed(client, Node, {}) : [],
    claimsOf(pods, client),
    verdictsOf(pods, sources),
    linesOf(pods, sources),
  ]);
  return pods.map((pod) => {
    const { uid = "", namespace } = pod.metadata;
    const names = (pod.spec.volumes ?? []).flatMap((volume) => claimName(pod, volume) ?? []);
    return {
      pod,
      events: events.get(uid) ?? [],
      node: nodes.get(pod.spec.nodeName ?? "") ?? "unread",
      nodes: pod.spec.nodeName ? [] : allNodes,
      claims: new Map(names.map((name) => [name, claims.get(keyOf({ namespace, name }))])),
      verdicts: verdicts.get(uid) ?? [],
      lastLines: lines.get(uid) ?? new Map(),
      deletedBy: undefined,
      now: sources.now(),
    };
  });
}

async function eventsOf(pods: readonly Pod[], client: Client): Promise<ReadonlyMap<string, readonly Event[]>> {
  if (pods.length <= fewPods) {
    const each = pods.map(async (pod) => [pod.metadata.uid ?? "", await eventsAbout(pod, client)] as const);
    return new Map(await Promise.all(each));
  }
  const namespaces = [...new Set(pods.map(({ metadata }) => metadata.namespace))];
  const fieldSelector = "involvedObject.kind=Pod";
  const lists = await Promise.all(
    namespaces.map((namespace) => listAllowed(client, Event, { namespace, fieldSelector })),
  );
  return Map.groupBy(byTime(lists.flat()), ({ involvedObject }) => involvedObject.uid ?? "");
}

async function nodesOf(pods: readonly Pod[], client: Client): Promise<ReadonlyMap<string, PodFacts["node"]>> {
  const names = [...new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []))];
  if (names.length > fewPods) {
    const all = await listAllowed(client, Node, {});
    const known = new Map(all.map((node) => [node.metadata.name, node]));
    return new Map(names.map((name) => [name, known.get(name) ?? (all.length > 0 ? "gone" : "unread")]));
  }
  const each = names.map(async (name) => [name, await readNode(name, client)] as const);
  return new Map(await Promise.all(each));
}

async function readNode(name: string, client: Client): Promise<PodFacts["node"]> {
  try {
    return (await client.find(Node, { name })) ?? "gone";
  } catch (error) {
    if (isReason(error, "Forbidden")) return "unread";
    throw error;
  }
}

async function claimsOf(pods: readonly Pod[], client: Client): Promise<ReadonlyMap<string, PersistentVolumeClaim>> {
  const namespaces = new Set(
    pods.flatMap((pod) => (pod.spec.volumes?.some((volume) => claimName(pod, volume)) ? [pod.metadata.namespace] : [])),
  );
  const lists = await Promise.all(
    [...namespaces].map((namespace) => listAllowed(client, PersistentVolumeClaim, { namespace })),
  );
  return new Map(lists.flat().map((claim) => [keyOf(claim.metadata), claim]));
}

/** An ephemeral volume has a claim of its own, named after the pod. */
const claimName = (
  { metadata }: Pod,
  { persistentVolumeClaim, ephemeral, name }: NonNullable<Pod["spec"]["volumes"]>[number],
): string | undefined => persistentVolumeClaim?.claimName ?? (ephemeral ? `${metadata.name}-${name}` : undefined);

async function verdictsOf(pods: readonly Pod[], sources: Sources): Promise<ReadonlyMap<string, readonly PodVerdict[]>> {
  const waiting = pods.filter(({ spec }) => !spec.nodeName).slice(0, mostAsked);
  const each = waiting.map(async ({ metadata }) => [metadata.uid ?? "", await sources.verdictsOn(metadata)] as const);
  return new Map(await Promise.all(each));
}

/** Of pods whose containers ended in the same way, the log of one says enough. */
async function linesOf(
  pods: readonly Pod[],
  sources: Sources,
): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>> {
  const read = new Set<string>();
  const endedContainers = pods.flatMap((pod) => {
    const ended = containersOf(pod).find(({ name, state, lastState }) => {
      const last = state?.terminated ?? (state?.waiting ? lastState?.terminated : undefined);
      const key = `${name} ${last?.exitCode}`;
      if (!last || last.exitCode === 0 || read.has(key) || read.size === mostAsked) return false;
      read.add(key);
      return true;
    });
    return ended ? [{ pod, container: ended.name }] : [];
  });
  const each = endedContainers.map(async ({ pod, container }) => {
    const lines = await sources.lastLines(pod.metadata, container);
    return [pod.metadata.uid ?? "", new Map([[container, lines]])] as const;
  });
  return new Map(await Promise.all(each));
}

/** The ReplicaSets and pods that an object controls, and what was reported about it and those sets. */
export async function below(owner: unknown, client: Client) {
  const { namespace, uid } = metadataOf(owner);
  const [allSets, allPods] = await Promise.all([
    listAllowed(client, ReplicaSet, { namespace }),
    listAllowed(client, Pod, { namespace }),
  ]);
  const sets = allSets.filter((set) => controllerOf(set)?.uid === uid);
  const uids = new Set([uid, ...sets.map(({ metadata }) => metadata.uid)]);
  const pods = allPods.filter((pod) => {
    const of = controllerOf(pod)?.uid;
    return of !== undefined && uids.has(of);
  });
  const present = sets.filter(({ spec, status }) => (spec.replicas ?? 0) > 0 || status.replicas > 0);
  const events = await Promise.all([owner, ...present].map((one) => eventsAbout(one, client)));
  return { sets, pods, events: byTime(events.flat()) };
}
