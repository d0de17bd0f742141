import { repeats } from "#base/collections.ts";
import { age, humanDuration, nameColumn } from "#schema/columns.ts";
import {
  bytes,
  duplicate,
  forbidden,
  type Infer,
  int32,
  invalid,
  list,
  map,
  notSupported,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { checkCertificate, checkDecisions, checkDecisionUpdate, checkRequest, checkSignerName } from "./checks.ts";

export const CertificateSigningRequestCondition = struct("certificates/v1.CertificateSigningRequestCondition", {
  type: string(1, "Approved, Denied or Failed.").required(),
  status: string(6, "True; decisions have no other.").required(),
  reason: string(2, "Why, in one word."),
  message: string(3, "Why, in a sentence."),
  lastUpdateTime: time(4, "When the condition was last confirmed."),
  lastTransitionTime: time(5, "When the status last changed."),
});
export interface CertificateSigningRequestCondition extends Infer<typeof CertificateSigningRequestCondition> {}

const usages = [
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
] as const;

/** What was taken once is not asked again. */
function* checkUsages(given: readonly string[]): Iterable<Problem> {
  const known: readonly string[] = usages;
  for (const [i, usage] of given.entries())
    if (!known.includes(usage)) yield notSupported(`usages[${i}]`, known, usage);
  const isRepeated = repeats<string>();
  for (const [i, usage] of given.entries()) if (isRepeated(usage)) yield duplicate(`usages[${i}]`, usage);
}

export const CertificateSigningRequestSpec = struct(
  "certificates/v1.CertificateSigningRequestSpec",
  {
    request: bytes(1, "The request in PKCS#10, as PEM.").required(),
    signerName: string(7, "Who is to sign it, such as kubernetes.io/kube-apiserver-client.").required(),
    expirationSeconds: int32(8, "How long the certificate should be good for; the signer may give less.").pointer(),
    usages: list(5, "string", "What the certificate is for.").known(...usages),
    username: string(2, "Who asks; set by the server."),
    uid: string(3, "Uid of who asks; set by the server."),
    groups: list(4, "string", "Groups of who asks; set by the server."),
    extra: map(6, { listOf: "string" }, "More about who asks; set by the server."),
  },
  {
    *check({ request, signerName, expirationSeconds, usages: given = [] }, old) {
      if (request !== old?.request) yield* checkRequest(request);
      if (given.length === 0) yield required("usages");
      if (!old) yield* checkUsages(given);
      if (signerName === "kubernetes.io/legacy-unknown" && old?.signerName !== signerName)
        yield invalid("signerName", "the legacy signerName is not allowed via this API version");
      else yield* checkSignerName("signerName", signerName);
      if (expirationSeconds !== undefined && expirationSeconds < 600)
        yield invalid("expirationSeconds", "may not specify a duration less than 600 seconds (10 minutes)");
    },
  },
);
export interface CertificateSigningRequestSpec extends Infer<typeof CertificateSigningRequestSpec> {}

export const CertificateSigningRequestStatus = struct("certificates/v1.CertificateSigningRequestStatus", {
  conditions: list(1, CertificateSigningRequestCondition, "What was decided.").keyedBy("type").patch("replace"),
  certificate: bytes(2, "The certificate, once it is signed, as PEM."),
});
export interface CertificateSigningRequestStatus extends Infer<typeof CertificateSigningRequestStatus> {}

export const CertificateSigningRequest = resource({
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  shortNames: ["csr"],
  scope: "Cluster",
  doc: "Asks for a certificate. Somebody approves or denies it, then the signer signs.",
  fields: {
    spec: ref(2, CertificateSigningRequestSpec, "What is asked for.").required(),
    status: ref(3, CertificateSigningRequestStatus, "What was decided, and the certificate.").default({}),
  },
  subresources: { approval: { verbs: ["get", "patch", "update"] }, status: true },
  nameFormat: () => [],
  selectableFields: { "spec.signerName": ({ spec }) => spec.signerName },
  columns: [
    nameColumn,
    {
      name: "Age",
      doc: "Time since it was asked for.",
      cell: ({ metadata }, now) => age(metadata.creationTimestamp, now),
    },
    { name: "SignerName", doc: "Who is to sign it.", cell: ({ spec }) => spec.signerName || "<none>" },
    { name: "Requestor", doc: "Who asks.", cell: ({ spec }) => spec.username },
    {
      name: "RequestedDuration",
      doc: "How long it should be good for.",
      cell: ({ spec: { expirationSeconds } }) =>
        expirationSeconds === undefined ? "<none>" : humanDuration(expirationSeconds * 1000),
    },
    { name: "Condition", doc: "What was decided.", cell: ({ status }) => conditionWord(status) },
  ],
  *check({ status }, old) {
    yield* checkDecisions(status.conditions, old?.status.conditions);
    if (!old) return;
    yield* checkDecisionUpdate(status.conditions, old.status.conditions, "object");
    if (status.certificate !== old.status.certificate)
      yield forbidden("status.certificate", "updates may not set certificate content");
  },
  *checkStatus({ status }, old) {
    yield* checkDecisions(status.conditions, old.status.conditions);
    yield* checkDecisionUpdate(status.conditions, old.status.conditions, "status");
    if (status.certificate === old.status.certificate) return;
    if (old.status.certificate)
      yield forbidden("status.certificate", "updates may not modify existing certificate content");
    else if (status.certificate) yield* checkCertificate(status.certificate);
  },
});
export interface CertificateSigningRequest extends Infer<typeof CertificateSigningRequest> {}

function conditionWord({ conditions = [], certificate }: CertificateSigningRequestStatus): string {
  const has = (type: string) => conditions.some((condition) => condition.type === type);
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  return `${decision}${has("Failed") ? ",Failed" : ""}${certificate ? ",Issued" : ""}`;
}
