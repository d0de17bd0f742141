// What a StatefulSet reports: how many pods there are, how many work, and how many are of which revision.
// Upstream: pkg/controller/statefulset/stateful_set_control.go.
import type { StatefulSet, StatefulSetStatus } from "#api/apps/v1/stateful-set.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { isReady } from "#rules/conditions.ts";
import { isAvailable } from "#rules/pods.ts";
import { unlessZero } from "../replicas.ts";
import type { RevisionPair } from "./history.ts";
import { revisionOf } from "./identity.ts";

/** Whether the pod runs and is ready. */
export const isRunning = (pod: Pod): boolean => pod.status.phase === "Running" && isReady(pod);

export const isGoing = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** `deleted` is the number of pods of the current revision that were deleted after `pods` was read. */
export function statusOf(
  { metadata, spec, status }: StatefulSet,
  { current, update, collisionCount }: RevisionPair,
  pods: readonly Pod[],
  { deleted, now }: { readonly deleted: number; readonly now: number },
): StatefulSetStatus {
  const ready = pods.filter(isRunning);
  const available = ready.filter((pod) => isAvailable(pod, spec.minReadySeconds ?? 0, now)).length;
  const of = (revision: string) => pods.filter((pod) => !isGoing(pod) && revisionOf(pod) === revision).length;
  const updated = of(update.name);
  const isDone =
    spec.updateStrategy.type === "RollingUpdate" &&
    [updated, ready.length, pods.length].every((count) => count === spec.replicas);
  return {
    ...status,
    observedGeneration: metadata.generation,
    replicas: pods.length,
    readyReplicas: unlessZero(ready.length),
    availableReplicas: available,
    currentReplicas: unlessZero(isDone ? updated : Math.max(0, of(current.name) - deleted)),
    updatedReplicas: unlessZero(updated),
    currentRevision: isDone ? update.name : current.name,
    updateRevision: update.name,
    collisionCount,
  };
}
