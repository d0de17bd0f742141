// What keeps the number of replicas from jumping: recommendations of the past, how fast it may change, and its bounds. Pure: the past goes in
// and comes out again.
// Upstream: pkg/controller/podautoscaler/horizontal.go.
import type { HorizontalPodAutoscalerSpec, HPAScalingRules } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";

interface TimedRecommendation {
  readonly replicas: number;
  readonly at: number;
}
interface TimedChange {
  /** How many were added or removed. */
  readonly count: number;
  readonly at: number;
}

/** What is remembered of an autoscaler, in memory alone: another controller manager begins without. */
export interface ScalingHistory {
  readonly recommendations: readonly TimedRecommendation[];
  readonly ups: readonly TimedChange[];
  readonly downs: readonly TimedChange[];
}

export const newHistory = (replicas: number, now: number): ScalingHistory => ({
  recommendations: [{ replicas, at: now }],
  ups: [],
  downs: [],
});

export interface ConditionText {
  readonly reason: string;
  readonly message: string;
}

export interface NormalizedCount {
  readonly replicas: number;
  readonly history: ScalingHistory;
  /** For AbleToScale, which is true either way. */
  readonly stabilized: ConditionText;
  /** For ScalingLimited. */
  readonly limited: ConditionText & { readonly isLimited: boolean };
}

export interface NormalizationInput {
  readonly spec: Pick<HorizontalPodAutoscalerSpec, "minReplicas" | "maxReplicas" | "behavior">;
  readonly history: ScalingHistory;
  readonly current: number;
  /** What the metrics ask for. */
  readonly desired: number;
  readonly downscaleStabilizationMs: number;
  readonly now: number;
}

export function normalize(input: NormalizationInput): NormalizedCount {
  const { history, desired, now } = input;
  const { up, down } = windowsOf(input);
  const isRecent = ({ at }: TimedRecommendation) => at >= now - Math.max(up, down);
  const recommendations = [...history.recommendations.filter(isRecent), { replicas: desired, at: now }];
  const stable = input.spec.behavior ? stableWithin(input, up, down) : highestWithin(input, down);
  const limits = input.spec.behavior ? limitByRate(input, stable) : limitByDefault(input, stable);
  return {
    replicas: limits.replicas,
    history: { ...history, recommendations },
    stabilized: stable === desired ? readyForNewScale : stabilizedBy(input),
    limited: { ...limits.explanation, isLimited: limits.replicas !== stable },
  };
}

/** The history after a change that was made. Without policies nobody asks how fast it was. */
export function afterChange(
  history: ScalingHistory,
  behavior: HorizontalPodAutoscalerSpec["behavior"],
  { from, to, now }: { readonly from: number; readonly to: number; readonly now: number },
): ScalingHistory {
  if (!behavior) return history;
  const kept = (changes: readonly TimedChange[], rules: HPAScalingRules | undefined) => {
    const longestMs = Math.max(0, ...(rules?.policies ?? []).map(({ periodSeconds }) => periodSeconds * 1000));
    return [...changes.filter(({ at }) => at >= now - longestMs), { count: Math.abs(to - from), at: now }];
  };
  return to > from
    ? { ...history, ups: kept(history.ups, behavior.scaleUp) }
    : { ...history, downs: kept(history.downs, behavior.scaleDown) };
}

function windowsOf({ spec: { behavior }, downscaleStabilizationMs }: NormalizationInput) {
  const seconds = (rules: HPAScalingRules | undefined) => rules?.stabilizationWindowSeconds;
  const down = seconds(behavior?.scaleDown);
  return {
    up: (seconds(behavior?.scaleUp) ?? 0) * 1000,
    down: down === undefined ? downscaleStabilizationMs : down * 1000,
  };
}

/** The highest recommendation of the window. */
const highestWithin = ({ history, desired, now }: NormalizationInput, windowMs: number): number =>
  Math.max(
    desired,
    ...history.recommendations.filter(({ at }) => at >= now - windowMs).map(({ replicas }) => replicas),
  );

/** The present number, moved no further than between the lowest recommendation of one window and the highest of the other. */
function stableWithin({ history, current, desired, now }: NormalizationInput, upMs: number, downMs: number): number {
  const since = (windowMs: number) =>
    history.recommendations.filter(({ at }) => at > now - windowMs).map(({ replicas }) => replicas);
  const least = Math.min(desired, ...since(upMs));
  const highest = Math.max(desired, ...since(downMs));
  return Math.min(Math.max(current, least), highest);
}

const readyForNewScale: ConditionText = {
  reason: "ReadyForNewScale",
  message: "recommended size matches current size",
};

const stabilizedBy = ({ spec, current, desired }: NormalizationInput): ConditionText =>
  spec.behavior && desired >= current
    ? {
        reason: "ScaleUpStabilized",
        message: "recent recommendations were lower than current one, applying the lowest recent recommendation",
      }
    : {
        reason: "ScaleDownStabilized",
        message: "recent recommendations were higher than current one, applying the highest recent recommendation",
      };

interface ReplicaLimit {
  readonly replicas: number;
  readonly explanation: ConditionText;
}

const limitedBy = (replicas: number, reason: string, message: string): ReplicaLimit => ({
  replicas,
  explanation: { reason, message: `the desired ${message}` },
});
const within = (replicas: number): ReplicaLimit =>
  limitedBy(replicas, "DesiredWithinRange", "count is within the acceptable range");
const tooMany = (replicas: number): ReplicaLimit =>
  limitedBy(replicas, "TooManyReplicas", "replica count is more than the maximum replica count");
const tooFew = (replicas: number): ReplicaLimit =>
  limitedBy(replicas, "TooFewReplicas", "replica count is less than the minimum replica count");
const tooFastUp = (replicas: number): ReplicaLimit =>
  limitedBy(replicas, "ScaleUpLimit", "replica count is increasing faster than the maximum scale rate");
const tooFastDown = (replicas: number): ReplicaLimit =>
  limitedBy(replicas, "ScaleDownLimit", "replica count is decreasing faster than the maximum scale rate");

/** Without policies the number may double at most, or come to four. */
function limitByDefault({ spec, current }: NormalizationInput, wanted: number): ReplicaLimit {
  const { minReplicas, maxReplicas } = spec;
  const fastest = Math.max(2 * current, 4);
  if (wanted < minReplicas) return tooFew(minReplicas);
  if (wanted <= Math.min(maxReplicas, fastest)) return within(wanted);
  return maxReplicas > fastest ? tooFastUp(fastest) : tooMany(maxReplicas);
}

function limitByRate({ spec, history, current, now }: NormalizationInput, wanted: number): ReplicaLimit {
  const { minReplicas, maxReplicas, behavior } = spec;
  if (wanted > current) {
    const fastest = Math.max(current, policyLimit(current, behavior?.scaleUp, history, now, 1));
    if (wanted <= Math.min(maxReplicas, fastest)) return within(wanted);
    return maxReplicas > fastest ? tooFastUp(fastest) : tooMany(maxReplicas);
  }
  if (wanted < current) {
    const fastest = Math.min(current, policyLimit(current, behavior?.scaleDown, history, now, -1));
    if (wanted >= Math.max(minReplicas, fastest)) return within(wanted);
    return minReplicas < fastest ? tooFastDown(fastest) : tooFew(minReplicas);
  }
  return within(wanted);
}

/** How far the policies let the number go, up (1) or down (-1). */
function policyLimit(
  current: number,
  rules: HPAScalingRules | undefined,
  { ups, downs }: ScalingHistory,
  now: number,
  direction: 1 | -1,
): number {
  if (!rules || rules.selectPolicy === "Disabled") return current;
  const limits = (rules.policies ?? []).map(({ type, value, periodSeconds }) => {
    const changed = (changes: readonly TimedChange[]) =>
      changes.filter(({ at }) => at > now - periodSeconds * 1000).reduce((sum, { count }) => sum + count, 0);
    const atStart = current - changed(ups) + changed(downs);
    if (type === "Pods") return atStart + direction * value;
    const moved = atStart * (1 + (direction * value) / 100);
    // Rounded up, since a share of few pods would otherwise be none, and they could never become more.
    return direction === 1 ? Math.ceil(moved) : Math.trunc(moved);
  });
  const isLeastChange = rules.selectPolicy === "Min";
  return isLeastChange === (direction === 1) ? Math.min(...limits) : Math.max(...limits);
}
