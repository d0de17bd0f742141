import { pathSegment } from "#schema/formats.ts";
import { type Infer, invalid, list, resource } from "#schema/index.ts";
import { PolicyRule } from "./policy-rule.ts";

export const Role = resource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "Role",
  plural: "roles",
  scope: "Namespaced",
  doc: "What may be done within one namespace.",
  fields: {
    rules: list(2, PolicyRule, "The permissions; they add up.").always(),
  },
  nameFormat: pathSegment,
  *check({ rules }) {
    for (const [i, { nonResourceURLs = [] }] of rules.entries())
      if (nonResourceURLs.length > 0)
        yield invalid(`rules[${i}].nonResourceURLs`, "namespaced rules cannot apply to non-resource URLs");
  },
});
export interface Role extends Infer<typeof Role> {}
