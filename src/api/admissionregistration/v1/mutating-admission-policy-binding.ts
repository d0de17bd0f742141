import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import { type Infer, ref, resource, string, struct } from "#schema/index.ts";
import { MatchResources } from "./match.ts";
import { ParamRef, paramRefText } from "./params.ts";
import { checkMutatingOperations } from "./policy-checks.ts";

export const MutatingAdmissionPolicyBindingSpec = struct(
  "admissionregistration/v1.MutatingAdmissionPolicyBindingSpec",
  {
    policyName: string(1, "Name of the policy.").nonEmpty().is(dns1123Subdomain),
    paramRef: ref(2, ParamRef, "The parameters for the policy."),
    matchResources: ref(3, MatchResources, "Narrows down what the policy is about."),
  },
  {
    *check({ matchResources }) {
      yield* checkMutatingOperations("matchResources", matchResources);
    },
  },
);
export interface MutatingAdmissionPolicyBindingSpec extends Infer<typeof MutatingAdmissionPolicyBindingSpec> {}

export const MutatingAdmissionPolicyBinding = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingAdmissionPolicyBinding",
  storageVersion: "v1beta1",
  plural: "mutatingadmissionpolicybindings",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "Puts a mutating policy to work, with parameters of its own.",
  fields: {
    spec: ref(2, MutatingAdmissionPolicyBindingSpec, "What is wanted.").default({}),
  },
  columns: [
    nameColumn,
    { name: "PolicyName", doc: "Name of the policy.", cell: ({ spec }) => spec.policyName },
    { name: "ParamRef", doc: "Its parameters.", cell: ({ spec }) => paramRefText(spec.paramRef) },
    ageColumn,
  ],
});
export interface MutatingAdmissionPolicyBinding extends Infer<typeof MutatingAdmissionPolicyBinding> {}
