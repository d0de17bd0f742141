import { bool, type Infer, int32, int64, list, ref, resource, string, struct, time } from "#schema/index.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const JobCondition = struct("batch/v1.JobCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastProbeTime: time(3),
  lastTransitionTime: time(4),
  reason: string(5),
  message: string(6),
});
export interface JobCondition extends Infer<typeof JobCondition> {}

export const PodFailurePolicyOnExitCodesRequirement = struct("batch/v1.PodFailurePolicyOnExitCodesRequirement", {
  containerName: string(1).pointer(),
  operator: string(2).oneOf("In", "NotIn").required(),
  values: list(3, "int32").asSet().required(),
});
export interface PodFailurePolicyOnExitCodesRequirement extends Infer<typeof PodFailurePolicyOnExitCodesRequirement> {}

export const PodFailurePolicyOnPodConditionsPattern = struct("batch/v1.PodFailurePolicyOnPodConditionsPattern", {
  type: string(1).required(),
  status: string(2).always().default("True"),
});
export interface PodFailurePolicyOnPodConditionsPattern extends Infer<typeof PodFailurePolicyOnPodConditionsPattern> {}

export const PodFailurePolicyRule = struct("batch/v1.PodFailurePolicyRule", {
  action: string(1).oneOf("Count", "FailIndex", "FailJob", "Ignore").required(),
  onExitCodes: ref(2, PodFailurePolicyOnExitCodesRequirement),
  onPodConditions: list(3, PodFailurePolicyOnPodConditionsPattern),
});
export interface PodFailurePolicyRule extends Infer<typeof PodFailurePolicyRule> {}

export const PodFailurePolicy = struct("batch/v1.PodFailurePolicy", {
  rules: list(1, PodFailurePolicyRule).required(),
});
export interface PodFailurePolicy extends Infer<typeof PodFailurePolicy> {}

export const SuccessPolicyRule = struct("batch/v1.SuccessPolicyRule", {
  succeededIndexes: string(1).pointer(),
  succeededCount: int32(2).pointer(),
});
export interface SuccessPolicyRule extends Infer<typeof SuccessPolicyRule> {}

export const SuccessPolicy = struct("batch/v1.SuccessPolicy", {
  rules: list(1, SuccessPolicyRule).required(),
});
export interface SuccessPolicy extends Infer<typeof SuccessPolicy> {}

export const JobSpec = struct("batch/v1.JobSpec", {
  parallelism: int32(1).pointer(),
  completions: int32(2).pointer(),
  activeDeadlineSeconds: int64(3).pointer(),
  podFailurePolicy: ref(11, PodFailurePolicy),
  successPolicy: ref(16, SuccessPolicy),
  backoffLimit: int32(7).pointer(),
  backoffLimitPerIndex: int32(12).pointer(),
  maxFailedIndexes: int32(13).pointer(),
  selector: ref(4, LabelSelector),
  manualSelector: bool(5).pointer(),
  template: ref(6, PodTemplateSpec).required(),
  ttlSecondsAfterFinished: int32(8).pointer(),
  completionMode: string(9).oneOf("Indexed", "NonIndexed").pointer(),
  suspend: bool(10).pointer(),
  podReplacementPolicy: string(14).oneOf("Failed", "TerminatingOrFailed").pointer(),
  managedBy: string(15).pointer(),
});
export interface JobSpec extends Infer<typeof JobSpec> {}

export const UncountedTerminatedPods = struct("batch/v1.UncountedTerminatedPods", {
  succeeded: list(1, "string").asSet(),
  failed: list(2, "string").asSet(),
});
export interface UncountedTerminatedPods extends Infer<typeof UncountedTerminatedPods> {}

export const JobStatus = struct("batch/v1.JobStatus", {
  conditions: list(1, JobCondition).patch("merge", "type"),
  startTime: time(2).pointer(),
  completionTime: time(3).pointer(),
  active: int32(4),
  succeeded: int32(5),
  failed: int32(6),
  terminating: int32(11).pointer(),
  completedIndexes: string(7),
  failedIndexes: string(10).pointer(),
  uncountedTerminatedPods: ref(8, UncountedTerminatedPods),
  ready: int32(9).pointer(),
});
export interface JobStatus extends Infer<typeof JobStatus> {}

export const Job = resource({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, JobSpec).default({}),
    status: ref(3, JobStatus).default({}),
  },
  subresources: { status: true },
});
export interface Job extends Infer<typeof Job> {}
