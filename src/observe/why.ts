// `knarr why`: what state an object is in, what put it there, and what a person can do about it.
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Client } from "#client/client.ts";
import { controllerOf, metadataOf, type Place, resourceName } from "#client/place.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import { type PodFacts, type Reason, reasonFor, type Verdict } from "./pod-reasons.ts";
import { actorOf, whatOf } from "./trace-text.ts";

export interface Sources {
  readonly client: Client;
  /** The writes that led to an object and followed from it. */
  writesOf(kind: AnyKind, place: Place): Promise<readonly WriteRecord[]>;
  /** What the scheduler said of each node when it last tried to place a pod. */
  verdictsOn(pod: Place): Promise<readonly Verdict[]>;
  /** In milliseconds since 1970. */
  now(): number;
}

export interface Answer {
  readonly subject: string;
  readonly reason: Reason;
  /** The writes that led here, first cause first. */
  readonly chain: readonly WriteRecord[];
  readonly events: readonly Event[];
}

export async function explainPod(place: Place, sources: Sources): Promise<Answer> {
  const facts = await factsOf(await sources.client.get(Pod, place), sources);
  const chain = causesOf(await sources.writesOf(Pod, place), "pods", place);
  return { subject: `Pod ${nameOf(facts.pod)}`, reason: reasonFor(facts), chain, events: facts.events };
}

/** Of an object that makes pods: the reason is that of the pod that is worst off. */
export async function explainOwner(kind: AnyKind, place: Place, sources: Sources): Promise<Answer> {
  const owner = (await sources.client.get(kind, place)) as ApiObject; // of a kind the compiler does not know
  const events = await eventsAbout(owner, sources.client);
  const pods = await podsBelow(owner, sources.client);
  const chain = causesOf(await sources.writesOf(kind, place), resourceName(kind), place);
  const subject = `${kind.kind} ${nameOf(owner)}`;
  const refused = await refusal(owner, sources.client);
  if (refused) return { subject, reason: { says: "cannot make its pods", details: [refused] }, chain, events };
  const reasons = await Promise.all(
    pods.slice(0, 200).map(async (pod) => ({ pod, reason: reasonFor(await factsOf(pod, sources)) })),
  );
  const stuck = reasons.filter(({ reason }) => !reason.isFine);
  const [first] = stuck;
  if (!first)
    return {
      subject,
      chain,
      events,
      reason: { says: wellText(pods.length), isFine: true },
    };
  const { says, ...rest } = first.reason;
  return {
    subject,
    chain,
    events,
    reason: {
      ...rest,
      says: `has ${stuck.length} of ${pods.length} pods in trouble: ${first.pod.metadata.name} ${says}`,
    },
  };
}

function wellText(pods: number): string {
  if (pods === 0) return "has no pods";
  return pods === 1 ? "has one pod, and it is well" : `has ${pods} pods, and all are well`;
}

/** The answer for a terminal. */
export function answerText({ subject, reason, chain, events }: Answer, now: number): readonly string[] {
  const { says, details = [], remedies = [] } = reason;
  return [
    `${subject} ${says}.`,
    ...details.map((line) => `  ${line}`),
    ...(remedies.length > 0 ? ["", "What can be done:", ...remedies.map((line) => `  - ${line}`)] : []),
    ...(chain.length > 0 ? ["", "How it came to be:", ...chain.map((write) => `  ${chainLine(write, now)}`)] : []),
    ...(events.length > 0
      ? ["", "What was reported:", ...events.slice(-5).map((event) => `  ${eventLine(event)}`)]
      : []),
  ];
}

const chainLine = (write: WriteRecord, now: number): string =>
  `${ago(now - write.at)}  ${actorOf(write.user)}: ${whatOf(write)}`;
const eventLine = ({ type, reason, message, count = 1 }: Event): string =>
  `${type} ${reason}: ${message}${count > 1 ? ` (${count} times)` : ""}`;

async function factsOf(pod: Pod, { client, verdictsOn, now }: Sources): Promise<PodFacts> {
  const { namespace, name } = pod.metadata;
  const names = (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
  const claims = await Promise.all(
    names.map(async (claim) => [claim, await client.find(PersistentVolumeClaim, { namespace, name: claim })] as const),
  );
  const { nodeName } = pod.spec;
  return {
    pod,
    events: await eventsAbout(pod, client),
    node: nodeName ? await client.find(Node, { name: nodeName }) : undefined,
    claims: new Map(claims),
    verdicts: nodeName ? [] : await verdictsOn({ namespace, name }),
    now: now(),
  };
}

async function eventsAbout(object: unknown, client: Client): Promise<readonly Event[]> {
  const { namespace = "default", uid = "" } = metadataOf(object);
  const { items } = await client.list(Event, { namespace, fieldSelector: `involvedObject.uid=${uid}` });
  return items.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)));
}

const timeOf = ({ lastTimestamp, eventTime, metadata }: Event): string =>
  lastTimestamp ?? eventTime ?? metadata.creationTimestamp;

/** The pods an object controls, itself or through ReplicaSets. */
async function podsBelow(owner: ApiObject, client: Client): Promise<readonly Pod[]> {
  const { namespace } = metadataOf(owner);
  const [sets, pods] = await Promise.all([client.list(ReplicaSet, { namespace }), client.list(Pod, { namespace })]);
  const uids = new Set([metadataOf(owner).uid]);
  for (const set of sets.items) if (uids.has(controllerOf(set)?.uid)) uids.add(set.metadata.uid);
  return pods.items.filter((pod) => {
    const uid = controllerOf(pod)?.uid;
    return uid !== undefined && uids.has(uid);
  });
}

/** Why pods are refused before they exist, as the sets below an object report it: a quota, an admission plugin. */
async function refusal(owner: ApiObject, client: Client): Promise<string | undefined> {
  const { namespace, uid } = metadataOf(owner);
  const { items } = await client.list(ReplicaSet, { namespace });
  const below = [owner, ...items.filter((set) => controllerOf(set)?.uid === uid)];
  for (const object of below) {
    const failure = conditionsOf(object).find(({ type, status }) => type === "ReplicaFailure" && status === "True");
    if (failure?.message) return failure.message;
  }
  return undefined;
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly message?: string;
}
function conditionsOf(object: unknown): readonly Condition[] {
  const { conditions } = (object as { status?: { conditions?: readonly Condition[] } }).status ?? {};
  return conditions ?? [];
}

/** From the newest write that made the object, back to the request that began it. */
function causesOf(writes: readonly WriteRecord[], resource: string, { namespace = "", name }: Place): WriteRecord[] {
  const byRevision = new Map(writes.map((write) => [write.revision, write]));
  const isOwn = (write: WriteRecord) =>
    write.resource === resource && write.name === name && write.namespace === namespace;
  const chain: WriteRecord[] = [];
  let one = writes.findLast((write) => isOwn(write) && write.verb === "create" && !write.subresource);
  while (one && !chain.includes(one)) {
    chain.unshift(one);
    const causes = one.because.map(({ revision }) => byRevision.get(revision)).filter((write) => write !== undefined);
    one = causes.toSorted((a, b) => b.revision - a.revision)[0];
  }
  return chain;
}

const nameOf = (object: unknown): string => {
  const { namespace, name } = metadataOf(object);
  return namespace ? `${namespace}/${name}` : `${name}`;
};

function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s ago`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}
