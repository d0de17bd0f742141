import { pathSegment } from "#schema/formats.ts";
import { type Infer, invalid, list, ref, resource, struct } from "#schema/index.ts";
import { isValidSelector } from "../../label-selection.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { PolicyRule } from "./policy-rule.ts";

export const AggregationRule = struct("rbac/v1.AggregationRule", {
  clusterRoleSelectors: list(1, LabelSelector, "Cluster roles whose rules become part of this one.").nonEmpty(
    "at least one clusterRoleSelector required if aggregationRule is non-nil",
  ),
});
export interface AggregationRule extends Infer<typeof AggregationRule> {}

export const ClusterRole = resource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  scope: "Cluster",
  doc: "What may be done in the whole cluster, or in the namespace of a binding.",
  fields: {
    rules: list(2, PolicyRule, "The permissions; they add up.").always(),
    aggregationRule: ref(
      3,
      AggregationRule,
      "Collects the rules of other cluster roles; the rules above are then kept by the server.",
    ),
  },
  nameFormat: pathSegment,
  *check({ aggregationRule }) {
    for (const [i, selector] of (aggregationRule?.clusterRoleSelectors ?? []).entries())
      if (!isValidSelector(selector))
        yield invalid(`aggregationRule.clusterRoleSelectors[${i}]`, "invalid label selector.", null); // upstream has none to show
  },
});
export interface ClusterRole extends Infer<typeof ClusterRole> {}
