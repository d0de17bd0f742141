// The conditions of a job: how they are found, and how they change.
// Upstream: pkg/controller/job/job_controller.go and pkg/controller/job/util/utils.go.
import type { Job, JobCondition } from "#api/batch/v1/job.ts";
import { timeOf } from "#schema/time.ts";

export type JobConditionType = "Complete" | "Failed" | "FailureTarget" | "SuccessCriteriaMet" | "Suspended";
type Conditions = readonly JobCondition[] | undefined;

export function condition(type: JobConditionType, reason: string, message: string, now: number): JobCondition {
  const at = timeOf(now);
  return { type, status: "True", lastProbeTime: at, lastTransitionTime: at, reason, message };
}

export const findTrue = (conditions: Conditions, type: JobConditionType): JobCondition | undefined =>
  conditions?.find((one) => one.type === type && one.status === "True");

/** The condition the job ended with, `Complete` or `Failed`; undefined if it has not ended. */
export const endCondition = ({ status }: Job): JobCondition | undefined =>
  status.conditions?.find(({ type, status: holds }) => (type === "Complete" || type === "Failed") && holds === "True");

export const isFinished = (job: Job): boolean => endCondition(job) !== undefined;

/** With the condition as given; the very same list if it says so already, or denies what was never said. */
export function withCondition(conditions: Conditions, wanted: JobCondition): Conditions {
  const present = conditions?.find(({ type }) => type === wanted.type);
  if (!present) return wanted.status === "False" ? conditions : [...(conditions ?? []), wanted];
  const { status, reason, message } = present;
  if (status === wanted.status && reason === wanted.reason && message === wanted.message) return conditions;
  return conditions?.map((one) => (one === present ? wanted : one));
}
