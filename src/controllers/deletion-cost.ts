// The order in which surplus pods are deleted.
// Upstream: pkg/controller/controller_utils.go.
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { isReady } from "#rules/conditions.ts";
import { isActive, readySince } from "#rules/pods.ts";
import { millisOf } from "#schema/time.ts";

/**
 * Sorts the pods to delete first to the front: not assigned, not running, not ready, with a low deletion-cost
 * annotation, sharing a node with many `related` ones, ready or created a short time ago, often restarted. Times are compared by
 * their magnitude only, and then by uid, so that it is not always the youngest that goes.
 */
export function byDeletionCost(related: readonly Pod[], now: number): (a: Pod, b: Pod) => number {
  const onNode = new Map<string, number>();
  for (const { spec } of related.filter(isActive))
    onNode.set(spec.nodeName ?? "", (onNode.get(spec.nodeName ?? "") ?? 0) + 1);
  const crowd = ({ spec }: Pod) => onNode.get(spec.nodeName ?? "") ?? 0;
  return (a, b) =>
    byProgress(a, b) ||
    deletionCost(a) - deletionCost(b) ||
    crowd(b) - crowd(a) ||
    (isReady(a) ? byTime(a, b, readySince, now) : 0) ||
    byRestarts(a, b) ||
    byTime(a, b, createdAt, now);
}

/** The order without deletion costs and related pods: not assigned, not running, not ready; then the later, by exact times. */
export const byStage = (a: Pod, b: Pod): number =>
  byProgress(a, b) ||
  (isReady(a) ? laterFirst(readySince(a), readySince(b)) : 0) ||
  byRestarts(a, b) ||
  laterFirst(createdAt(a), createdAt(b));

const byProgress = (a: Pod, b: Pod): number =>
  Number(isAssigned(a)) - Number(isAssigned(b)) ||
  phaseRank(a) - phaseRank(b) ||
  Number(isReady(a)) - Number(isReady(b));

const byRestarts = (a: Pod, b: Pod): number =>
  restarts(b).regular - restarts(a).regular || restarts(b).sidecars - restarts(a).sidecars;

const laterFirst = (a = Number.POSITIVE_INFINITY, b = Number.POSITIVE_INFINITY): number => (a === b ? 0 : b - a);

const isAssigned = ({ spec }: Pod): boolean => (spec.nodeName ?? "") !== "";
const phaseRank = ({ status }: Pod): number => (status.phase === "Running" ? 2 : status.phase === "Unknown" ? 1 : 0);
const createdAt = ({ metadata }: Pod): number | undefined =>
  metadata.creationTimestamp === undefined ? undefined : millisOf(metadata.creationTimestamp);

const costAnnotation = "controller.kubernetes.io/pod-deletion-cost";

/** What the pod says it costs to delete; 0 if it says nothing, or nothing sensible. */
export function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.[costAnnotation] ?? "";
  if (!/^(0|-[0-9]+|[1-9][0-9]*)$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
}

/** Unknown times come first, then later ones. */
function byTime(a: Pod, b: Pod, timeOfPod: (pod: Pod) => number | undefined, now: number): number {
  const [one, other] = [timeOfPod(a), timeOfPod(b)];
  if (one === other) return 0;
  if (one === undefined) return -1;
  if (other === undefined) return 1;
  const difference = magnitude(now - one) - magnitude(now - other);
  return difference || ((a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1);
}

const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1);

function restarts({ spec, status }: Pod): { readonly regular: number; readonly sidecars: number } {
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const most = (counts: readonly number[]) => counts.reduce((x, y) => Math.max(x, y), 0);
  return {
    regular: most((status.containerStatuses ?? []).map(({ restartCount }) => restartCount)),
    sidecars: most(
      (status.initContainerStatuses ?? [])
        .filter(({ name }) => sidecars.has(name))
        .map(({ restartCount }) => restartCount),
    ),
  };
}
