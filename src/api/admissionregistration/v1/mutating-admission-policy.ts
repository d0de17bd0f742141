import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, invalid, list, type Problem, ref, required, resource, string, struct } from "#schema/index.ts";
import { checkExpression } from "../../cel.ts";
import { checkMutatingExpressions } from "./expression-checks.ts";
import { MatchCondition, MatchResources } from "./match.ts";
import { ParamKind, paramKindText, Variable } from "./params.ts";
import { checkMutatingOperations, checkPolicy } from "./policy-checks.ts";

export const ApplyConfiguration = struct(
  "admissionregistration/v1.ApplyConfiguration",
  {
    expression: string(1, "A CEL expression that gives the fields to apply."),
  },
  {
    *check({ expression = "" }) {
      yield* checkExpression("expression", expression);
    },
  },
);
export interface ApplyConfiguration extends Infer<typeof ApplyConfiguration> {}

export const JSONPatch = struct(
  "admissionregistration/v1.JSONPatch",
  {
    expression: string(1, "A CEL expression that gives the list of patches."),
  },
  {
    *check({ expression = "" }) {
      yield* checkExpression("expression", expression);
    },
  },
);
export interface JSONPatch extends Infer<typeof JSONPatch> {}

export const Mutation = struct(
  "admissionregistration/v1.Mutation",
  {
    patchType: string(2, "How the object is changed: ApplyConfiguration or JSONPatch.")
      .nonEmpty()
      .oneOf("ApplyConfiguration", "JSONPatch")
      .required(),
    applyConfiguration: ref(3, ApplyConfiguration, "Fields to apply to the object."),
    jsonPatch: ref(4, JSONPatch, "Patches to make to the object."),
  },
  {
    *check({ patchType, applyConfiguration, jsonPatch }) {
      if (patchType === "JSONPatch") {
        if (!jsonPatch) yield required("jsonPatch", "must be specified when patchType is JSONPatch");
        if (applyConfiguration)
          yield invalid(
            "applyConfiguration",
            "must not be specified when patchType is JSONPatch",
            "{applyConfiguration}",
          );
      }
      if (patchType === "ApplyConfiguration") {
        if (!applyConfiguration)
          yield required("applyConfiguration", "must be specified when patchType is ApplyConfiguration");
        if (jsonPatch)
          yield invalid("jsonPatch", "must not be specified when patchType is ApplyConfiguration", "{jsonPatch}");
      }
    },
  },
);
export interface Mutation extends Infer<typeof Mutation> {}

export const MutatingAdmissionPolicySpec = struct(
  "admissionregistration/v1.MutatingAdmissionPolicySpec",
  {
    paramKind: ref(1, ParamKind, "Kind of the parameters that bindings bring along."),
    matchConstraints: ref(2, MatchResources, "Which requests the policy is about.").nonEmpty(),
    variables: list(3, Variable, "Values that expressions can use."),
    mutations: list(4, Mutation, "How the object is changed, one after the other.").nonEmpty(
      "mutations must contain at least one item",
    ),
    failurePolicy: string(5, "What to do when an expression fails: Fail the request or Ignore it.")
      .oneOf("Fail", "Ignore")
      .pointer()
      .default("Fail"),
    matchConditions: list(6, MatchCondition, "Further conditions on the requests it is about.").keyedBy("name"),
    reinvocationPolicy: string(7, "Whether it is applied again when a later one changed the object.")
      .nonEmpty()
      .oneOf("IfNeeded", "Never"),
  },
  {
    problemOrder: "failurePolicy paramKind matchConstraints matchConditions variables mutations reinvocationPolicy",
    *check(spec, old): Iterable<Problem> {
      yield* checkPolicy(spec, old);
      yield* checkMutatingOperations("matchConstraints", spec.matchConstraints);
      yield* checkMutatingExpressions(spec);
    },
  },
);
export interface MutatingAdmissionPolicySpec extends Infer<typeof MutatingAdmissionPolicySpec> {}

export const MutatingAdmissionPolicy = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingAdmissionPolicy",
  storageVersion: "v1beta1",
  plural: "mutatingadmissionpolicies",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "Says in expressions how objects are changed before they are stored. A binding puts it to work.",
  fields: {
    spec: ref(2, MutatingAdmissionPolicySpec, "What is wanted.").default({}),
  },
  columns: [
    nameColumn,
    {
      name: "Mutations",
      type: "integer",
      doc: "How many mutations there are.",
      cell: ({ spec }) => (spec.mutations ?? []).length,
    },
    { name: "ParamKind", doc: "Kind of its parameters.", cell: ({ spec }) => paramKindText(spec.paramKind) },
    ageColumn,
  ],
});
export interface MutatingAdmissionPolicy extends Infer<typeof MutatingAdmissionPolicy> {}
