import { type Infer, list, ref, resource } from "#schema/index.ts";
import { RoleRef, Subject } from "./subject.ts";

export const ClusterRoleBinding = resource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  scope: "Cluster",
  doc: "",
  fields: {
    subjects: list(2, Subject),
    roleRef: ref(3, RoleRef).required(),
  },
});
export interface ClusterRoleBinding extends Infer<typeof ClusterRoleBinding> {}
