// What to do about the pods of a job: which to delete, or how many to create, or how long to wait.
// Upstream: pkg/controller/job/job_controller.go.
import type { Job } from "#api/batch/v1/job.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { min } from "#base/collections.ts";
import { isTerminating } from "#rules/pods.ts";
import { byStage } from "../deletion-cost.ts";
import { finishedAt, waitMs } from "./backoff.ts";
import { firstMissing, type Indexes, indexesOf, union } from "./indexes.ts";
import type { SeenIndexes, Sight } from "./look.ts";
import { allIndexFailures, completionIndex, isIndexed, replacesOnlyFailed } from "./pods.ts";

/** How many pods one reconcile creates or deletes at most. */
const burst = 500;
/** Pods often fail together, so a wait is never shorter than this: one reconcile then replaces all of them. */
const shortestWaitMs = 1000;

export type JobAction =
  /** The job ends: its pods are deleted, and counted. */
  | { readonly type: "end"; readonly pods: readonly Pod[] }
  /** Surplus pods: they are deleted without being counted. */
  | { readonly type: "discard"; readonly pods: readonly Pod[] }
  /** One pod each, for an index if the job has them. */
  | { readonly type: "create"; readonly indexes: readonly (number | undefined)[] }
  | { readonly type: "wait"; readonly forMs: number }
  | { readonly type: "none" };

const none: JobAction = { type: "none" };

export function decide(sight: Sight, now: number): JobAction {
  const { job, active, end, terminating } = sight;
  if (end) return { type: "end", pods: active };
  if (job.metadata.deletionTimestamp !== undefined) return none;
  if (job.spec.suspend) return { type: "discard", pods: active };
  const wanted = wantedActive(sight);
  const surplus = surplusPods(sight, Math.max(0, active.length - wanted)).slice(0, burst);
  // An indexed job may need both; what is too much goes first.
  if (surplus.length > 0) return { type: "discard", pods: surplus };
  const missing = wanted - active.length - (replacesOnlyFailed(job.spec) ? terminating : 0);
  return missing > 0 ? create(sight, Math.min(missing, burst), now) : none;
}

/** How many pods should run: never more than there is left to do. */
function wantedActive({ job, active, succeeded }: Sight): number {
  const { completions, parallelism = 0 } = job.spec;
  if (completions !== undefined) return Math.max(0, Math.min(parallelism, completions - succeeded));
  // Without a number of completions the first success means that the work is done: no pods are started or stopped after it.
  return succeeded > 0 ? active.length : parallelism;
}

function create(sight: Sight, count: number, now: number): JobAction {
  const { job, indexes, failures } = sight;
  const isPerIndex = job.spec.backoffLimitPerIndex !== undefined;
  const pause = isPerIndex ? 0 : waitMs(failures, now);
  if (pause > 0) return wait(pause);
  if (!indexes) return { type: "create", indexes: Array<undefined>(count).fill(undefined) };
  const pending = firstMissing(takenIndexes(sight, indexes), count, indexes.completions);
  if (!isPerIndex) return pending.length > 0 ? { type: "create", indexes: pending } : none;
  const pauses = pending.map((index) => indexWaitMs(indexes.held.get(index), now));
  const due = pending.filter((_, i) => pauses[i] === 0);
  if (due.length > 0) return { type: "create", indexes: due };
  const shortest = min(pauses);
  return shortest === undefined ? none : wait(shortest);
}

const wait = (ms: number): JobAction => ({ type: "wait", forMs: Math.max(ms, shortestWaitMs) });

const indexWaitMs = (failed: Pod | undefined, now: number): number =>
  failed ? waitMs({ count: allIndexFailures(failed) + 1, lastAt: finishedAt(failed) }, now) : 0;

function takenIndexes({ job, pods, active }: Sight, { succeeded, failed = [] }: SeenIndexes): Indexes {
  const leaving = replacesOnlyFailed(job.spec) ? pods.filter(isTerminating) : [];
  return union(succeeded, failed, indexesOf([...active, ...leaving].flatMap((pod) => completionIndex(pod) ?? [])));
}

/** Of an indexed job all that work on no index, on one it does not have, or on the same as another; and what else is too much. */
function surplusPods({ job, active }: Sight, atLeast: number): readonly Pod[] {
  const { surplus, left } = isIndexed(job) ? withoutDoubles(job, active) : { surplus: [], left: active };
  if (surplus.length >= atLeast) return surplus;
  return [...surplus, ...left.toSorted(byStage).slice(0, atLeast - surplus.length)];
}

function withoutDoubles(
  { spec }: Job,
  active: readonly Pod[],
): { readonly surplus: readonly Pod[]; readonly left: readonly Pod[] } {
  const surplus: Pod[] = [];
  const left: Pod[] = [];
  for (const [index, pods] of Map.groupBy(active, completionIndex)) {
    const isValid = index !== undefined && index < (spec.completions ?? 0);
    const ranked = pods.toSorted(byStage);
    surplus.push(...(isValid ? ranked.slice(0, -1) : ranked));
    if (isValid) left.push(...ranked.slice(-1));
  }
  return { surplus, left };
}
