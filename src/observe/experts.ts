// For each kind: the facts to read about an object, and the rule that explains its state.
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
import { IngressClass } from "#api/networking/v1/ingress-class.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import { below, listAllowed, podFacts, type Sources } from "./facts.ts";
import { claimReason } from "./reasons/claim.ts";
import { deletionReason } from "./reasons/deletion.ts";
import { cronJobReason, jobReason } from "./reasons/job.ts";
import { namespaceReason } from "./reasons/namespace.ts";
import { nodeReason } from "./reasons/node.ts";
import { otherReason } from "./reasons/other.ts";
import { podReason } from "./reasons/pod.ts";
import type { ConditionWords, Reason } from "./reasons/reason.ts";
import { selectedPods, serviceReason } from "./reasons/service.ts";
import { unservedReason } from "./reasons/unserved.ts";
import {
  daemonSetReason,
  deploymentReason,
  replicaSetReason,
  statefulSetReason,
  type WorkloadFacts,
} from "./reasons/workload.ts";

/** What is known before a kind's own facts are read. */
export interface ReasonQuery {
  readonly object: Infer<AnyKind>;
  readonly events: readonly Event[];
  readonly deletedBy: string | undefined;
  readonly sources: Sources;
}

type Expert = (asked: ReasonQuery) => Promise<Reason>;

/** The one who knows about a kind. The object of an entry is of the kind of that entry. */
const expert = <K extends AnyKind>(
  kind: K,
  reasonOf: (object: Infer<K>, asked: ReasonQuery) => Promise<Reason>,
): readonly [AnyKind, Expert] => [kind, (asked) => reasonOf(asked.object as Infer<K>, asked)];

const workload = <K extends AnyKind>(kind: K, reasonOf: (facts: WorkloadFacts<Infer<K>>) => Reason) =>
  expert(kind, async (owner, { deletedBy, sources }) => {
    const deletion = deletionReason({ kind: kind.kind, metadata: metadataOf(owner) }, deletedBy);
    if (deletion) return deletion;
    const { sets, pods, events } = await below(owner, sources.client);
    return reasonOf({ owner, sets, events, pods: await podFacts(pods, sources), now: sources.now() });
  });

/** Kinds of which more is known than their conditions. */
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

export const reasonFor = (kind: AnyKind, asked: ReasonQuery): Promise<Reason> => (experts.get(kind) ?? other)(asked);

const other: Expert = async ({ object, events, deletedBy, sources }) => {
  const { kind, status } = object as { readonly kind: string; readonly status?: { conditions?: unknown } }; // of any kind
  const unserved = await unservedFor(kind, object, sources);
  if (unserved && metadataOf(object).deletionTimestamp === undefined) return unserved;
  const conditions = Array.isArray(status?.conditions) ? (status.conditions as readonly ConditionWords[]) : [];
  return otherReason({ kind, metadata: metadataOf(object), conditions, events, deletedBy });
};

async function unservedFor(
  kind: string,
  object: Infer<AnyKind>,
  { client, now }: Sources,
): Promise<Reason | undefined> {
  const classes = kind === "Ingress" ? await listAllowed(client, IngressClass, {}) : [];
  return unservedReason(kind, {
    object: object as Readonly<Record<string, unknown>>,
    creationTimestamp: metadataOf(object).creationTimestamp,
    ingressClasses: classes.map(({ metadata }) => metadata.name),
    now: now(),
  });
}
