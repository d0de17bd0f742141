// Label keys of affinity and spreading stand for the values that this pod's own labels have: they are written out when it is made.
// Upstream: pkg/registry/core/pod/strategy.go.
import type { PodAffinityTerm, TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { LabelSelector } from "#api/meta/label-selector.ts";
import type { Mutable } from "#schema/index.ts";
import type { Labels } from "#schema/selector.ts";

export function writeOutLabelKeys(spec: Mutable<PodSpec>, labels: Labels = {}): void {
  const { affinity, topologySpreadConstraints = [] } = spec;
  for (const side of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of side?.requiredDuringSchedulingIgnoredDuringExecution ?? []) complete(term, labels);
    for (const { podAffinityTerm } of side?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
      complete(podAffinityTerm, labels);
  }
  for (const constraint of topologySpreadConstraints) complete(constraint, labels);
}

type Selecting = Mutable<
  Pick<PodAffinityTerm, "labelSelector" | "matchLabelKeys" | "mismatchLabelKeys"> | TopologySpreadConstraint
>;

/** Without a selector nothing is selected, whatever the keys. */
function complete(term: Selecting, labels: Labels): void {
  const { labelSelector, matchLabelKeys = [] } = term;
  if (!labelSelector) return;
  const mismatchLabelKeys = "mismatchLabelKeys" in term ? (term.mismatchLabelKeys ?? []) : [];
  const wanted = [...expressions(matchLabelKeys, "In", labels), ...expressions(mismatchLabelKeys, "NotIn", labels)];
  const present = labelSelector.matchExpressions ?? [];
  // A pod whose generated name was taken comes here again.
  const known = new Set(present.map(textOf));
  const missing = wanted.filter((one) => !known.has(textOf(one)));
  if (missing.length > 0) term.labelSelector = { ...labelSelector, matchExpressions: [...present, ...missing] };
}

type Expression = NonNullable<LabelSelector["matchExpressions"]>[number];
const textOf = ({ key, operator, values = [] }: Expression): string => JSON.stringify([key, operator, values]);

const expressions = (
  keys: readonly string[],
  operator: "In" | "NotIn",
  labels: Labels,
): NonNullable<Mutable<LabelSelector>["matchExpressions"]> =>
  keys.flatMap((key) => {
    const value = labels[key];
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
