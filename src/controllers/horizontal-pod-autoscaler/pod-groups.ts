// Which pods count in an average: those that have a metric and whose metric means something.
// Upstream: pkg/controller/podautoscaler/replica_calculator.go.

import { isPodLevel, isSidecar } from "#api/core/v1/amounts.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { conditionIn } from "#rules/conditions.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { parseQuantity, quantityMilliValue } from "#schema/quantity.ts";
import { millisOf } from "#schema/time.ts";
import type { AutoscalerSettings } from "./settings.ts";

/** A metric of one pod. */
export interface PodMetric {
  /** When it was measured, in milliseconds. */
  readonly at: number;
  /** The span of time before that which it is an average of. */
  readonly windowMs: number;
  /** In thousandths. */
  readonly value: bigint;
}

/** By name of the pod. */
export type MetricsByPod = ReadonlyMap<string, PodMetric>;

export type InitializationTimes = Pick<AutoscalerSettings, "cpuInitializationMs" | "initialReadinessMs">;

export interface PodGroups {
  readonly readyCount: number;
  /** Not ready yet, or too new: what they use now says nothing about later. */
  readonly unready: ReadonlySet<string>;
  /** Without a metric. */
  readonly missing: ReadonlySet<string>;
  /** On their way out. */
  readonly ignored: ReadonlySet<string>;
}

export interface PodsAndMetrics {
  readonly pods: readonly Pod[];
  readonly metrics: MetricsByPod;
  /** Only processor use is wrong at the beginning; of other metrics this is empty. */
  readonly resource: string;
}

export function groupPods(
  { pods, metrics, resource }: PodsAndMetrics,
  times: InitializationTimes,
  now: number,
): PodGroups {
  const unready = new Set<string>();
  const missing = new Set<string>();
  const ignored = new Set<string>();
  let readyCount = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const metric = metrics.get(name);
    if (deletionTimestamp !== undefined || pod.status.phase === "Failed") ignored.add(name);
    else if (pod.status.phase === "Pending") unready.add(name);
    else if (!metric) missing.add(name);
    else if (resource === "cpu" && !isMeaningful(pod, metric, times, now)) unready.add(name);
    else readyCount++;
  }
  return { readyCount, unready, missing, ignored };
}

/** Whether the use of processors is that of normal work. */
function isMeaningful({ status }: Pod, metric: PodMetric, times: InitializationTimes, now: number): boolean {
  const condition = conditionIn(status.conditions, "Ready");
  if (!condition || status.startTime === undefined) return false;
  const startedAt = millisOf(status.startTime);
  const changedAt = condition.lastTransitionTime ? millisOf(condition.lastTransitionTime) : Number.NEGATIVE_INFINITY;
  const isUnready = condition.status === "False";
  // While it may still initialize, a whole window must lie behind the last change of its readiness.
  if (startedAt + times.cpuInitializationMs > now) return !isUnready && metric.at >= changedAt + metric.windowMs;
  // After that, only a pod that was never ready does not count.
  return !(isUnready && startedAt + times.initialReadinessMs > changedAt);
}

/** What each pod, or one container of each, asks for, in thousandths. Throws if one of them does not say. */
export function requestsOf(pods: readonly Pod[], resource: string, container: string): ReadonlyMap<string, bigint> {
  return new Map(pods.map((pod) => [pod.metadata.name, requestOf(pod, resource, container)]));
}

function requestOf(pod: Pod, resource: string, container: string): bigint {
  const { name } = pod.metadata;
  if (container === "" && Object.keys(pod.spec.resources?.requests ?? {}).some(isPodLevel)) {
    const amount = podAmounts(pod, "requests").get(resource);
    if (amount === undefined) throw new Error(`missing pod-level request for ${resource} in Pod ${name}`);
    return milli(amount);
  }
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
  const meant = container === "" ? all : all.filter((one) => one.name === container).slice(0, 1);
  if (container !== "" && meant.length === 0) throw new Error(`container ${container} not found in Pod ${name}`);
  return meant.reduce((sum, { name: itsName, resources }) => {
    const amount = resources.requests?.[resource];
    if (amount === undefined) throw new Error(`missing request for ${resource} in container ${itsName} of Pod ${name}`);
    return sum + milli(amount);
  }, 0n);
}

export const milli = (amount: string): bigint => quantityMilliValue(parseQuantity(amount));
