import { type Infer, list, ref, resource } from "#schema/index.ts";
import { RoleRef, Subject } from "./subject.ts";

export const RoleBinding = resource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  scope: "Namespaced",
  doc: "",
  fields: {
    subjects: list(2, Subject),
    roleRef: ref(3, RoleRef).required(),
  },
});
export interface RoleBinding extends Infer<typeof RoleBinding> {}
