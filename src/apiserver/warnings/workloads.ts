// Warnings about objects that make pods, besides those about the pods.
// Upstream: pkg/registry/apps/statefulset/strategy.go, pkg/api/job/warnings.go and pkg/registry/batch/cronjob/strategy.go.
import type { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import type { CronJob } from "#api/batch/v1/cron-job.ts";
import type { Job, JobSpec } from "#api/batch/v1/job.ts";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import type { PodTemplate } from "#api/core/v1/pod-template.ts";
import type { ServiceAccount } from "#api/core/v1/service-account.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import { podNameWarnings, templateWarnings } from "./pod.ts";
import { claimSpecWarnings } from "./storage.ts";

interface Workload {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly template?: PodTemplateSpec | undefined };
}

/** Of a template that is new: what did not change was told of before. */
export function* workloadWarnings({ metadata, spec }: Workload, old: Workload | undefined): Iterable<string> {
  if (spec.template && isNew(metadata, old)) yield* templateWarnings("spec.template", spec.template);
}

/** The same, where pods are called after the object. */
export function* namedWorkloadWarnings(object: Workload, old: Workload | undefined): Iterable<string> {
  if (!old) yield* podNameWarnings(object.metadata.name ?? "");
  yield* workloadWarnings(object, old);
}

export function* podTemplateWarnings(object: PodTemplate, old: PodTemplate | undefined): Iterable<string> {
  if (isNew(object.metadata, old)) yield* templateWarnings("template", object.template);
}

export function* statefulSetWarnings(object: StatefulSet, old: StatefulSet | undefined): Iterable<string> {
  yield* workloadWarnings(object, old);
  for (const [i, { spec }] of (object.spec.volumeClaimTemplates ?? []).entries())
    yield* claimSpecWarnings(`spec.volumeClaimTemplates[${i}]${old ? ".Spec" : ""}`, spec);
  if ((object.spec.revisionHistoryLimit ?? 0) < 0)
    yield "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
}

export function* jobWarnings({ metadata, spec }: Job, old: Job | undefined): Iterable<string> {
  if (!old) yield* podNameWarnings(metadata.name ?? "");
  if (isNew(metadata, old)) yield* jobSpecWarnings("spec", spec);
}

export function* cronJobWarnings({ metadata, spec }: CronJob, old: CronJob | undefined): Iterable<string> {
  if (!old) yield* podNameWarnings(metadata.name ?? "");
  if (isNew(metadata, old)) yield* jobSpecWarnings("spec.jobTemplate.spec", spec.jobTemplate.spec);
}

const mostTracked = { completions: 100_000, parallelism: 10_000 };

function* jobSpecWarnings(path: string, spec: JobSpec): Iterable<string> {
  const { completionMode, completions = 0, parallelism = 0, template } = spec;
  if (completionMode === "Indexed" && completions > mostTracked.completions && parallelism > mostTracked.parallelism)
    yield `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`;
  yield* templateWarnings(`${path}.template`, template);
}

const isNew = ({ generation }: ObjectMeta, old: { readonly metadata: ObjectMeta } | undefined): boolean =>
  generation !== old?.metadata.generation || !old;

const enforceMountable = "kubernetes.io/enforce-mountable-secrets";

export function* serviceAccountWarnings(
  { metadata }: ServiceAccount,
  old: ServiceAccount | undefined,
): Iterable<string> {
  const { annotations = {} } = metadata;
  if (Object.hasOwn(annotations, enforceMountable) && old?.metadata.annotations?.[enforceMountable] === undefined)
    yield `metadata.annotations[${enforceMountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
}
