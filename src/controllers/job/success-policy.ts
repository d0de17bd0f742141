// Upstream: pkg/controller/job/success_policy.go.
import type { SuccessPolicy } from "#api/batch/v1/job.ts";
import { countOf, type Indexes, overlap, parseIndexes } from "./indexes.ts";

/** Why the indexes that have succeeded are enough for the job, or undefined if they are not. */
export function metRule(policy: SuccessPolicy | undefined, completions: number, done: Indexes): string | undefined {
  if (!policy || done.length === 0) return undefined;
  const met = policy.rules.findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && countOf(done) >= succeededCount;
    const wanted = parseIndexes(succeededIndexes, completions);
    if (wanted.length === 0) return false;
    const both = overlap(wanted, done);
    return both === countOf(wanted) || (succeededCount !== undefined && both >= succeededCount);
  });
  return met < 0 ? undefined : `Matched rules at index ${met}`;
}
