import { type Infer, int64, list, ref, resource, string, struct } from "#schema/index.ts";
import { Condition } from "../../meta/condition.ts";
import { MatchCondition, MatchResources } from "./match.ts";
import { ParamKind, Variable } from "./params.ts";

export const AuditAnnotation = struct("admissionregistration/v1.AuditAnnotation", {
  key: string(1).required(),
  valueExpression: string(2).required(),
});
export interface AuditAnnotation extends Infer<typeof AuditAnnotation> {}

export const ExpressionWarning = struct("admissionregistration/v1.ExpressionWarning", {
  fieldRef: string(2).required(),
  warning: string(3).required(),
});
export interface ExpressionWarning extends Infer<typeof ExpressionWarning> {}

export const TypeChecking = struct("admissionregistration/v1.TypeChecking", {
  expressionWarnings: list(1, ExpressionWarning),
});
export interface TypeChecking extends Infer<typeof TypeChecking> {}

export const Validation = struct("admissionregistration/v1.Validation", {
  expression: string(1).required(),
  message: string(2),
  reason: string(3).pointer(),
  messageExpression: string(4),
});
export interface Validation extends Infer<typeof Validation> {}

export const ValidatingAdmissionPolicySpec = struct("admissionregistration/v1.ValidatingAdmissionPolicySpec", {
  paramKind: ref(1, ParamKind),
  matchConstraints: ref(2, MatchResources),
  validations: list(3, Validation),
  failurePolicy: string(4).oneOf("Fail", "Ignore").pointer().default("Fail"),
  auditAnnotations: list(5, AuditAnnotation),
  matchConditions: list(6, MatchCondition).keyedBy("name"),
  variables: list(7, Variable).keyedBy("name"),
});
export interface ValidatingAdmissionPolicySpec extends Infer<typeof ValidatingAdmissionPolicySpec> {}

export const ValidatingAdmissionPolicyStatus = struct("admissionregistration/v1.ValidatingAdmissionPolicyStatus", {
  observedGeneration: int64(1),
  typeChecking: ref(2, TypeChecking),
  conditions: list(3, Condition).keyedBy("type").patch("replace"),
});
export interface ValidatingAdmissionPolicyStatus extends Infer<typeof ValidatingAdmissionPolicyStatus> {}

export const ValidatingAdmissionPolicy = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, ValidatingAdmissionPolicySpec).default({}),
    status: ref(3, ValidatingAdmissionPolicyStatus).default({}),
  },
  subresources: { status: true },
});
export interface ValidatingAdmissionPolicy extends Infer<typeof ValidatingAdmissionPolicy> {}
