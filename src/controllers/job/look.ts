// What the pods of a job amount to, and whether that ends it.
// Upstream: pkg/controller/job/job_controller.go.
import type { Job, JobCondition } from "#api/batch/v1/job.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { isReady } from "#rules/conditions.ts";
import { isActive, isTerminating } from "#rules/pods.ts";
import { millisOf, timeOf } from "#schema/time.ts";
import { type Failures, finishedAt, nextFailures } from "./backoff.ts";
import { condition, findTrue } from "./conditions.ts";
import { judge } from "./failure-policy.ts";
import { countOf, has, type Indexes, indexesOf, parseIndexes, union } from "./indexes.ts";
import { allIndexFailures, indexFailures, isFailed, isIndexed, isTracked, validIndex } from "./pods.ts";
import { metRule } from "./success-policy.ts";

export interface Sight {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: number;
  /** Counted or not: pods, or indexes if the job has them. */
  readonly succeeded: number;
  readonly startTime: string | undefined;
  readonly failures: Failures | undefined;
  readonly indexes: SeenIndexes | undefined;
  /** The condition that ends the job, if one does: the interim one, or `Failed` for an interim one that was there before. */
  readonly end: JobCondition | undefined;
  /** In how many milliseconds the job's time is over. */
  readonly deadlineMs: number | undefined;
}

export interface SeenIndexes {
  readonly completions: number;
  /** Those whose success is in the status already. */
  readonly completed: Indexes;
  readonly succeeded: Indexes;
  /** Only of jobs that limit the failures of each index. */
  readonly failed: Indexes | undefined;
  /** The last failed pod of each index that has none now. It stays until it is replaced, since it knows how often the index failed. */
  readonly held: ReadonlyMap<number, Pod>;
}

/** `failuresBefore` are the failures that were seen before. */
export function look(job: Job, pods: readonly Pod[], failuresBefore: Failures | undefined, now: number): Sight {
  const { spec, status } = job;
  const active = pods.filter(isActive);
  const uncounted = uncountedOf(job);
  const isNew = (pod: Pod, known: ReadonlySet<string>) =>
    isTracked(pod) && !known.has(pod.metadata.uid ?? "") && (!isIndexed(job) || validIndex(pod, job) !== undefined);
  const succeeded = pods.filter((pod) => pod.status.phase === "Succeeded" && isNew(pod, uncounted.succeeded));
  const failed = pods.filter((pod) => isFailed(pod, job) && isNew(pod, uncounted.failed));
  const countedFailures = failed.filter((pod) => judge(spec.podFailurePolicy, pod).counts).length;
  const indexes = isIndexed(job) ? lookAtIndexes(job, pods, active) : undefined;
  const startTime = status.startTime ?? (spec.suspend ? undefined : timeOf(now));
  const totals: Totals = {
    failed: (status.failed ?? 0) + countedFailures + uncounted.failed.size,
    leftMs: timeLeft(job, startTime, now),
    indexes,
  };
  const podsSucceeded = (status.succeeded ?? 0) + succeeded.length + uncounted.succeeded.size;
  const end = endOf(job, pods, totals, now);
  return {
    job,
    pods,
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating).length,
    succeeded: indexes ? countOf(indexes.succeeded) : podsSucceeded,
    startTime,
    failures: nextFailures(failuresBefore, succeeded, failed),
    indexes,
    end,
    deadlineMs: end ? undefined : totals.leftMs,
  };
}

export interface UncountedPods {
  readonly succeeded: ReadonlySet<string>;
  readonly failed: ReadonlySet<string>;
}

/** The uids of pods that have ended and are not in the counters yet. */
export function uncountedOf({ status }: Job): UncountedPods {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  return { succeeded: new Set(succeeded), failed: new Set(failed) };
}

interface Totals {
  readonly failed: number;
  readonly leftMs: number | undefined;
  readonly indexes: SeenIndexes | undefined;
}

function timeLeft({ spec }: Job, startTime: string | undefined, now: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || startTime === undefined || spec.suspend) return undefined;
  return millisOf(startTime) + spec.activeDeadlineSeconds * 1000 - now;
}

/** An interim condition of before stays; else failures come before successes. Whether all completions are there is checked later. */
function endOf(job: Job, pods: readonly Pod[], totals: Totals, now: number): JobCondition | undefined {
  const { conditions } = job.status;
  const met = findTrue(conditions, "SuccessCriteriaMet");
  if (met) return met;
  const target = findTrue(conditions, "FailureTarget");
  if (target) return condition("Failed", target.reason ?? "", target.message ?? "", now);
  const failed = failureOf(job, pods, totals);
  if (failed) return condition("FailureTarget", ...failed, now);
  const { indexes } = totals;
  const rule = indexes && metRule(job.spec.successPolicy, indexes.completions, indexes.succeeded);
  return rule === undefined ? undefined : condition("SuccessCriteriaMet", "SuccessPolicy", rule, now);
}

/** Reason and message. */
function failureOf(job: Job, pods: readonly Pod[], totals: Totals): readonly [string, string] | undefined {
  const { podFailurePolicy, backoffLimit = 0, maxFailedIndexes } = job.spec;
  if (podFailurePolicy)
    for (const pod of pods) {
      const { failsJob } = isFailed(pod, job) ? judge(podFailurePolicy, pod) : {};
      if (failsJob !== undefined) return ["PodFailurePolicy", failsJob];
    }
  if (totals.failed > backoffLimit || restartedTooOften(job, pods))
    return ["BackoffLimitExceeded", "Job has reached the specified backoff limit"];
  if (totals.leftMs !== undefined && totals.leftMs <= 0)
    return ["DeadlineExceeded", "Job was active longer than specified deadline"];
  const { failed, succeeded, completions = 0 } = totals.indexes ?? {};
  if (!failed || !succeeded) return undefined;
  if (maxFailedIndexes !== undefined && countOf(failed) > maxFailedIndexes)
    return ["MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"];
  if (failed.length > 0 && countOf(failed) + countOf(succeeded) >= completions)
    return ["FailedIndexes", "Job has failed indexes"];
  return undefined;
}

/** Containers that are restarted in place fail without a pod that fails. */
function restartedTooOften({ spec }: Job, pods: readonly Pod[]): boolean {
  if (spec.template.spec.restartPolicy !== "OnFailure") return false;
  const { backoffLimit = 0 } = spec;
  let restarts = 0;
  for (const { status } of pods)
    if (status.phase === "Running" || status.phase === "Pending")
      for (const { restartCount } of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
        restarts += restartCount;
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit;
}

function lookAtIndexes(job: Job, pods: readonly Pod[], active: readonly Pod[]): SeenIndexes {
  const { completions = 0, backoffLimitPerIndex } = job.spec;
  const { completedIndexes = "", failedIndexes = "" } = job.status;
  const uncounted = pods.filter((pod) => isTracked(pod) && validIndex(pod, job) !== undefined);
  const indexesWhere = (holds: (pod: Pod) => boolean) =>
    indexesOf(uncounted.filter(holds).flatMap((pod) => validIndex(pod, job) ?? []));
  const completed = parseIndexes(completedIndexes, completions);
  const succeeded = union(
    completed,
    indexesWhere(({ status }) => status.phase === "Succeeded"),
  );
  if (backoffLimitPerIndex === undefined)
    return { completions, completed, succeeded, failed: undefined, held: new Map<number, Pod>() };
  const failed = union(
    parseIndexes(failedIndexes, completions),
    indexesWhere((pod) => failsIndex(job, pod, backoffLimitPerIndex)),
  );
  const busy = union(succeeded, failed, indexesOf(active.flatMap((pod) => validIndex(pod, job) ?? [])));
  return { completions, completed, succeeded, failed, held: heldPods(job, uncounted, busy) };
}

function failsIndex(job: Job, pod: Pod, limit: number): boolean {
  if (!isFailed(pod, job)) return false;
  const { action, counts } = judge(job.spec.podFailurePolicy, pod);
  return action === "FailIndex" || (counts && indexFailures(pod) >= limit);
}

function heldPods(job: Job, uncounted: readonly Pod[], busy: Indexes): ReadonlyMap<number, Pod> {
  const held = new Map<number, Pod>();
  for (const pod of uncounted) {
    const index = validIndex(pod, job);
    if (index === undefined || !isFailed(pod, job) || has(busy, index)) continue;
    const other = held.get(index);
    const isLater =
      other === undefined || (allIndexFailures(other) <= allIndexFailures(pod) && finishedAt(pod) >= finishedAt(other));
    if (isLater) held.set(index, pod);
  }
  return held;
}
