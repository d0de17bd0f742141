// What of a job may change, and which changes of its status make sense.
import { equal } from "#base/collections.ts";
import { dns1123Label } from "#schema/formats.ts";
import { duplicate, invalid, type Problem, required } from "#schema/index.ts";
import { same } from "../../core/v1/checks/same.ts";
import type { PodSpec, PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { isValidSelector, selects } from "../../label-selection.ts";
import { invalidUnseen, unchanged } from "../../rules.ts";
import { countIndexes, firstOverlap } from "./indexes.ts";
import type { Job, JobCondition } from "./job.ts";

/** The labels that tie pods to their job; the short ones are older. */
const uidLabels = ["controller-uid", "batch.kubernetes.io/controller-uid"] as const;
const nameLabels = ["job-name", "batch.kubernetes.io/job-name"] as const;

/** Unless the selector is manual, the server made it and labelled the template; nobody may have changed that since. */
export function* checkGeneratedSelector(job: Job, old: Job | undefined): Iterable<Problem> {
  const { metadata, spec } = job;
  if (spec.manualSelector || !spec.selector) return;
  if (!metadata.uid) yield required("metadata.uid");
  const oldLabels = old?.spec.template.metadata.labels;
  const prefixed = !old || (oldLabels?.[uidLabels[1]] !== undefined && oldLabels[nameLabels[1]] !== undefined);
  const uid = metadata.uid ?? "";
  const name = metadata.name ?? ""; // that it is missing is told elsewhere
  const expected: Record<string, string> = { [uidLabels[0]]: uid, [nameLabels[0]]: name };
  if (prefixed) Object.assign(expected, { [uidLabels[1]]: uid, [nameLabels[1]]: name });
  const { labels = {} } = spec.template.metadata;
  for (const [label, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${label}]`;
    if (labels[label] === undefined) yield required(field, `must be '${value}'`);
    else if (labels[label] !== value) yield invalid(field, `must be '${value}'`, labels);
  }
  if (isValidSelector(spec.selector) && !selects(spec.selector, expected))
    yield invalid("spec.selector", "`selector` not auto-generated");
}

/** Pods of an indexed job are called after the job and their index, which must make a host name. */
export function* checkIndexedName({ metadata, spec }: Job): Iterable<Problem> {
  if (spec.completionMode !== "Indexed" || !spec.completions || spec.completions < 0) return;
  const name = metadata.name ?? "";
  const longest = `${name}-${spec.completions - 1}`;
  if (dns1123Label(longest).length > 0)
    yield invalid("metadata.name", `will not able to create pod with invalid DNS label: ${longest}`, name);
}

export function* checkJobUpdate(job: Job, old: Job): Iterable<Problem> {
  const { completions, parallelism } = job.spec;
  if (job.spec.completionMode !== "Indexed") yield* unchanged(job, old, "spec.completions");
  else if (completions !== undefined && completions !== old.spec.completions && completions !== parallelism)
    yield invalid("spec.completions", "can only be modified in tandem with spec.parallelism");
  yield* unchanged(job, old, "spec.selector");
  yield* checkTemplateUpdate(job, old);
  yield* unchanged(
    job,
    old,
    "spec.completionMode",
    "spec.podFailurePolicy",
    "spec.backoffLimitPerIndex",
    "spec.managedBy",
    "spec.successPolicy",
  );
}

/** While a job is suspended and has no pods, where its pods may run and what they may use can change; else nothing of the template can. */
function* checkTemplateUpdate({ spec: { template } }: Job, old: Job): Iterable<Problem> {
  const { suspend } = old.spec;
  const { startTime, conditions, active = 0 } = old.status;
  const free = suspend && (startTime === undefined || isTrue(conditions, "Suspended")) && active === 0;
  const before = free ? withDirectivesOf(template, old.spec.template) : old.spec.template;
  if (!free) {
    if (!same(template, before)) yield invalid("spec.template", "field is immutable");
  } else if (!same(template.spec, withResourcesOf(template.spec, before.spec)))
    yield invalid("spec.template.spec", "field is immutable");
}

function withDirectivesOf(template: PodTemplateSpec, old: PodTemplateSpec): PodTemplateSpec {
  const { nodeSelector, tolerations, schedulingGates, affinity } = template.spec;
  const { labels, annotations } = template.metadata;
  const { nodeAffinity: _, ...kept } = old.spec.affinity ?? {};
  const nodeAffinity = affinity?.nodeAffinity;
  const bare = !affinity && Object.keys(kept).length === 0;
  return {
    ...old,
    metadata: { ...old.metadata, labels, annotations },
    spec: {
      ...old.spec,
      nodeSelector,
      tolerations,
      schedulingGates,
      affinity: bare ? undefined : { ...kept, nodeAffinity },
    },
  };
}

function withResourcesOf(pod: PodSpec, old: PodSpec): PodSpec {
  type Containers = PodSpec["containers"];
  const resources = (now: Containers = [], before: Containers = []): Containers =>
    now.length !== before.length
      ? before
      : before.map((one, i) => (one.name === now[i]?.name ? { ...one, resources: now[i].resources } : one));
  return {
    ...old,
    containers: resources(pod.containers, old.containers),
    ...(old.initContainers && { initContainers: resources(pod.initContainers, old.initContainers) }),
  };
}

const isTrue = (conditions: readonly JobCondition[] = [], type: string): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === "True");
const isFalse = (conditions: readonly JobCondition[] = [], type: string): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === "False");

/** Each rule about a state holds when that state changes, so that a bad one does not block all that comes after. */
export function* checkJobStatus(job: Job, old: Job): Iterable<Problem> {
  yield* checkUncounted(job);
  yield* checkConditions(job, old);
  yield* checkTimes(job, old);
  yield* checkCounts(job, old);
  yield* checkIndexes(job, old);
}

function* checkUncounted({ status: { uncountedTerminatedPods: pods } }: Job): Iterable<Problem> {
  const seen = new Set<string>();
  for (const list of ["succeeded", "failed"] as const)
    for (const [i, uid] of (pods?.[list] ?? []).entries()) {
      const field = `status.uncountedTerminatedPods.${list}[${i}]`;
      if (uid === "") yield invalid(field, "must not be empty");
      else if (seen.has(uid)) yield duplicate(field);
      seen.add(uid);
    }
}

function* checkConditions(job: Job, old: Job): Iterable<Problem> {
  const { conditions } = job.status;
  const now = (type: string) => isTrue(conditions, type);
  const was = (type: string) => isTrue(old.status.conditions, type);
  const moved = (...types: readonly string[]) => types.some((type) => now(type) !== was(type));
  const refuse = (detail: string) => invalidUnseen("status.conditions", detail);

  if (moved("Complete", "Failed") && now("Complete") && now("Failed"))
    yield refuse("cannot set Complete=True and Failed=true conditions");
  if (moved("Complete", "FailureTarget") && now("Complete") && now("FailureTarget"))
    yield refuse("cannot set Complete=True and FailureTarget=true conditions");
  const failedMoved = moved("Failed") || old.status.failedIndexes !== job.status.failedIndexes;
  if (failedMoved && now("Failed") && !now("FailureTarget"))
    yield refuse("cannot set Failed=True condition without the FailureTarget=true condition");
  if (moved("Complete", "SuccessCriteriaMet") && now("Complete") && !now("SuccessCriteriaMet"))
    yield refuse("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
  if (now("SuccessCriteriaMet") && now("Failed"))
    yield refuse("cannot set SuccessCriteriaMet=True and Failed=true conditions");
  if (now("SuccessCriteriaMet") && now("FailureTarget"))
    yield refuse("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
  if (job.spec.successPolicy && !now("SuccessCriteriaMet") && now("Complete"))
    yield refuse("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
  for (const type of ["Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"])
    if (was(type) && !now(type))
      yield refuse(`cannot disable the ${type === "SuccessCriteriaMet" ? "" : "terminal "}${type}=True condition`);
  if (was("Complete") && !was("SuccessCriteriaMet") && now("SuccessCriteriaMet"))
    yield refuse("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}

const isComplete = ({ status }: Job) => isTrue(status.conditions, "Complete");
const isFinished = (job: Job) => isComplete(job) || isTrue(job.status.conditions, "Failed");

function* checkTimes(job: Job, old: Job): Iterable<Problem> {
  const { startTime, completionTime } = job.status;
  const startMoved = startTime !== old.status.startTime;
  const endMoved = completionTime !== old.status.completionTime;
  if (endMoved || isComplete(job) !== isComplete(old)) {
    if (completionTime !== undefined && !isComplete(job))
      yield invalid("status.completionTime", "cannot set completionTime when there is no Complete=True condition");
    if (completionTime === undefined && isComplete(job))
      yield required("status.completionTime", "completionTime is required for Complete jobs");
  }
  if ((startMoved || endMoved) && startTime && completionTime && Date.parse(completionTime) < Date.parse(startTime))
    yield invalid("status.completionTime", "must be equal to or after `startTime`");
  const idle = job.spec.suspend === true && job.spec.completions === 0;
  if ((isFinished(job) !== isFinished(old) || startMoved) && !idle && startTime === undefined && isFinished(job))
    yield required("status.startTime", "startTime is required for finished job");
  if (completionTime !== undefined && old.status.completionTime !== undefined && endMoved)
    yield invalid("status.completionTime", "field is immutable");
  const resumes = isTrue(old.status.conditions, "Suspended") && isFalse(job.status.conditions, "Suspended");
  if (startMoved && !resumes && old.status.startTime !== undefined && !job.spec.suspend)
    yield invalid("status.startTime", "field is immutable for unsuspended job once set");
}

function* checkCounts(job: Job, old: Job): Iterable<Problem> {
  const { active = 0, ready, terminating, failed = 0, succeeded = 0, uncountedTerminatedPods: uncounted } = job.status;
  const finishes = isFinished(job) !== isFinished(old);
  const activeMoved = active !== (old.status.active ?? 0);
  if (isFinished(job)) {
    if ((finishes || activeMoved) && active > 0) yield invalid("status.active", "active>0 is invalid for finished job");
    const left = (uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length;
    if ((finishes || !equal(uncounted, old.status.uncountedTerminatedPods)) && left > 0)
      yield invalid("status.uncountedTerminatedPods", "must be empty for finished job");
    if ((finishes || terminating !== old.status.terminating) && (terminating ?? 0) > 0)
      yield invalid("status.terminating", "terminating>0 is invalid for finished job");
  }
  if ((activeMoved || ready !== old.status.ready) && (ready ?? 0) > active)
    yield invalid("status.ready", "cannot set more ready pods than active");
  if (failed < (old.status.failed ?? 0)) yield invalid("status.failed", "cannot decrease the failed counter", failed);
  // An indexed job whose parallelism follows its completions can be made smaller.
  const elastic = job.spec.completionMode === "Indexed" && job.spec.completions === job.spec.parallelism;
  if (!elastic && succeeded < (old.status.succeeded ?? 0))
    yield invalid("status.succeeded", "cannot decrease the succeeded counter", succeeded);
}

function* checkIndexes({ spec, status }: Job, old: Job): Iterable<Problem> {
  const { completions, backoffLimitPerIndex, completionMode } = spec;
  const { completedIndexes = "", failedIndexes } = status;
  const completedMoved = completedIndexes !== (old.status.completedIndexes ?? "");
  const failedMoved = failedIndexes !== old.status.failedIndexes;
  if (completedMoved && completions !== undefined) yield* checkForm("completedIndexes", completedIndexes, completions);
  if (failedMoved && completions !== undefined && backoffLimitPerIndex !== undefined && failedIndexes !== undefined)
    yield* checkForm("failedIndexes", failedIndexes, completions);
  if (completedMoved && completedIndexes !== "" && completionMode !== "Indexed")
    yield invalid("status.completedIndexes", "cannot set non-empty completedIndexes when non-indexed completion mode");
  if (failedMoved && backoffLimitPerIndex === undefined && failedIndexes !== undefined)
    yield invalid("status.failedIndexes", "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
  if ((failedMoved || completedMoved) && completions !== undefined && failedIndexes && completedIndexes !== "") {
    const overlap = firstOverlap(completedIndexes, failedIndexes, completions);
    if (overlap !== undefined)
      yield invalid("status.failedIndexes", `failedIndexes and completedIndexes overlap at index: ${overlap}`);
  }
}

function* checkForm(field: string, text: string, completions: number): Iterable<Problem> {
  try {
    countIndexes(text, completions);
  } catch (error) {
    yield invalid(`status.${field}`, `error parsing ${field}: ${(error as Error).message}`);
  }
}
