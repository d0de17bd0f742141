import { age, ageColumn, humanDuration, nameColumn } from "#schema/columns.ts";
import {
  bool,
  type Infer,
  int32,
  int64,
  invalid,
  list,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { validateObject } from "#schema/validate.ts";
import { containerColumns, selectorColumn } from "../../apps/v1/columns.ts";
import { under } from "../../core/v1/checks/problems.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { isValidSelector, selects } from "../../label-selection.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkJobSpec } from "./checks.ts";
import { checkGeneratedSelector, checkIndexedName, checkJobStatus, checkJobUpdate } from "./job-update.ts";

export const JobCondition = struct("batch/v1.JobCondition", {
  type: string(1, "What the condition is about: Complete, Failed, Suspended and others.").required(),
  status: string(2, "True, False or Unknown.").required(),
  lastProbeTime: time(3, "When the condition was last looked at."),
  lastTransitionTime: time(4, "When the status last changed."),
  reason: string(5, "Why it last changed, in one word."),
  message: string(6, "Why it last changed, in a sentence."),
});
export interface JobCondition extends Infer<typeof JobCondition> {}

export const PodFailurePolicyOnExitCodesRequirement = struct("batch/v1.PodFailurePolicyOnExitCodesRequirement", {
  containerName: string(1, "The container whose exit code counts; any container if absent.").pointer(),
  operator: string(2, "Whether the exit code must be among the values (In) or must not (NotIn).")
    .known("In", "NotIn")
    .required(),
  values: list(3, "int32", "Exit codes in ascending order.").asSet().required(),
});
export interface PodFailurePolicyOnExitCodesRequirement extends Infer<typeof PodFailurePolicyOnExitCodesRequirement> {}

export const PodFailurePolicyOnPodConditionsPattern = struct("batch/v1.PodFailurePolicyOnPodConditionsPattern", {
  type: string(1, "The type of the condition.").required(),
  status: string(2, "The status the condition must have.").always().default("True"),
});
export interface PodFailurePolicyOnPodConditionsPattern extends Infer<typeof PodFailurePolicyOnPodConditionsPattern> {}

export const PodFailurePolicyRule = struct("batch/v1.PodFailurePolicyRule", {
  action: string(1, "What follows: fail the job or the index, ignore the failure, or count it.")
    .known("Count", "FailIndex", "FailJob", "Ignore")
    .required(),
  onExitCodes: ref(2, PodFailurePolicyOnExitCodesRequirement, "Fits pods by the exit codes of their containers."),
  onPodConditions: list(3, PodFailurePolicyOnPodConditionsPattern, "Fits pods that have one of these conditions."),
});
export interface PodFailurePolicyRule extends Infer<typeof PodFailurePolicyRule> {}

export const PodFailurePolicy = struct("batch/v1.PodFailurePolicy", {
  rules: list(1, PodFailurePolicyRule, "Tried in order; the first that fits a failed pod decides.").required(),
});
export interface PodFailurePolicy extends Infer<typeof PodFailurePolicy> {}

export const SuccessPolicyRule = struct("batch/v1.SuccessPolicyRule", {
  succeededIndexes: string(1, "Indexes that must have succeeded, such as 1,3-5.").pointer(),
  succeededCount: int32(2, "How many indexes must have succeeded.").min(0).pointer(),
});
export interface SuccessPolicyRule extends Infer<typeof SuccessPolicyRule> {}

export const SuccessPolicy = struct("batch/v1.SuccessPolicy", {
  rules: list(1, SuccessPolicyRule, "The job has succeeded when one of these is met.").required(),
});
export interface SuccessPolicy extends Infer<typeof SuccessPolicy> {}

export const JobSpec = struct(
  "batch/v1.JobSpec",
  {
    parallelism: int32(1, "How many pods may run at the same time.").min(0).pointer(),
    completions: int32(2, "How many pods must succeed.").min(0).pointer(),
    activeDeadlineSeconds: int64(3, "Seconds after its start at which the job fails if it has not ended.")
      .min(0)
      .pointer(),
    podFailurePolicy: ref(11, PodFailurePolicy, "Decides what the failure of a pod means for the job."),
    successPolicy: ref(16, SuccessPolicy, "Lets the job succeed before all indexes have."),
    backoffLimit: int32(7, "How many failures of pods are retried before the job fails.").min(0).pointer(),
    backoffLimitPerIndex: int32(12, "How many failures of one index are retried before that index fails.")
      .min(0)
      .pointer(),
    maxFailedIndexes: int32(13, "How many indexes may fail before the job does.").min(0).pointer(),
    selector: ref(4, LabelSelector, "Which pods belong to the job; made by the server unless manualSelector is true."),
    manualSelector: bool(5, "Whether the selector and the labels of the template are yours to choose.").pointer(),
    template: ref(6, PodTemplateSpec, "The pod to run. Its restartPolicy is OnFailure or Never.").required(),
    ttlSecondsAfterFinished: int32(8, "Seconds after its end at which the job is deleted.").min(0).pointer(),
    completionMode: string(9, "Whether pods are alike (NonIndexed) or each has an index from 0 on (Indexed).")
      .oneOf("NonIndexed", "Indexed")
      .publishedAs("Indexed", "NonIndexed")
      .pointer(),
    suspend: bool(10, "While true, the job has no pods.").pointer(),
    podReplacementPolicy: string(14, "Whether a pod is replaced once it terminates, or only when it has failed.")
      .known("Failed", "TerminatingOrFailed")
      .pointer(),
    managedBy: string(15, "The controller in charge, if it is not the built-in one.").pointer(),
  },
  {
    problemOrder:
      "parallelism completions activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished backoffLimitPerIndex maxFailedIndexes managedBy completionMode podFailurePolicy successPolicy podReplacementPolicy template",
    *check(spec): Iterable<Problem> {
      yield* checkJobSpec(spec);
    },
  },
);
export interface JobSpec extends Infer<typeof JobSpec> {}

export const UncountedTerminatedPods = struct("batch/v1.UncountedTerminatedPods", {
  succeeded: list(1, "string", "Uids of pods that succeeded.").asSet(),
  failed: list(2, "string", "Uids of pods that failed.").asSet(),
});
export interface UncountedTerminatedPods extends Infer<typeof UncountedTerminatedPods> {}

export const JobStatus = struct("batch/v1.JobStatus", {
  conditions: list(1, JobCondition, "How the job is doing, and how it ended.").patch("merge", "type"),
  startTime: time(2, "When the job began, or was last resumed.").pointer(),
  completionTime: time(3, "When the job succeeded.").pointer(),
  active: int32(4, "Pods that are not finished.").min(0),
  succeeded: int32(5, "Pods that succeeded.").min(0),
  failed: int32(6, "Pods that failed.").min(0),
  terminating: int32(11, "Pods that are shutting down.").min(0).pointer(),
  completedIndexes: string(7, "Indexes that succeeded, such as 1,3-5."),
  failedIndexes: string(10, "Indexes that failed for good, such as 1,3-5.").pointer(),
  uncountedTerminatedPods: ref(8, UncountedTerminatedPods, "Pods that ended and are not in the counters yet."),
  ready: int32(9, "Active pods that are ready.").min(0).pointer(),
});
export interface JobStatus extends Infer<typeof JobStatus> {}

export const Job = resource({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  categories: ["all"],
  scope: "Namespaced",
  doc: "Runs pods until a number of them have succeeded.",
  fields: {
    spec: ref(2, JobSpec, "What is wanted.").default({}),
    status: ref(3, JobStatus, "What has happened.").default({}),
  },
  subresources: { status: true },
  selectableFields: { "status.successful": ({ status }) => String(status.succeeded ?? 0) },
  columns: [
    nameColumn,
    { name: "Status", doc: "How the job is doing.", cell: statusWord },
    { name: "Completions", doc: "Pods that succeeded, of those that must.", cell: completionsWord },
    {
      name: "Duration",
      doc: "How long the job ran, or has been running.",
      cell: ({ status: { startTime, completionTime } }, now) => {
        if (startTime === undefined) return "";
        return completionTime === undefined
          ? age(startTime, now)
          : humanDuration(Date.parse(completionTime) - Date.parse(startTime));
      },
    },
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  complete({ metadata, spec }) {
    if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
    spec.parallelism ??= 1;
    spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1;
    const { labels } = spec.template?.metadata ?? {};
    // The very same labels: what is added to those of the template is added to the job's.
    if (labels && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = labels;
    spec.completionMode ??= "NonIndexed";
    spec.suspend ??= false;
    spec.podReplacementPolicy ??= spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed";
    spec.manualSelector ??= false;
  },
  *check(job, old): Iterable<Problem> {
    yield* checkGeneratedSelector(job, old);
    yield* checkSelector(job.spec);
    yield* checkIndexedName(job);
    if (!old) return;
    // Upstream checks the spec once more, so that answers name each of its problems twice.
    yield* under("spec", validateObject(JobSpec, job.spec));
    yield* checkSelector(job.spec);
    yield* checkJobUpdate(job, old);
  },
  *checkStatus(job, old): Iterable<Problem> {
    yield* checkJobStatus(job, old);
  },
});
export interface Job extends Infer<typeof Job> {}

function* checkSelector({ selector, template }: JobSpec): Iterable<Problem> {
  if (!selector) yield required("spec.selector");
  if (isValidSelector(selector) && !selects(selector, template.metadata.labels))
    yield invalid("spec.template.metadata.labels", "`selector` does not match template `labels`");
}

interface Shown {
  readonly metadata: { readonly deletionTimestamp?: string | undefined };
  readonly spec: JobSpec;
  readonly status: JobStatus;
}

function statusWord({ metadata, status }: Shown): string {
  const holds = (type: string) =>
    (status.conditions ?? []).some((condition) => condition.type === type && condition.status === "True");
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(holds) ?? "Running";
}

function completionsWord({ spec: { completions, parallelism = 0 }, status: { succeeded = 0 } }: Shown): string {
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}
