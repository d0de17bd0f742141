// Why a Job has not done its work, and why a CronJob has not begun any.

import type { CronJob } from "#api/batch/v1/cron-job.ts";
import type { Job } from "#api/batch/v1/job.ts";
import type { Event } from "#api/core/v1/event.ts";
import { own } from "#base/collections.ts";
import { conditionIn } from "#rules/conditions.ts";
import { hasEnded } from "#rules/pods.ts";
import { conditionEvidence, counted, type Evidence, eventEvidence, lastEvent, type Reason, sinceOf } from "./reason.ts";
import { podParts, refusalRemedies, refusedLast, type WorkloadFacts } from "./workload.ts";

const failedRemedies: Readonly<Record<string, string>> = {
  BackoffLimitExceeded: "find out why its pods fail, then delete the Job and create it again",
  DeadlineExceeded: "raise activeDeadlineSeconds, or find out what takes so long; then create it again",
  PodFailurePolicy: "see which rule of its podFailurePolicy was met",
};

export function jobReason({ owner, pods, events }: WorkloadFacts<Job>): Reason {
  const { spec, status } = owner;
  const { active = 0, succeeded = 0, failed = 0, startTime, completionTime, conditions } = status;
  const is = (type: string) => {
    const one = conditionIn(conditions, type);
    return one?.status === "True" ? one : undefined;
  };
  const parts = podParts(pods, pods.length);
  const wanted = spec.completions ?? spec.parallelism ?? 1;
  if (is("Complete"))
    return {
      code: "Complete",
      state: "fine",
      says: `has done its work: ${counted(succeeded, "pod")} succeeded`,
      ...sinceOf(completionTime),
    };
  const end = is("Failed") ?? is("FailureTarget");
  if (end)
    return {
      code: end.reason || "Failed",
      state: "wrong",
      says: `has failed: ${end.message || end.reason}`,
      ...sinceOf(end.lastTransitionTime),
      evidence: conditionEvidence(end),
      remedies: [own(failedRemedies, end.reason ?? "") ?? "see why its pods failed"],
      parts,
    };
  if (spec.suspend)
    return {
      code: "Suspended",
      state: "fine",
      says: "is suspended, and has no pods until it is resumed",
      evidence: conditionEvidence(is("Suspended")),
      remedies: [`kubectl patch job ${owner.metadata.name} --type=merge -p '{"spec":{"suspend":false}}'`],
    };
  const refused = active === 0 ? refusedLast(events) : undefined;
  if (refused)
    return {
      code: "FailedCreate",
      state: "wrong",
      says: "cannot make its pods: they are refused",
      ...sinceOf(refused.firstTimestamp),
      evidence: eventEvidence(refused),
      remedies: refusalRemedies(refused.message ?? ""),
      parts,
    };
  const running = podParts(
    pods.filter(({ pod }) => !hasEnded(pod)),
    pods.length,
  );
  const [worst] = running;
  const says = `${succeeded} of ${wanted} done, ${active} running${failed > 0 ? `, ${counted(failed, "failure")} so far (${spec.backoffLimit ?? 6} allowed)` : ""}`;
  const isTroubled = worst?.reason.state === "wrong";
  const isRetrying = !isTroubled && active === 0 && failed > 0;
  return {
    code: isTroubled ? worst.reason.code : isRetrying ? "Retrying" : "Progressing",
    state: isTroubled || isRetrying ? "wrong" : "underway",
    says: `is at work: ${says}`,
    ...sinceOf(startTime),
    evidence: backoffEvidence(events),
    remedies:
      (isTroubled ? worst.reason.remedies : parts.find(({ reason }) => reason.state === "wrong")?.reason.remedies) ??
      [],
    parts,
  };
}

const backoffEvidence = (events: readonly Event[]): readonly Evidence[] =>
  eventEvidence(lastEvent(events, ["BackoffLimitExceeded"]));

export interface CronJobFacts {
  readonly owner: CronJob;
  readonly events: readonly Event[];
}

export function cronJobReason({ owner, events }: CronJobFacts): Reason {
  const { spec, status } = owner;
  const schedule = `${spec.schedule}${spec.timeZone ? ` in ${spec.timeZone}` : ""}`;
  if (spec.suspend)
    return { code: "Suspended", state: "fine", says: `is suspended; else it would start a Job at ${schedule}` };
  const trouble = lastEvent(events, [
    "FailedCreate",
    "FailedNeedsStart",
    "UnparseableSchedule",
    "InvalidSchedule",
    "UnknownTimeZone",
    "TooManyMissedTimes",
    "MissSchedule",
    "JobAlreadyActive",
  ]);
  const running = status.active?.length ?? 0;
  const last = status.lastScheduleTime;
  return {
    code: trouble?.reason ?? "Scheduled",
    state: trouble?.type === "Warning" ? "wrong" : "fine",
    says: `starts a Job at ${schedule}; ${running > 0 ? `${counted(running, "Job")} run now` : "none runs now"}${last ? "" : ", and none was due yet"}`,
    ...sinceOf(last),
    evidence: eventEvidence(trouble),
    remedies: trouble?.reason === "FailedCreate" ? refusalRemedies(trouble.message ?? "") : [],
  };
}
