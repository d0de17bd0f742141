// The signers that are built in.
// Upstream: staging/src/k8s.io/api/certificates/v1/types.go.
export const signers = {
  apiClient: "kubernetes.io/kube-apiserver-client",
  kubeletClient: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
  legacy: "kubernetes.io/legacy-unknown",
} as const;

export type BuiltInSigner = (typeof signers)[keyof typeof signers];

export const builtInSigners: readonly BuiltInSigner[] = Object.values(signers);
