import { ageColumn, nameColumn } from "#schema/columns.ts";
import { pathSegment } from "#schema/formats.ts";
import { type Infer, list, ref, required, resource } from "#schema/index.ts";
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
  *check(binding, old) {
    yield* checkBinding(binding, old, ["ClusterRole"]);
    for (const [i, { kind, namespace }] of (binding.subjects ?? []).entries())
      if (kind === "ServiceAccount" && !namespace) yield required(`subjects[${i}].namespace`);
  },
});
export interface ClusterRoleBinding extends Infer<typeof ClusterRoleBinding> {}
