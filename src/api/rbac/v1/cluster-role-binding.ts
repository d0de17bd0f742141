import { ageColumn, nameColumn } from "#schema/columns.ts";
import { pathSegment } from "#schema/formats.ts";
import { type Infer, list, type Problem, ref, resource } from "#schema/index.ts";
import { checkBinding, RoleRef, Subject, subjectColumns } from "./subject.ts";

export const ClusterRoleBinding = resource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  scope: "Cluster",
  doc: "Gives the permissions of a cluster role to users, in all namespaces.",
  fields: {
    subjects: list(2, Subject, "Who gets them."),
    roleRef: ref(3, RoleRef, "The role; it cannot change.").required(),
  },
  nameFormat: pathSegment,
  columns: [
    nameColumn,
    { name: "Role", doc: "The role that is given.", cell: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}` },
    ageColumn,
    ...subjectColumns,
  ],
  check: (binding, old): Iterable<Problem> => checkBinding(binding, old, ["ClusterRole"], false),
});
export interface ClusterRoleBinding extends Infer<typeof ClusterRoleBinding> {}
