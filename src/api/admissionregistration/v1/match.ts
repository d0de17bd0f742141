import { type Infer, inline, list, ref, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const MatchCondition = struct("admissionregistration/v1.MatchCondition", {
  name: string(1).required(),
  expression: string(2).required(),
});
export interface MatchCondition extends Infer<typeof MatchCondition> {}

export const Rule = struct("admissionregistration/v1.Rule", {
  apiGroups: list(1, "string"),
  apiVersions: list(2, "string"),
  resources: list(3, "string"),
  scope: string(4).oneOf("*", "Cluster", "Namespaced").pointer().default("*"),
});
export interface Rule extends Infer<typeof Rule> {}

export const RuleWithOperations = struct("admissionregistration/v1.RuleWithOperations", {
  operations: list(1, "string").oneOf("*", "CONNECT", "CREATE", "DELETE", "UPDATE"),
  ...inline(2, Rule),
});
export interface RuleWithOperations extends Infer<typeof RuleWithOperations> {}

export const NamedRuleWithOperations = struct(
  "admissionregistration/v1.NamedRuleWithOperations",
  {
    resourceNames: list(1, "string"),
    ...inline(2, RuleWithOperations),
  },
  { atomic: true },
);
export interface NamedRuleWithOperations extends Infer<typeof NamedRuleWithOperations> {}

export const MatchResources = struct(
  "admissionregistration/v1.MatchResources",
  {
    namespaceSelector: ref(1, LabelSelector).pointer().default({}),
    objectSelector: ref(2, LabelSelector).pointer().default({}),
    resourceRules: list(3, NamedRuleWithOperations),
    excludeResourceRules: list(4, NamedRuleWithOperations),
    matchPolicy: string(7).oneOf("Equivalent", "Exact").pointer().default("Equivalent"),
  },
  { atomic: true },
);
export interface MatchResources extends Infer<typeof MatchResources> {}
