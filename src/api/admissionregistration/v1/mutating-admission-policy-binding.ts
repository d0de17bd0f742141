import { type Infer, ref, resource, string, struct } from "#schema/index.ts";
import { MatchResources } from "./match.ts";
import { ParamRef } from "./params.ts";

export const MutatingAdmissionPolicyBindingSpec = struct(
  "admissionregistration/v1.MutatingAdmissionPolicyBindingSpec",
  {
    policyName: string(1),
    paramRef: ref(2, ParamRef),
    matchResources: ref(3, MatchResources),
  },
);
export interface MutatingAdmissionPolicyBindingSpec extends Infer<typeof MutatingAdmissionPolicyBindingSpec> {}

export const MutatingAdmissionPolicyBinding = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingAdmissionPolicyBinding",
  plural: "mutatingadmissionpolicybindings",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, MutatingAdmissionPolicyBindingSpec).default({}),
  },
});
export interface MutatingAdmissionPolicyBinding extends Infer<typeof MutatingAdmissionPolicyBinding> {}
