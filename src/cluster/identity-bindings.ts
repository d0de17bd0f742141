// The rights of those identities that upstream's own policy does not know, as kubeadm gives them.
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";
import * as identities from "./identities.ts";

const apiGroup = "rbac.authorization.k8s.io";

const binding = (name: string, role: string, subject: { readonly kind: "User" | "Group"; readonly name: string }) => ({
  kind: ClusterRoleBinding,
  object: {
    apiVersion: ClusterRoleBinding.apiVersion,
    kind: ClusterRoleBinding.kind,
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup, ...subject }],
  },
});

const [adminGroup = ""] = identities.admin.organizations;

export const identityBindings: readonly SystemObject[] = [
  binding(adminGroup, "cluster-admin", { kind: "Group", name: adminGroup }),
  binding(identities.kubeletClient.commonName, "system:kubelet-api-admin", {
    kind: "User",
    name: identities.kubeletClient.commonName,
  }),
];
