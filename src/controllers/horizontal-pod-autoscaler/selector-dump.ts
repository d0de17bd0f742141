// Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/generated.pb.go.
import type { SelectorStruct } from "#schema/selector.ts";

/** A selector as Go prints it, since it stands in messages that people look for. */
export function selectorDump(selector: SelectorStruct | undefined): string {
  if (!selector) return "nil";
  const labels = Object.entries(selector.matchLabels ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(" ")}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join("")}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join("")}},}`;
}
