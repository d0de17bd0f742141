import { type Infer, invalid, list, required, struct } from "#schema/index.ts";

export const PolicyRule = struct(
  "rbac/v1.PolicyRule",
  {
    verbs: list(1, "string", "What may be done, such as get or create; * means anything.")
      .nonEmpty("verbs must contain at least one value")
      .required(),
    apiGroups: list(2, "string", 'Groups of the resources; "" is the core group and * any.'),
    resources: list(3, "string", "The resources, such as pods or pods/log; * means all."),
    resourceNames: list(4, "string", "Only objects of these names; all if empty."),
    nonResourceURLs: list(5, "string", "Paths that are no resources, such as /healthz; * at the end matches the rest."),
  },
  {
    *check({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) {
      if (nonResourceURLs.length > 0) {
        if (apiGroups.length + resources.length + resourceNames.length > 0)
          yield invalid("nonResourceURLs", "rules cannot apply to both regular resources and non-resource URLs");
        return;
      }
      if (apiGroups.length === 0) yield required("apiGroups", "resource rules must supply at least one api group");
      if (resources.length === 0) yield required("resources", "resource rules must supply at least one resource");
    },
  },
);
export interface PolicyRule extends Infer<typeof PolicyRule> {}
