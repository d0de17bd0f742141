// What a budget allows, given its pods. Pure.
// Upstream: pkg/controller/disruption/disruption.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Condition } from "#api/meta/condition.ts";
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/policy/v1/pod-disruption-budget.ts";
import { min } from "#base/collections.ts";
import { isReady } from "#rules/conditions.ts";
import { scaledValueOf } from "#schema/int-or-string.ts";
import { millisOf, timeOf } from "#schema/time.ts";

/** A pod whose eviction was allowed counts as lost for this long; if it is not being deleted by then, it will not be. */
export const deletionTimeoutMs = 120_000;

const conditionType = "DisruptionAllowed";

/** Whether the controllers of the pods must be asked for their scale to know how many pods must be healthy. */
export const needsScale = ({ spec: { minAvailable, maxUnavailable } }: PodDisruptionBudget): boolean =>
  maxUnavailable !== undefined || typeof minAvailable === "string";

/** How many of the expected pods must be healthy. Throws PercentError. */
export function desiredHealthy({ spec }: PodDisruptionBudget, expected: number): number {
  const { minAvailable, maxUnavailable } = spec;
  if (maxUnavailable !== undefined) return Math.max(0, expected - scaledValueOf(maxUnavailable, expected, "up"));
  return minAvailable === undefined ? 0 : scaledValueOf(minAvailable, expected, "up");
}

export interface DisruptionCount {
  /** Evictions that are still waited for. */
  readonly pods: Readonly<Record<string, string>>;
  /** Pods whose eviction was allowed but which were not deleted in time. */
  readonly spared: readonly Pod[];
  /** In how many milliseconds the next eviction is no longer waited for. */
  readonly recheckMs: number | undefined;
}

export function disrupted({ status }: PodDisruptionBudget, pods: readonly Pod[], now: number): DisruptionCount {
  const { disruptedPods = {} } = status;
  const waiting: [name: string, time: string, leftMs: number][] = [];
  const spared: Pod[] = [];
  if (Object.keys(disruptedPods).length > 0)
    for (const pod of pods) {
      const { name, deletionTimestamp } = pod.metadata;
      const time = Object.hasOwn(disruptedPods, name) ? disruptedPods[name] : undefined;
      if (time === undefined || deletionTimestamp !== undefined) continue;
      const leftMs = millisOf(time) + deletionTimeoutMs - now;
      if (leftMs > 0) waiting.push([name, time, leftMs]);
      else spared.push(pod);
    }
  return {
    pods: Object.fromEntries(waiting.map(([name, time]) => [name, time])),
    spared,
    recheckMs: min(waiting.map(([, , leftMs]) => leftMs)),
  };
}

export interface Count {
  readonly pods: readonly Pod[];
  readonly expected: number;
  readonly desired: number;
  readonly disrupted: DisruptionCount["pods"];
  readonly now: number;
}

export function statusOf(budget: PodDisruptionBudget, count: Count): PodDisruptionBudgetStatus {
  const { pods, expected, desired, disrupted: evicted, now } = count;
  const healthy = pods.filter(
    (pod) => pod.metadata.deletionTimestamp === undefined && !Object.hasOwn(evicted, pod.metadata.name) && isReady(pod),
  ).length;
  // Without pods nothing is allowed: when the first come, this status may be older than they are.
  const allowed = expected > 0 ? Math.max(0, healthy - desired) : 0;
  const verdict = allowed > 0 ? (["True", "SufficientPods"] as const) : (["False", "InsufficientPods"] as const);
  const { generation } = budget.metadata;
  return {
    ...(Object.keys(evicted).length > 0 && { disruptedPods: evicted }),
    observedGeneration: generation,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    disruptionsAllowed: allowed,
    conditions: withCondition(budget, [...verdict, ""], generation, now),
  };
}

/** When pods cannot be counted, nothing is allowed. */
export const failedStatus = (budget: PodDisruptionBudget, message: string, now: number): PodDisruptionBudgetStatus => ({
  ...budget.status,
  disruptionsAllowed: 0,
  conditions: withCondition(budget, ["False", "SyncFailed", message], budget.status.observedGeneration, now),
});

function withCondition(
  { status: { conditions = [] } }: PodDisruptionBudget,
  [status, reason, message]: readonly [status: string, reason: string, message: string],
  observedGeneration: number | undefined,
  now: number,
): readonly Condition[] {
  const before = conditions.find(({ type }) => type === conditionType);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : timeOf(now);
  const condition = { type: conditionType, status, reason, message, lastTransitionTime, observedGeneration };
  return before ? conditions.map((one) => (one === before ? condition : one)) : [...conditions, condition];
}
