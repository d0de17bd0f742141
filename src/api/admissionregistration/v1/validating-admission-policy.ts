import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, int64, list, type Problem, ref, required, resource, string, struct } from "#schema/index.ts";
import { Condition } from "../../meta/condition.ts";
import { checkRepeatedConditions } from "../../meta/condition-check.ts";
import { checkValidatingExpressions } from "./expression-checks.ts";
import { MatchCondition, MatchResources } from "./match.ts";
import { ParamKind, paramKindText, Variable } from "./params.ts";
import { checkAnnotations, checkPolicy, checkValidation } from "./policy-checks.ts";

export const AuditAnnotation = struct("admissionregistration/v1.AuditAnnotation", {
  key: string(1, "Name of the annotation, after the name of the policy.").required(),
  valueExpression: string(2, "A CEL expression that gives its value, or null for none.").required(),
});
export interface AuditAnnotation extends Infer<typeof AuditAnnotation> {}

export const ExpressionWarning = struct("admissionregistration/v1.ExpressionWarning", {
  fieldRef: string(2, "The field of the expression.").nonEmpty().required(),
  warning: string(3, "What is wrong with its types.").nonEmpty().required(),
});
export interface ExpressionWarning extends Infer<typeof ExpressionWarning> {}

export const TypeChecking = struct("admissionregistration/v1.TypeChecking", {
  expressionWarnings: list(1, ExpressionWarning, "What was found."),
});
export interface TypeChecking extends Infer<typeof TypeChecking> {}

export const Validation = struct(
  "admissionregistration/v1.Validation",
  {
    expression: string(1, "A CEL expression that is true of what may pass.").required(),
    message: string(2, "What to say when it is not."),
    reason: string(3, "The reason of the refusal for machines.")
      .oneOf("Forbidden", "Invalid", "RequestEntityTooLarge")
      .publishedAs()
      .pointer(),
    messageExpression: string(4, "A CEL expression that makes the message."),
  },
  {
    *check(validation): Iterable<Problem> {
      yield* checkValidation(validation);
    },
  },
);
export interface Validation extends Infer<typeof Validation> {}

export const ValidatingAdmissionPolicySpec = struct(
  "admissionregistration/v1.ValidatingAdmissionPolicySpec",
  {
    paramKind: ref(1, ParamKind, "Kind of the parameters that bindings bring along."),
    matchConstraints: ref(2, MatchResources, "Which requests the policy is about.").nonEmpty(),
    validations: list(3, Validation, "What must be true of them."),
    failurePolicy: string(4, "What to do when an expression fails: Fail the request or Ignore it.")
      .oneOf("Fail", "Ignore")
      .pointer()
      .default("Fail"),
    auditAnnotations: list(5, AuditAnnotation, "What to note in the audit log."),
    matchConditions: list(6, MatchCondition, "Further conditions on the requests it is about.").keyedBy("name"),
    variables: list(7, Variable, "Values that expressions can use.").keyedBy("name"),
  },
  {
    *check(spec, old): Iterable<Problem> {
      yield* checkPolicy(spec, old);
      yield* checkValidatingExpressions(spec);
      if ((spec.validations ?? []).length + (spec.auditAnnotations ?? []).length > 0) return;
      yield required("validations", "validations or auditAnnotations must contain at least one item");
      yield required("auditAnnotations", "validations or auditAnnotations must contain at least one item");
    },
  },
);
export interface ValidatingAdmissionPolicySpec extends Infer<typeof ValidatingAdmissionPolicySpec> {}

export const ValidatingAdmissionPolicyStatus = struct("admissionregistration/v1.ValidatingAdmissionPolicyStatus", {
  observedGeneration: int64(1, "Generation of the spec that this status describes."),
  typeChecking: ref(2, TypeChecking, "What is wrong with the types of the expressions."),
  conditions: list(3, Condition, "Whether the policy is in force.").keyedBy("type").patch("replace"),
});
export interface ValidatingAdmissionPolicyStatus extends Infer<typeof ValidatingAdmissionPolicyStatus> {}

export const ValidatingAdmissionPolicy = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "Says in expressions which requests may pass. A binding puts it to work.",
  fields: {
    spec: ref(2, ValidatingAdmissionPolicySpec, "What is wanted.").default({}),
    status: ref(3, ValidatingAdmissionPolicyStatus, "What was found in it.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    {
      name: "Validations",
      type: "integer",
      doc: "How many validations there are.",
      cell: ({ spec }) => (spec.validations ?? []).length,
    },
    { name: "ParamKind", doc: "Kind of its parameters.", cell: ({ spec }) => paramKindText(spec.paramKind) },
    ageColumn,
  ],
  *check({ metadata, spec }) {
    yield* checkAnnotations(metadata.name, spec.auditAnnotations);
  },
  checkStatus: ({ status }): Iterable<Problem> => checkRepeatedConditions("status.conditions", status.conditions),
});
export interface ValidatingAdmissionPolicy extends Infer<typeof ValidatingAdmissionPolicy> {}
