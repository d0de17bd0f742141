import { type Infer, list, ref, resource, string, struct } from "#schema/index.ts";
import { MatchResources } from "./match.ts";
import { ParamRef } from "./params.ts";

export const ValidatingAdmissionPolicyBindingSpec = struct(
  "admissionregistration/v1.ValidatingAdmissionPolicyBindingSpec",
  {
    policyName: string(1).required().omitEmpty(),
    paramRef: ref(2, ParamRef),
    matchResources: ref(3, MatchResources),
    validationActions: list(4, "string").oneOf("Audit", "Deny", "Warn").asSet().required().omitEmpty(),
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
  doc: "",
  fields: {
    spec: ref(2, ValidatingAdmissionPolicyBindingSpec).required(),
  },
});
export interface ValidatingAdmissionPolicyBinding extends Infer<typeof ValidatingAdmissionPolicyBinding> {}
