import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import { type Infer, list, ref, resource, string, struct } from "#schema/index.ts";
import { MatchResources } from "./match.ts";
import { ParamRef, paramRefText } from "./params.ts";
import { checkActions } from "./policy-checks.ts";

export const ValidatingAdmissionPolicyBindingSpec = struct(
  "admissionregistration/v1.ValidatingAdmissionPolicyBindingSpec",
  {
    policyName: string(1, "Name of the policy.").nonEmpty().is(dns1123Subdomain).required().omitEmpty(),
    paramRef: ref(2, ParamRef, "The parameters for the policy."),
    matchResources: ref(3, MatchResources, "Narrows down what the policy is about."),
    validationActions: list(4, "string", "What follows when a validation fails: Deny, Warn or Audit.")
      .nonEmpty("at least one validation action is required")
      .oneOf("Audit", "Deny", "Warn")
      .asSet()
      .required()
      .omitEmpty(),
  },
  {
    *check({ validationActions }) {
      yield* checkActions(validationActions ?? []);
    },
  },
);
export interface ValidatingAdmissionPolicyBindingSpec extends Infer<typeof ValidatingAdmissionPolicyBindingSpec> {}

export const ValidatingAdmissionPolicyBinding = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "Puts a validating policy to work, with parameters of its own.",
  fields: {
    spec: ref(2, ValidatingAdmissionPolicyBindingSpec, "What is wanted.").required(),
  },
  columns: [
    nameColumn,
    { name: "PolicyName", doc: "Name of the policy.", cell: ({ spec }) => spec.policyName },
    { name: "ParamRef", doc: "Its parameters.", cell: ({ spec }) => paramRefText(spec.paramRef) },
    ageColumn,
  ],
});
export interface ValidatingAdmissionPolicyBinding extends Infer<typeof ValidatingAdmissionPolicyBinding> {}
