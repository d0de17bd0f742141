import { type Infer, list, ref, resource, string, struct } from "#schema/index.ts";
import { MatchCondition, MatchResources } from "./match.ts";
import { ParamKind, Variable } from "./params.ts";

export const ApplyConfiguration = struct("admissionregistration/v1.ApplyConfiguration", {
  expression: string(1),
});
export interface ApplyConfiguration extends Infer<typeof ApplyConfiguration> {}

export const JSONPatch = struct("admissionregistration/v1.JSONPatch", {
  expression: string(1),
});
export interface JSONPatch extends Infer<typeof JSONPatch> {}

export const Mutation = struct("admissionregistration/v1.Mutation", {
  patchType: string(2).oneOf("ApplyConfiguration", "JSONPatch").required(),
  applyConfiguration: ref(3, ApplyConfiguration),
  jsonPatch: ref(4, JSONPatch),
});
export interface Mutation extends Infer<typeof Mutation> {}

export const MutatingAdmissionPolicySpec = struct("admissionregistration/v1.MutatingAdmissionPolicySpec", {
  paramKind: ref(1, ParamKind),
  matchConstraints: ref(2, MatchResources),
  variables: list(3, Variable),
  mutations: list(4, Mutation),
  failurePolicy: string(5).oneOf("Fail", "Ignore").pointer().default("Fail"),
  matchConditions: list(6, MatchCondition).keyedBy("name"),
  reinvocationPolicy: string(7).oneOf("IfNeeded", "Never"),
});
export interface MutatingAdmissionPolicySpec extends Infer<typeof MutatingAdmissionPolicySpec> {}

export const MutatingAdmissionPolicy = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingAdmissionPolicy",
  plural: "mutatingadmissionpolicies",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, MutatingAdmissionPolicySpec).default({}),
  },
});
export interface MutatingAdmissionPolicy extends Infer<typeof MutatingAdmissionPolicy> {}
