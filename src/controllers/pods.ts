// What controllers ask of pods.
import { isReady } from "#api/core/readiness.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { min } from "#base/collections.ts";
import { index } from "#client/cache.ts";
import { type Watching, watching } from "#client/controller.ts";
import { controllerOf, keyOfObject, placeOf } from "#client/place.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { millisOf } from "#schema/time.ts";

/** Pods that nobody controls, by namespace: whose selector matches may adopt them. */
export const orphanPods = index(Pod, (pod) => (controllerOf(pod) ? [] : [pod.metadata.namespace ?? ""]));

/** What wakes owners for pods that nobody controls: those of the pod's namespace that would take it. */
export const wakenByOrphans = <K extends AnyKind>(kind: K, takes: (owner: Infer<K>, pod: Pod) => boolean): Watching =>
  watching(Pod, (pod, cache) =>
    controllerOf(pod)
      ? []
      : cache
          .list(kind, pod.metadata.namespace)
          .filter((owner) => takes(owner, pod))
          .map((owner) => placeOf(keyOfObject(owner))),
  );

/** Pods by the node they are assigned to. */
export const podsOnNode = index(Pod, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));

/** Whether nothing of the pod runs any more, nor ever will. */
export const isTerminal = ({ status }: Pod): boolean => status.phase === "Succeeded" || status.phase === "Failed";

/** Whether the pod counts: it has not ended, and is not asked to. */
export const isActive = (pod: Pod): boolean => !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;

export const isTerminating = (pod: Pod): boolean => !isTerminal(pod) && pod.metadata.deletionTimestamp !== undefined;

const readyCondition = ({ status }: Pod) => status.conditions?.find(({ type }) => type === "Ready");

/** Since when the pod is ready, in milliseconds since 1970; undefined if it is not, or if it does not say. */
export function readySince(pod: Pod): number | undefined {
  const condition = readyCondition(pod);
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
