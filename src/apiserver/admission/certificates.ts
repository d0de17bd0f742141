// Who may approve and sign certificate requests, and which no one may ask for.
// Upstream: plugin/pkg/admission/certificates/approval/admission.go, plugin/pkg/admission/certificates/signing/admission.go and
// plugin/pkg/admission/certificates/subjectrestriction/admission.go.
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { CsrError, csrSubject } from "#api/certificates/v1/request.ts";
import { ClusterTrustBundle } from "#api/certificates/v1beta1/cluster-trust-bundle.ts";
import { equal } from "#base/collections.ts";
import { type AdmissionRequest, admissionPlugin } from "./plugin.ts";

/** To approve a request one needs the right to approve for its signer, besides the right to write requests. */
export const certificateApproval = admissionPlugin({
  name: "CertificateApproval",
  on: { kind: CertificateSigningRequest, verbs: ["update"], through: ["approval"] },
  async validate(asked) {
    const { signerName } = asked.old.spec;
    if (await mayForSigner(asked, "approve", signerName)) return undefined;
    return `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`;
  },
});

/** And so with signing: writing the certificate, or the word that there will be none. */
export const certificateSigning = admissionPlugin({
  name: "CertificateSigning",
  on: { kind: CertificateSigningRequest, verbs: ["update"], through: ["status"] },
  async validate(asked) {
    const { object, old } = asked;
    if (
      object.status.certificate === old.status.certificate &&
      equal(object.status.conditions ?? [], old.status.conditions ?? [])
    )
      return undefined;
    const { signerName } = old.spec;
    if (await mayForSigner(asked, "sign", signerName)) return undefined;
    return `user not permitted to sign requests with signerName ${JSON.stringify(signerName)}`;
  },
});

const clientSigner = "kubernetes.io/kube-apiserver-client";

/** Members of system:masters may do everything for ever: no such certificate is given out on request. */
export const certificateSubjectRestriction = admissionPlugin({
  name: "CertificateSubjectRestriction",
  on: { kind: CertificateSigningRequest, verbs: ["create"] },
  validate({ object: { spec } }) {
    if (spec.signerName !== clientSigner) return undefined;
    try {
      if (!csrSubject(spec.request).organizations.includes("system:masters")) return undefined;
    } catch (error) {
      if (!(error instanceof CsrError)) throw error;
      return `failed to parse CSR: ${error.message}`;
    }
    return `use of ${clientSigner} signer with system:masters group is not allowed`;
  },
});

/** Who tells pods whom to trust for a signer needs the right to speak for it. */
export const clusterTrustBundleAttest = admissionPlugin({
  name: "ClusterTrustBundleAttest",
  on: { kind: ClusterTrustBundle, verbs: ["create", "update"] },
  async validate(asked) {
    const { object, old } = asked;
    const { signerName = "" } = object.spec;
    if (signerName === "" || (old && isOnlyForCollector(old, object))) return undefined;
    if (await mayForSigner(asked, "attest", signerName)) return undefined;
    return `user not permitted to attest for signerName ${JSON.stringify(signerName)}`;
  },
});

/** The garbage collector must be able to take any object away, whatever it may not do itself. */
function isOnlyForCollector(old: ClusterTrustBundle, object: ClusterTrustBundle): boolean {
  const others = ({ metadata, spec }: ClusterTrustBundle) => {
    const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managers, ...rest } = metadata;
    return { rest, spec };
  };
  return equal(others(old), others(object));
}

/** By the name of the signer, or by its domain. */
async function mayForSigner(
  { user, server }: Pick<AdmissionRequest<unknown>, "user" | "server">,
  verb: string,
  signerName: string,
): Promise<boolean> {
  const [domain = ""] = signerName.split("/");
  for (const name of [signerName, `${domain}/*`]) {
    const question = { type: "resource", group: "certificates.k8s.io", version: "*", resource: "signers" } as const;
    const { decision } = await server.authorize({ ...question, user, verb, name });
    if (decision === "allow") return true;
  }
  return false;
}
