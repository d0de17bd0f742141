// Who the parts of the control plane are. The same names stand in their certificates and, in one process, with their requests.
import type { User } from "#wire/api-request.ts";
import type { CertificateRequest } from "./certificates.ts";

export type CertificateIdentity = Required<Pick<CertificateRequest, "commonName" | "organizations">>;

/** Whoever looks after a cluster. The group has its rights by a binding (identity-bindings.ts), which can be taken away, as kubeadm's has. */
export const admin: CertificateIdentity = { commonName: "kubernetes-admin", organizations: ["kubeadm:cluster-admins"] };
/** The same for a server that stands alone, where nobody makes bindings: its rights cannot be taken away while the certificate is good. */
export const masterAdmin: CertificateIdentity = { commonName: "kubernetes-admin", organizations: ["system:masters"] };
export const controllerManager: CertificateIdentity = {
  commonName: "system:kube-controller-manager",
  organizations: [],
};
export const scheduler: CertificateIdentity = { commonName: "system:kube-scheduler", organizations: [] };
/** Applies the manifests of add-ons, which bring roles that nobody else has yet; upstream's has the same rights. */
export const addonManager: CertificateIdentity = {
  commonName: "system:addon-manager",
  organizations: ["system:masters"],
};
/** The API server to the kubelets. */
export const kubeletClient: CertificateIdentity = { commonName: "kube-apiserver-kubelet-client", organizations: [] };
export const node = (name: string): CertificateIdentity => ({
  commonName: `system:node:${name}`,
  organizations: ["system:nodes"],
});

/** Whom the API server takes the holder of such a certificate for. */
export const userOf = ({ commonName, organizations }: CertificateIdentity): User => ({
  name: commonName,
  groups: [...organizations, "system:authenticated"],
});

/** A controller's own account in kube-system. */
export const serviceAccount = (name: string): User => ({
  name: `system:serviceaccount:kube-system:${name}`,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
});
