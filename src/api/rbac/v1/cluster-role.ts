import { type Infer, list, ref, resource, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { PolicyRule } from "./policy-rule.ts";

export const AggregationRule = struct("rbac/v1.AggregationRule", {
  clusterRoleSelectors: list(1, LabelSelector),
});
export interface AggregationRule extends Infer<typeof AggregationRule> {}

export const ClusterRole = resource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  scope: "Cluster",
  doc: "",
  fields: {
    rules: list(2, PolicyRule).always(),
    aggregationRule: ref(3, AggregationRule),
  },
});
export interface ClusterRole extends Infer<typeof ClusterRole> {}
