// The claims of legacy service account tokens, which are kept in secrets. The token controller writes them, the authenticator reads them.
// Upstream: pkg/serviceaccount/legacy.go.

export const tokenSecretType = "kubernetes.io/service-account-token";
export const legacyIssuer = "kubernetes/serviceaccount";

/** Names of the claims that say whose a token is, and where it is kept. */
export const legacyClaims = {
  namespace: "kubernetes.io/serviceaccount/namespace",
  secret: "kubernetes.io/serviceaccount/secret.name",
  account: "kubernetes.io/serviceaccount/service-account.name",
  uid: "kubernetes.io/serviceaccount/service-account.uid",
} as const;

/** Labels of the secrets: the day on which a token was last used, and since when it is not believed any more. */
export const lastUsedLabel = "kubernetes.io/legacy-token-last-used";
export const invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since";

/** Says since when the use of tokens is noted. */
export const tokenTrackingName = "kube-apiserver-legacy-service-account-token-tracking";

export const accountAnnotations = {
  name: "kubernetes.io/service-account.name",
  uid: "kubernetes.io/service-account.uid",
} as const;
