// What all parts have to agree on about the state of a pod.
// Upstream: pkg/api/v1/pod/util.go and pkg/controller/controller_utils.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { hasEnded } from "#api/core/v1/pod-phase.ts";
import { min } from "#base/collections.ts";
import { millisOf } from "#schema/time.ts";
import { conditionIn, isReady } from "./conditions.ts";

export { hasEnded };

/** Whether the pod counts as running: it has not ended, and is not being deleted. */
export const isActive = (pod: Pod): boolean => !hasEnded(pod) && pod.metadata.deletionTimestamp === undefined;

export const isTerminating = (pod: Pod): boolean => !hasEnded(pod) && pod.metadata.deletionTimestamp !== undefined;

/** Since when the pod is ready, in milliseconds since 1970; undefined if it is not, or if it does not say. */
export function readySince(pod: Pod): number | undefined {
  const condition = conditionIn(pod.status.conditions, "Ready");
  if (condition?.status !== "True" || !condition.lastTransitionTime) return undefined;
  return millisOf(condition.lastTransitionTime);
}

/** Whether the pod has been ready for long enough. */
export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  if (minReadySeconds === 0) return isReady(pod);
  const since = readySince(pod);
  return since !== undefined && since + minReadySeconds * 1000 <= now;
}

/** When the next of the pods that are ready, but not for long enough, will be available: in how many milliseconds. */
export function nextAvailableMs(pods: readonly Pod[], minReadySeconds: number, now: number): number | undefined {
  const waits = pods.flatMap((pod) => {
    const since = readySince(pod);
    return since === undefined ? [] : [since + minReadySeconds * 1000 - now];
  });
  return min(waits.filter((ms) => ms > 0));
}
