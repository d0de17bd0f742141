// The books of a job: every pod that ends is counted once, however often a write fails or the controller starts anew.
//
// A pod carries a finalizer until it is counted. First its uid is written to the status as not counted yet; then the finalizer is
// taken from the pod; then its uid gives way to one more in the counter. A uid whose pod has no finalizer, or is gone, is
// therefore to be counted; one whose pod has it is not.
// Upstream: pkg/controller/job/job_controller.go and pkg/controller/job/tracking_utils.go.
import type { Job, JobCondition, JobStatus } from "#api/batch/v1/job.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { millisOf, timeOf } from "#schema/time.ts";
import { unlessZero } from "../replicas.ts";
import { condition, withCondition } from "./conditions.ts";
import { judge } from "./failure-policy.ts";
import { countOf, formatIndexes, has } from "./indexes.ts";
import { type Sight, type UncountedPods, uncountedOf } from "./look.ts";
import { completionIndex, isFailed, isIndexed, isTracked, validIndex } from "./pods.ts";

/** Keeps the uids in a status under 20 KB, and one job from keeping the others waiting. */
const mostUncounted = 500;

/** What came of the action. */
export interface PodOutcome {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
  /** Whether pods were created or deleted as needed, which is not done for a job that is being deleted. */
  readonly isManaged: boolean;
  readonly failure?: unknown;
}

export interface Books {
  /** The status to write before any finalizer is removed. */
  readonly status: JobStatus;
  /** The pods whose finalizers are removed after that write. */
  readonly counted: readonly Pod[];
  /** Uids of all pods that have a finalizer now. */
  readonly tracked: ReadonlySet<string>;
  /** The condition that the job ends with once all is counted. */
  readonly end: JobCondition | undefined;
  /** Whether this reconcile has suspended or resumed the job. */
  readonly turned: "Suspended" | "Resumed" | undefined;
}

export function account(sight: Sight, outcome: PodOutcome, now: number): Books {
  const { job, pods } = sight;
  const tracked = new Set(pods.filter(isTracked).map(uidOf));
  const ending = endingOf(sight, outcome, now);
  const { conditions, startTime, turned } = standingOf(sight, outcome, ending, now);
  const settled = settle(job.status, tracked);
  const { counted, uncounted, isFull } = count(sight, ending, settled);
  const status: JobStatus = {
    ...settled,
    ...indexCounts(sight),
    uncountedTerminatedPods: uncounted,
    conditions: ending?.interim ? withCondition(conditions, ending.interim) : conditions,
    startTime,
    active: unlessZero(outcome.active),
    ready: outcome.ready,
    terminating: outcome.terminating,
  };
  return { status, counted, tracked, end: isFull ? undefined : ending?.final, turned };
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? "";

/** The status without the uids of pods that have lost their finalizers, and with as many more in its counters. */
export function settle(status: JobStatus, tracked: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const left = {
    succeeded: succeeded.filter((uid) => tracked.has(uid)),
    failed: failed.filter((uid) => tracked.has(uid)),
  };
  return {
    ...status,
    succeeded: unlessZero((status.succeeded ?? 0) + succeeded.length - left.succeeded.length),
    failed: unlessZero((status.failed ?? 0) + failed.length - left.failed.length),
    uncountedTerminatedPods: unlessEmpty(left),
  };
}

const unlessEmpty = ({ succeeded, failed }: { succeeded: readonly string[]; failed: readonly string[] }) => ({
  ...(succeeded.length > 0 && { succeeded }),
  ...(failed.length > 0 && { failed }),
});

/** The status with the condition that ends the job, or undefined while something is not counted, or still running. */
export function finish(status: JobStatus, end: JobCondition | undefined, now: number): JobStatus | undefined {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  if (!end || succeeded.length + failed.length > 0 || (status.terminating ?? 0) > 0) return undefined;
  // A suspended job has no start time, and after a clock was set back it may lie in the future. The server requires one, not after the end.
  const startTime = status.startTime ?? timeOf(now);
  const completionTime = millisOf(startTime) > now ? startTime : timeOf(now);
  return {
    ...status,
    conditions: withCondition(status.conditions, end),
    startTime,
    ...(end.type === "Complete" && { completionTime }),
  };
}

interface Ending {
  /** The interim condition, unless the job has it already. */
  readonly interim?: JobCondition;
  readonly final: JobCondition;
  readonly isSuccess: boolean;
}

function endingOf({ job, end, succeeded }: Sight, { active }: PodOutcome, now: number): Ending | undefined {
  // Pods that could not be deleted may still run: the job cannot end before them.
  if (active > 0) return undefined;
  const isComplete = succeeded >= (job.spec.completions ?? 1);
  const reached = () =>
    condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods", now);
  const interim = end ?? (isComplete ? reached() : undefined);
  if (!interim) return undefined;
  if (interim.type === "Failed") return { final: interim, isSuccess: false };
  const { reason = "", message = "" } = interim;
  const isSuccess = interim.type === "SuccessCriteriaMet";
  return { interim, final: condition(isSuccess ? "Complete" : "Failed", reason, message, now), isSuccess };
}

/** Suspending clears the start time; resuming sets it again, so that the deadline counts from then. */
function standingOf(
  { job, end, startTime }: Sight,
  { isManaged }: PodOutcome,
  ending: Ending | undefined,
  now: number,
): Pick<JobStatus, "conditions" | "startTime"> & Pick<Books, "turned"> {
  const before = job.status.conditions;
  if (end || ending || !isManaged) return { conditions: before, startTime, turned: undefined };
  const wanted = job.spec.suspend
    ? condition("Suspended", "JobSuspended", "Job suspended", now)
    : { ...condition("Suspended", "JobResumed", "Job resumed", now), status: "False" };
  const conditions = withCondition(before, wanted);
  if (conditions === before) return { conditions, startTime, turned: undefined };
  return job.spec.suspend
    ? { conditions, startTime: undefined, turned: "Suspended" }
    : { conditions, startTime: timeOf(now), turned: "Resumed" };
}

interface Count {
  readonly counted: readonly Pod[];
  readonly uncounted: NonNullable<JobStatus["uncountedTerminatedPods"]>;
  /** Whether there are more uids than one write may carry. */
  readonly isFull: boolean;
}

function count(sight: Sight, ending: Ending | undefined, settled: JobStatus): Count {
  const { job, indexes } = sight;
  const uncountedBefore = uncountedOf(job);
  const { succeeded = [], failed = [] } = settled.uncountedTerminatedPods ?? {};
  const uncounted = { succeeded: [...succeeded], failed: [...failed] };
  const counted: Pod[] = [];
  let newIndexes = 0;
  for (const pod of indexes ? sight.pods.toSorted(byIndex) : sight.pods) {
    if (!isTracked(pod) || !mayLoseFinalizer(pod, sight, ending)) continue;
    counted.push(pod);
    const how = howItEnded(pod, job, uncountedBefore, ending);
    if (how === "succeeded" && indexes) {
      // Its index is in the status then, which is as good as a uid.
      const index = validIndex(pod, job);
      if (index !== undefined && !has(indexes.completed, index)) newIndexes++;
    } else if (how) uncounted[how].push(uidOf(pod));
    if (newIndexes + uncounted.succeeded.length + uncounted.failed.length >= mostUncounted)
      return { counted, uncounted: unlessEmpty(uncounted), isFull: true };
  }
  return { counted, uncounted: unlessEmpty(uncounted), isFull: false };
}

const byIndex = (a: Pod, b: Pod): number => (completionIndex(a) ?? -1) - (completionIndex(b) ?? -1);

function mayLoseFinalizer(pod: Pod, { job, indexes }: Sight, ending: Ending | undefined): boolean {
  if (job.metadata.deletionTimestamp !== undefined || ending || pod.status.phase === "Succeeded") return true;
  if (!isFailed(pod, job)) return false;
  const index = completionIndex(pod);
  return index === undefined || indexes?.held.get(index)?.metadata.uid !== pod.metadata.uid;
}

/** In which list the pod goes, if it is not there yet and counts. When a job has failed, all pods it still has have failed with it. */
function howItEnded(
  pod: Pod,
  job: Job,
  known: UncountedPods,
  ending: Ending | undefined,
): "succeeded" | "failed" | undefined {
  const uid = uidOf(pod);
  if (known.failed.has(uid)) return undefined;
  if (pod.status.phase === "Succeeded") return known.succeeded.has(uid) ? undefined : "succeeded";
  if (!isFailed(pod, job) && (!ending || ending.isSuccess)) return undefined;
  if (isIndexed(job) && validIndex(pod, job) === undefined) return undefined;
  return judge(job.spec.podFailurePolicy, pod).counts ? "failed" : undefined;
}

function indexCounts({ indexes }: Sight): Partial<JobStatus> {
  if (!indexes) return {};
  const { succeeded, failed } = indexes;
  return {
    succeeded: unlessZero(countOf(succeeded)),
    completedIndexes: formatIndexes(succeeded) || undefined,
    failedIndexes: failed && formatIndexes(failed),
  };
}
