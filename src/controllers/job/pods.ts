// The pods of a job: what tells them apart, and how they are made.
// Upstream: pkg/controller/job/job_controller.go and pkg/controller/job/indexed_job_utils.go.
import type { Job, JobSpec } from "#api/batch/v1/job.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { hasEnded } from "#rules/pods.ts";
import { judge } from "./failure-policy.ts";

/** Keeps a pod of a job from vanishing before it was counted. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
/** Also a label, which the environment variable is read from. */
const indexAnnotation = "batch.kubernetes.io/job-completion-index";
const failuresAnnotation = "batch.kubernetes.io/job-index-failure-count";
const ignoredFailuresAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count";
const indexVariable = "JOB_COMPLETION_INDEX";
/** The longest prefix: the server cuts the end of longer names, where the index is. */
const longestGenerateName = 58;

export const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(trackingFinalizer) === true;

export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === "Indexed";

/** Whether a pod is replaced only once it has ended, not as soon as it is being deleted. */
export const replacesOnlyFailed = ({ podReplacementPolicy, podFailurePolicy }: JobSpec): boolean =>
  podReplacementPolicy === "Failed" || podFailurePolicy !== undefined;

/** Whether the pod counts as failed. One that is deleted may never come to say so itself: its node may be gone. */
export const isFailed = (pod: Pod, { spec }: Job): boolean =>
  pod.status.phase === "Failed" ||
  (!replacesOnlyFailed(spec) && pod.metadata.deletionTimestamp !== undefined && !hasEnded(pod));

/** The index the pod works on, if it says so. */
export const completionIndex = (pod: Pod): number | undefined => natural(pod, indexAnnotation);

/** The index of a pod of an indexed job, if it is one that the job has. */
export function validIndex(pod: Pod, { spec }: Job): number | undefined {
  const index = completionIndex(pod);
  return index !== undefined && index < (spec.completions ?? 0) ? index : undefined;
}

/** How often the index had failed before this pod, not counting failures that were ignored. */
export const indexFailures = (pod: Pod): number => int32(natural(pod, failuresAnnotation));

/** The same, counting ignored failures as well. */
export const allIndexFailures = (pod: Pod): number =>
  indexFailures(pod) + int32(natural(pod, ignoredFailuresAnnotation));

function natural({ metadata }: Pod, annotation: string): number | undefined {
  const text = metadata.annotations?.[annotation] ?? "";
  return /^\+?\d+$/.test(text) ? Number(text) : undefined;
}

const int32 = (count = 0): number => (count < 2 ** 31 ? count : 0);

export interface JobPod {
  readonly template: PodTemplateSpec;
  readonly generateName?: string;
}

/** The pod to create: for an index if the job has them, in the place of one that failed if the index has failed before. */
export function podOf(job: Job, index: number | undefined, failed: Pod | undefined): JobPod {
  const { template } = job.spec;
  const { metadata, spec } = template;
  const finalizers = [...new Set([...(metadata.finalizers ?? []), trackingFinalizer])];
  if (index === undefined) return { template: { ...template, metadata: { ...metadata, finalizers } } };
  const { containers, initContainers } = spec;
  return {
    generateName: indexedName(job.metadata.name, index),
    template: {
      ...template,
      metadata: {
        ...metadata,
        finalizers,
        labels: { ...metadata.labels, [indexAnnotation]: `${index}` },
        annotations: {
          ...metadata.annotations,
          [indexAnnotation]: `${index}`,
          ...(job.spec.backoffLimitPerIndex !== undefined && failureAnnotations(job, failed)),
        },
      },
      spec: {
        ...spec,
        hostname: `${job.metadata.name}-${index}`,
        containers: containers.map(knowingIndex),
        ...(initContainers && { initContainers: initContainers.map(knowingIndex) }),
      },
    },
  };
}

function indexedName(job: string, index: number): string {
  const end = `-${index}-`;
  return `${job.slice(0, longestGenerateName - end.length)}${end}`;
}

/** So that the count of failures survives the pods that failed. */
function failureAnnotations({ spec }: Job, failed: Pod | undefined): Record<string, string> {
  if (!failed) return { [failuresAnnotation]: "0" };
  const { counts } = judge(spec.podFailurePolicy, failed);
  const ignored = allIndexFailures(failed) - indexFailures(failed) + (counts ? 0 : 1);
  return {
    [failuresAnnotation]: `${indexFailures(failed) + (counts ? 1 : 0)}`,
    ...(ignored > 0 && { [ignoredFailuresAnnotation]: `${ignored}` }),
  };
}

function knowingIndex(container: Container): Container {
  const { env = [] } = container;
  if (env.some(({ name }) => name === indexVariable)) return container;
  const valueFrom = { fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${indexAnnotation}']` } };
  return { ...container, env: [...env, { name: indexVariable, valueFrom }] };
}
