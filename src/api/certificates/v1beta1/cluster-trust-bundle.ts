import { nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import { type Infer, invalid, type Problem, ref, resource, string, struct } from "#schema/index.ts";
import { checkSignerName } from "../v1/checks.ts";
import { checkTrustAnchors } from "./trust-anchors.ts";

const ClusterTrustBundleSpec = struct(
  "certificates/v1beta1.ClusterTrustBundleSpec",
  {
    signerName: string(1, "The signer whose authorities these are; none if it is empty."),
    trustBundle: string(2, "Certificates of authorities in PEM, each once; their order means nothing.").required(),
  },
  {
    *check({ signerName = "", trustBundle }, old): Iterable<Problem> {
      if (signerName !== "") yield* checkSignerName("signerName", signerName);
      if (trustBundle !== old?.trustBundle) yield* checkTrustAnchors("trustBundle", trustBundle);
      if (old && signerName !== (old.signerName ?? "")) yield invalid("signerName", "field is immutable");
    },
  },
);

export const ClusterTrustBundle = resource({
  group: "certificates.k8s.io",
  version: "v1beta1",
  kind: "ClusterTrustBundle",
  plural: "clustertrustbundles",
  scope: "Cluster",
  doc: "Authorities that pods may trust, for everybody to read.",
  fields: { spec: ref(2, ClusterTrustBundleSpec, "The authorities, and whose they are.").required() },
  nameFormat: () => [],
  selectableFields: { "spec.signerName": ({ spec }) => spec.signerName ?? "" },
  columns: [
    nameColumn,
    { name: "SignerName", doc: "Whose authorities these are.", cell: ({ spec }) => spec.signerName || "<none>" },
  ],
  *check({ metadata, spec }) {
    for (const detail of nameProblems(metadata.name, spec.signerName ?? "")) yield invalid("metadata.name", detail);
  },
});
export interface ClusterTrustBundle extends Infer<typeof ClusterTrustBundle> {}

/** The name tells the signer, so that rights to names are rights to signers. */
function nameProblems(name: string, signerName: string): readonly string[] {
  if (signerName === "")
    return name.includes(":")
      ? ['ClusterTrustBundle without signer name must not have ":" in its name']
      : [...dns1123Subdomain(name)];
  const prefix = `${signerName.replaceAll("/", ":")}:`;
  if (!name.startsWith(prefix))
    return [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`];
  return [...dns1123Subdomain(name.slice(prefix.length))];
}
