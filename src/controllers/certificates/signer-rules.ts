// What each built-in signer signs. The messages are what people find in the condition Failed.
// Upstream: pkg/apis/certificates/helpers.go, pkg/controller/certificates/signer/signer.go.
import type { Csr } from "#api/certificates/v1/request.ts";
import { type BuiltInSigner, signers } from "./signer-names.ts";

/** Why a signer does not sign a request; undefined if it does. */
export type SignerRule = (request: Csr, usages: readonly string[]) => string | undefined;

export const signerRules: Readonly<Record<BuiltInSigner, SignerRule>> = {
  [signers.apiClient]: (_request, usages) => clientUsageProblem(usages),
  [signers.kubeletClient]: kubeletClientProblem,
  [signers.kubeletServing]: kubeletServingProblem,
  // Whoever approves such a request answers for all of it.
  [signers.legacy]: () => undefined,
};

/** Why a request is not one for the client certificate of a kubelet. */
export function kubeletClientProblem({ subject, names }: Csr, usages: readonly string[]): string | undefined {
  if (!isOfNodes(subject.organizations)) return "subject organization is not system:nodes";
  if (names.dns.length > 0) return "DNS subjectAltNames are not allowed";
  if (names.emails.length > 0) return "Email subjectAltNames are not allowed";
  if (names.ips.length > 0) return "IP subjectAltNames are not allowed";
  if (names.uris.length > 0) return "URI subjectAltNames are not allowed";
  if (!subject.commonName.startsWith("system:node:")) return "subject common name does not begin with system:node:";
  return keyUsageProblem(usages, "client auth");
}

function kubeletServingProblem({ subject, names }: Csr, usages: readonly string[]): string | undefined {
  if (!isOfNodes(subject.organizations)) return "subject organization is not system:nodes";
  if (names.dns.length === 0 && names.ips.length === 0) return "DNS or IP subjectAltName is required";
  if (names.emails.length > 0) return "Email subjectAltNames are not allowed";
  if (names.uris.length > 0) return "URI subjectAltNames are not allowed";
  const problem = keyUsageProblem(usages, "server auth");
  if (problem !== undefined) return problem;
  return subject.commonName.startsWith("system:node:")
    ? undefined
    : "subject common name does not begin with system:node:";
}

function clientUsageProblem(usages: readonly string[]): string | undefined {
  const odd = usages.find((usage) => !["digital signature", "key encipherment", "client auth"].includes(usage));
  if (odd !== undefined) return `invalid usage for client certificate: ${odd}`;
  return usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth";
}

const isOfNodes = (organizations: readonly string[]): boolean =>
  organizations.length === 1 && organizations[0] === "system:nodes";

/** Keys of RSA also encipher keys; those of curves do not. */
function keyUsageProblem(usages: readonly string[], auth: "client auth" | "server auth"): string | undefined {
  const given = new Set(usages);
  const isSame = (wanted: readonly string[]) => given.size === wanted.length && wanted.every((one) => given.has(one));
  const ofRsa = [auth, "digital signature", "key encipherment"].toSorted();
  return isSame(ofRsa) || isSame([auth, "digital signature"]) ? undefined : `usages did not match [${ofRsa.join(" ")}]`;
}
