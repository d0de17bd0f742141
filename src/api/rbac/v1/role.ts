import { type Infer, list, resource } from "#schema/index.ts";
import { PolicyRule } from "./policy-rule.ts";

export const Role = resource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "Role",
  plural: "roles",
  scope: "Namespaced",
  doc: "",
  fields: {
    rules: list(2, PolicyRule).always(),
  },
});
export interface Role extends Infer<typeof Role> {}
