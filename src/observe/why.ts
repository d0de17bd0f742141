// `knarr why`: what state an object is in, who says so, what put it there, and what a person can do about it.
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { CronJob } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { Lease } from "#api/coordination/v1/lease.ts";
import type { Event } from "#api/core/v1/event.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { isNotFound } from "#client/client.ts";
import { metadataOf, type Place, resourceName } from "#client/place.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import { below, eventsAbout, listAllowed, podFacts, type Sources } from "./facts.ts";
import { notFound } from "./not-found.ts";
import { claimReason } from "./reasons/claim.ts";
import { deletionReason } from "./reasons/deletion.ts";
import { refusalReason, type Wish } from "./reasons/forbidden.ts";
import { cronJobReason, jobReason } from "./reasons/job.ts";
import { namespaceReason } from "./reasons/namespace.ts";
import { nodeReason } from "./reasons/node.ts";
import { otherReason } from "./reasons/other.ts";
import { podReason } from "./reasons/pod.ts";
import type { ConditionWords, Reason } from "./reasons/reason.ts";
import { selectedPods, serviceReason } from "./reasons/service.ts";
import {
  daemonSetReason,
  deploymentReason,
  replicaSetReason,
  statefulSetReason,
  type WorkloadFacts,
} from "./reasons/workload.ts";
import { actorOf } from "./trace-text.ts";

export interface Answer {
  readonly subject: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly reason: Reason;
  /** The writes that led here, first cause first. */
  readonly chain: readonly WriteRecord[];
  /** Oldest first. */
  readonly events: readonly Event[];
}

/** Which rule is missing for what was refused. */
export async function explainRefusal(wish: Wish, { client }: Sources): Promise<Answer> {
  const namespace = wish.namespace ?? "";
  const [roles, clusterRoles, bindings, clusterBindings] = await Promise.all([
    wish.namespace === undefined ? [] : listAllowed(client, Role, { namespace }),
    listAllowed(client, ClusterRole, {}),
    wish.namespace === undefined ? [] : listAllowed(client, RoleBinding, { namespace }),
    listAllowed(client, ClusterRoleBinding, {}),
  ]);
  return {
    subject: { kind: "User", name: wish.user },
    reason: refusalReason(wish, { roles, clusterRoles, bindings, clusterBindings }),
    chain: [],
    events: [],
  };
}

/** Why the object is as it is. Throws NotFound with the names of others that may be meant. */
export async function explain(kind: AnyKind, place: Place, sources: Sources): Promise<Answer> {
  const object = await read(kind, place, sources);
  const [events, writes] = await Promise.all([eventsAbout(object, sources.client), sources.writesOf(kind, place)]);
  const own = writes.filter((write) => isOf(write, kind, place));
  const asked: Asked = { object, events, deletedBy: deleterIn(own), sources };
  const { namespace, name } = place;
  return {
    subject: { kind: kind.kind, ...(namespace !== undefined && { namespace }), name },
    reason: await (experts.get(kind) ?? other)(asked),
    chain: causesOf(own, writes),
    events,
  };
}

async function read(kind: AnyKind, place: Place, { client }: Sources): Promise<Infer<AnyKind>> {
  try {
    return await client.get(kind, place);
  } catch (error) {
    throw isNotFound(error) ? await notFound(kind, place, client) : error;
  }
}

interface Asked {
  readonly object: Infer<AnyKind>;
  readonly events: readonly Event[];
  readonly deletedBy: string | undefined;
  readonly sources: Sources;
}

type Expert = (asked: Asked) => Promise<Reason>;

/** The one who knows about a kind. The object of an entry is of the kind of that entry. */
const expert = <K extends AnyKind>(
  kind: K,
  reasonOf: (object: Infer<K>, asked: Asked) => Promise<Reason>,
): readonly [AnyKind, Expert] => [kind, (asked) => reasonOf(asked.object as Infer<K>, asked)];

const workload = <K extends AnyKind>(kind: K, reasonOf: (facts: WorkloadFacts<Infer<K>>) => Reason) =>
  expert(kind, async (owner, { deletedBy, sources }) => {
    const deletion = deletionReason({ kind: kind.kind, metadata: metadataOf(owner) }, deletedBy);
    if (deletion) return deletion;
    const { sets, pods, events } = await below(owner, sources.client);
    return reasonOf({ owner, sets, events, pods: await podFacts(pods, sources), now: sources.now() });
  });

const experts: ReadonlyMap<AnyKind, Expert> = new Map([
  expert(Pod, async (pod, { deletedBy, sources }) => {
    const [facts] = await podFacts([pod], sources);
    return facts ? podReason({ ...facts, deletedBy }) : { code: "Unknown", state: "wrong", says: "is unknown" };
  }),
  workload(Deployment, deploymentReason),
  workload(ReplicaSet, replicaSetReason),
  workload(ReplicationController, replicaSetReason),
  workload(StatefulSet, statefulSetReason),
  workload(DaemonSet, daemonSetReason),
  workload(Job, jobReason),
  expert(CronJob, async (owner, { events }) => cronJobReason({ owner, events })),
  expert(Service, async (service, { events, sources }) => {
    const { client } = sources;
    const { namespace, name } = service.metadata;
    const labelSelector = `kubernetes.io/service-name=${name}`;
    const [slices, pods] = await Promise.all([
      listAllowed(client, EndpointSlice, { namespace, labelSelector }),
      listAllowed(client, Pod, { namespace }),
    ]);
    const chosen = await podFacts(selectedPods(service, pods), sources);
    return serviceReason({ service, slices, events, chosen, pods });
  }),
  expert(PersistentVolumeClaim, async (claim, { events, deletedBy, sources }) => {
    const { client } = sources;
    const { namespace, name } = claim.metadata;
    const [classes, volumes, pods] = await Promise.all([
      listAllowed(client, StorageClass, {}),
      listAllowed(client, PersistentVolume, {}),
      listAllowed(client, Pod, { namespace }),
    ]);
    const users = pods
      .filter(({ spec }) => spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === name))
      .map(({ metadata }) => metadata.name);
    return claimReason({ claim, classes, volumes, users, events, deletedBy, now: sources.now() });
  }),
  expert(Node, async (node, { events, sources }) => {
    const { name } = node.metadata;
    const { client } = sources;
    const [leases, pods] = await Promise.all([
      listAllowed(client, Lease, { namespace: "kube-node-lease", fieldSelector: `metadata.name=${name}` }),
      listAllowed(client, Pod, { fieldSelector: `spec.nodeName=${name}` }),
    ]);
    return nodeReason({ node, lease: leases[0], events, pods: pods.length });
  }),
  expert(Namespace, async (namespace, { sources }) => namespaceReason({ namespace, now: sources.now() })),
]);

const other: Expert = async ({ object, events, deletedBy }) => {
  const { kind, status } = object as { readonly kind: string; readonly status?: { conditions?: unknown } }; // of any kind
  const conditions = Array.isArray(status?.conditions) ? (status.conditions as readonly ConditionWords[]) : [];
  return otherReason({ kind, metadata: metadataOf(object), conditions, events, deletedBy });
};

const isOf = (write: WriteRecord, kind: AnyKind, { namespace = "", name }: Place): boolean =>
  write.resource === resourceName(kind) && write.name === name && write.namespace === namespace;

/** Who asked for the deletion: the first who did, since those who come after only see to it. */
function deleterIn(own: readonly WriteRecord[]): string | undefined {
  const made = own.findLastIndex(isCreation);
  const write = own
    .slice(made + 1)
    .find(({ verb, subresource }) => verb.startsWith("delete") || subresource === "eviction");
  if (!write) return undefined;
  const program = write.userAgent.split(/[/ ]/)[0];
  return `${actorOf(write.user)}${program && !write.user.startsWith("system:") ? ` (${program})` : ""}`;
}

const isCreation = ({ verb, subresource }: WriteRecord): boolean => verb === "create" && !subresource;

/** From the newest write that made the object, back to the request that began it. */
function causesOf(own: readonly WriteRecord[], writes: readonly WriteRecord[]): readonly WriteRecord[] {
  const byRevision = new Map(writes.map((write) => [write.revision, write]));
  const chain: WriteRecord[] = [];
  let one = own.findLast(isCreation);
  while (one && !chain.includes(one)) {
    chain.unshift(one);
    const causes = one.because.map(({ revision }) => byRevision.get(revision)).filter((write) => write !== undefined);
    one = causes.toSorted((a, b) => b.revision - a.revision)[0];
  }
  return chain;
}
