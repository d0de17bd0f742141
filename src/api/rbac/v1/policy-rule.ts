import { type Infer, list, struct } from "#schema/index.ts";

export const PolicyRule = struct("rbac/v1.PolicyRule", {
  verbs: list(1, "string").required(),
  apiGroups: list(2, "string"),
  resources: list(3, "string"),
  resourceNames: list(4, "string"),
  nonResourceURLs: list(5, "string"),
});
export interface PolicyRule extends Infer<typeof PolicyRule> {}
