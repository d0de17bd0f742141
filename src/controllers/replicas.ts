// Keeps a number of equal pods: what ReplicaSets and ReplicationControllers have in common, which is all but their names.
// Upstream: pkg/controller/replicaset/replica_set.go and pkg/controller/replicaset/replica_set_utils.go.
import type { ReplicaSetCondition, ReplicaSetStatus } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { equal, inBatches, slowStart } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import type { Again, Reconcile } from "#client/controller.ts";
import { isReady } from "#rules/conditions.ts";
import { isActive, isAvailable, isTerminating, nextAvailableMs } from "#rules/pods.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import { type Labels, labelMatcher, requirementsOfLabels } from "#schema/selector.ts";
import { timeOf } from "#schema/time.ts";
import { byDeletionCost } from "./deletion-cost.ts";
import { claim } from "./owner.ts";
import { createPod, deletePod } from "./pod-writes.ts";
import { orphanPods } from "./pods.ts";

/** How many pods one reconcile creates or deletes at most. */
const burst = 500;
const atOnce = 50;

/** A ReplicaSet or ReplicationController, as far as they are alike. */
export interface Replicas {
  readonly kind: AnyKind;
  readonly object: { readonly metadata: ObjectMeta };
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly template: PodTemplateSpec | undefined;
  readonly status: ReplicaSetStatus;
  readonly selects: (labels: Labels | undefined) => boolean;
  /** Whether the status has a place for pods that are ending. */
  readonly countsTerminating: boolean;
  /** Pods that do the same work: on a node with many of them one more is missed least. */
  related(): readonly Pod[];
  writeStatus(status: ReplicaSetStatus): Promise<unknown>;
}

export async function reconcileReplicas(set: Replicas, context: Reconcile): Promise<Again | undefined> {
  const { kind, object: owner, selects } = set;
  const { client, cache, clock } = context;
  const { namespace = "", deletionTimestamp } = owner.metadata;
  const own = cache.owned(Pod, owner);
  const candidates = [...own, ...cache.by(orphanPods, namespace)].filter(isActive);
  const pods = await claim(client, { kind: Pod, candidates, ownerKind: kind, owner, selects });
  const terminating = own.filter((pod) => isTerminating(pod) && selects(pod.metadata.labels)).length;

  let failure: unknown;
  try {
    // The pods of one that is being deleted are the garbage collector's.
    if (deletionTimestamp === undefined) await manage(set, pods, context);
  } catch (error) {
    failure = error;
  }

  const now = clock.now();
  const status = statusOf(set, { pods, terminating, failure, now });
  if (!equal(status, set.status)) await set.writeStatus(status);
  if (failure !== undefined) throw failure;
  if (set.minReadySeconds === 0 || status.readyReplicas === status.availableReplicas) return undefined;
  return { afterMs: nextAvailableMs(pods, set.minReadySeconds, now) ?? set.minReadySeconds * 1000 };
}

async function manage(set: Replicas, pods: readonly Pod[], context: Reconcile): Promise<void> {
  const missing = set.replicas - pods.length;
  const { kind, object: owner, template } = set;
  if (missing > 0) await slowStart(Math.min(missing, burst), () => createPod({ kind, owner, template }, context));
  else if (missing < 0) {
    const count = Math.min(-missing, burst);
    const ranked = count === pods.length ? pods : pods.toSorted(byDeletionCost(set.related(), context.clock.now()));
    await deleteAll(ranked.slice(0, count), context);
  }
}

/** All are tried; then the first failure is thrown. */
async function deleteAll(pods: readonly Pod[], context: Reconcile): Promise<void> {
  const failures: unknown[] = [];
  await inBatches(atOnce, pods, (pod) => deletePod(pod, context).catch((error: unknown) => void failures.push(error)));
  if (failures.length > 0) throw failures[0];
}

interface PodCensus {
  readonly pods: readonly Pod[];
  readonly terminating: number;
  readonly failure: unknown;
  readonly now: number;
}

function statusOf(set: Replicas, { pods, terminating, failure, now }: PodCensus): ReplicaSetStatus {
  const isFullyLabeled = labelMatcher(requirementsOfLabels(set.template?.metadata.labels ?? {}));
  let [labeled, ready, available] = [0, 0, 0];
  for (const pod of pods) {
    if (isFullyLabeled(pod.metadata.labels)) labeled++;
    if (!isReady(pod)) continue;
    ready++;
    if (set.minReadySeconds === 0 || isAvailable(pod, set.minReadySeconds, now)) available++;
  }
  const { terminatingReplicas: _served, ...status } = set.status;
  return {
    ...status,
    replicas: pods.length,
    fullyLabeledReplicas: unlessZero(labeled),
    readyReplicas: unlessZero(ready),
    availableReplicas: unlessZero(available),
    ...(set.countsTerminating && { terminatingReplicas: terminating }),
    observedGeneration: set.object.metadata.generation,
    conditions: conditionsOf(set, pods.length, failure, now),
  };
}

/** The server leaves zeros out; a status that has them would never be equal to what is stored. */
export const unlessZero = (count: number): number | undefined => count || undefined;

/** A failure keeps the words it was first reported with until it is over. */
function conditionsOf(
  { replicas, status: { conditions = [] } }: Replicas,
  pods: number,
  failure: unknown,
  now: number,
): readonly ReplicaSetCondition[] | undefined {
  const others = conditions.filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others.length > 0 ? others : undefined;
  if (others.length < conditions.length) return conditions;
  return [
    ...others,
    {
      type: "ReplicaFailure",
      status: "True",
      lastTransitionTime: timeOf(now),
      reason: pods < replicas ? "FailedCreate" : "FailedDelete",
      message: explain(failure),
    },
  ];
}
