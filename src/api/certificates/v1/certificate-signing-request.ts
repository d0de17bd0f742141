import { bytes, type Infer, int32, list, map, ref, resource, string, struct, time } from "#schema/index.ts";

export const CertificateSigningRequestCondition = struct("certificates/v1.CertificateSigningRequestCondition", {
  type: string(1).required(),
  status: string(6).required(),
  reason: string(2),
  message: string(3),
  lastUpdateTime: time(4),
  lastTransitionTime: time(5),
});
export interface CertificateSigningRequestCondition extends Infer<typeof CertificateSigningRequestCondition> {}

export const CertificateSigningRequestSpec = struct("certificates/v1.CertificateSigningRequestSpec", {
  request: bytes(1).required(),
  signerName: string(7).required(),
  expirationSeconds: int32(8).pointer(),
  usages: list(5, "string").oneOf(
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
  ),
  username: string(2),
  uid: string(3),
  groups: list(4, "string"),
  extra: map(6, { listOf: "string" }),
});
export interface CertificateSigningRequestSpec extends Infer<typeof CertificateSigningRequestSpec> {}

export const CertificateSigningRequestStatus = struct("certificates/v1.CertificateSigningRequestStatus", {
  conditions: list(1, CertificateSigningRequestCondition).keyedBy("type").patch("replace"),
  certificate: bytes(2),
});
export interface CertificateSigningRequestStatus extends Infer<typeof CertificateSigningRequestStatus> {}

export const CertificateSigningRequest = resource({
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  shortNames: ["csr"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, CertificateSigningRequestSpec).required(),
    status: ref(3, CertificateSigningRequestStatus).default({}),
  },
  subresources: { approval: { verbs: ["get", "patch", "update"] }, status: true },
});
export interface CertificateSigningRequest extends Infer<typeof CertificateSigningRequest> {}
