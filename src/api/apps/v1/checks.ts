// What the kinds that keep pods running have in common: a selector, a template, and numbers that may be percentages.
// Upstream: pkg/apis/apps/validation/validation.go.
import { forbidden, invalid, notSupported, type Problem } from "#schema/index.ts";
import type { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { isEmptySelector, isValidSelector, selects } from "../../label-selection.ts";
import type { LabelSelector } from "../../meta/label-selector.ts";

interface Selecting {
  readonly selector?: LabelSelector | undefined;
  readonly template: PodTemplateSpec;
}

/** The selector of a Deployment, ReplicaSet or StatefulSet: there, valid, not empty, and one that selects the template. */
export function* checkSelector(spec: Selecting, kind: string, whenInvalid: string): Iterable<Problem> {
  const { selector, template } = spec;
  if (selector && isEmptySelector(selector)) {
    yield invalid("selector", `empty selector is invalid for ${kind}`);
    return;
  }
  if (selector !== undefined && !isValidSelector(selector)) yield invalid("selector", whenInvalid);
  else if (!selects(selector, template.metadata.labels)) yield unselected;
}

/** Pods of a set that is meant to run for ever must restart for ever. */
export function* checkRunsForever({ template }: Selecting, kind: string): Iterable<Problem> {
  const { restartPolicy, activeDeadlineSeconds } = template.spec;
  if (restartPolicy !== "Always") yield notSupported("template.spec.restartPolicy", ["Always"]);
  if (activeDeadlineSeconds !== undefined)
    yield forbidden("template.spec.activeDeadlineSeconds", `activeDeadlineSeconds in ${kind} is not Supported`);
}

export const unselected = invalid("template.metadata.labels", "`selector` does not match template `labels`");

export function* checkCountOrPercent(field: string, value: number | string | undefined): Iterable<Problem> {
  if (typeof value === "string") {
    if (percentOf(value) === undefined)
      yield invalid(
        field,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      );
  } else if (value !== undefined && value < 0) yield invalid(field, "must be greater than or equal to 0");
}

export function* checkAtMost100Percent(field: string, value: number | string | undefined): Iterable<Problem> {
  if ((percentOf(value) ?? 0) > 100) yield invalid(field, "must not be greater than 100%");
}

/** Whether a count or percentage comes to nothing. Text that is neither counts as nothing. */
export const isNone = (value: number | string | undefined): boolean =>
  (percentOf(value) ?? (Number.parseInt(String(value ?? 0), 10) || 0)) === 0;

const percentOf = (value: number | string | undefined): number | undefined =>
  typeof value === "string" && /^[0-9]+%$/.test(value) ? Number.parseInt(value, 10) : undefined;

/** Counts of pods that cannot exceed the number of pods there are. */
export function* checkAtMostReplicas<S extends { readonly replicas?: number | undefined }>(
  status: S,
  ...counts: readonly (keyof S & string)[]
): Iterable<Problem> {
  for (const count of counts)
    if (Number(status[count] ?? 0) > (status.replicas ?? 0))
      yield invalid(`status.${count}`, "cannot be greater than status.replicas");
}

interface Collisions {
  readonly collisionCount?: number | undefined;
}
export function* checkCollisionCount(status: Collisions, old: Collisions): Iterable<Problem> {
  const { collisionCount: now } = status;
  const { collisionCount: before } = old;
  if (before !== undefined && (now === undefined || now < before))
    yield invalid("status.collisionCount", "cannot be decremented", now ?? 0);
}
