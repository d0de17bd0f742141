import type { Problem } from "#schema/index.ts";
import { type Infer, inline, list, ref, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkResourceNames, checkRule } from "./checks.ts";

export const MatchCondition = struct("admissionregistration/v1.MatchCondition", {
  name: string(1, "Name of the condition, unique within the list.").required(),
  expression: string(2, "A CEL expression; the object is matched only if it is true.").required(),
});
export interface MatchCondition extends Infer<typeof MatchCondition> {}

export const Rule = struct("admissionregistration/v1.Rule", {
  apiGroups: list(1, "string", "Groups to match; * means any."),
  apiVersions: list(2, "string", "Versions to match; * means any."),
  resources: list(3, "string", "Resources to match, such as pods or pods/log; * means all without subresources."),
  scope: string(4, "Whether to match objects of the cluster, of namespaces, or both.")
    .oneOf("*", "Cluster", "Namespaced")
    .pointer()
    .default("*"),
});
export interface Rule extends Infer<typeof Rule> {}

export const RuleWithOperations = struct(
  "admissionregistration/v1.RuleWithOperations",
  {
    operations: list(1, "string", "Operations to match; * means all.").oneOf(
      "*",
      "CONNECT",
      "CREATE",
      "DELETE",
      "UPDATE",
    ),
    ...inline(2, Rule),
  },
  {
    *check(rule): Iterable<Problem> {
      yield* checkRule(rule);
    },
  },
);
export interface RuleWithOperations extends Infer<typeof RuleWithOperations> {}

export const NamedRuleWithOperations = struct(
  "admissionregistration/v1.NamedRuleWithOperations",
  {
    resourceNames: list(1, "string", "Names to match; all if empty."),
    ...inline(2, RuleWithOperations),
  },
  {
    atomic: true,
    *check(rule): Iterable<Problem> {
      yield* checkResourceNames(rule.resourceNames);
      yield* checkRule(rule);
    },
  },
);
export interface NamedRuleWithOperations extends Infer<typeof NamedRuleWithOperations> {}

export const MatchResources = struct(
  "admissionregistration/v1.MatchResources",
  {
    namespaceSelector: ref(1, LabelSelector, "Matches objects by the labels of their namespace.").pointer().default({}),
    objectSelector: ref(2, LabelSelector, "Matches objects by their own labels.").pointer().default({}),
    resourceRules: list(3, NamedRuleWithOperations, "What to match; one rule must fit."),
    excludeResourceRules: list(4, NamedRuleWithOperations, "What not to match after all."),
    matchPolicy: string(7, "Whether other versions of a resource match too (Equivalent) or not (Exact).")
      .oneOf("Equivalent", "Exact")
      .pointer()
      .default("Equivalent"),
  },
  { atomic: true },
);
export interface MatchResources extends Infer<typeof MatchResources> {}
