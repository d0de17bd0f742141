// Expressions of webhooks and policies must compile.
// Upstream: pkg/apis/admissionregistration/validation/validation.go.
import { CompilationError } from "#schema/cel/environment.ts";
import { type CelType, dynType } from "#schema/cel/types.ts";
import { invalid, type Problem } from "#schema/index.ts";
import { compileExpression, type ExpressionScope, results } from "../expressions.ts";
import type { Variable } from "./params.ts";

/** An expression that is not there is refused elsewhere. */
function* checkCompiles(
  field: string,
  source: string | undefined,
  scope: ExpressionScope,
  types: readonly CelType[],
): Generator<Problem, CelType> {
  if (source === undefined || source.trim() === "") return dynType;
  try {
    return compileExpression(source, scope, types).resultType;
  } catch (error) {
    if (!(error instanceof CompilationError)) throw error;
    yield invalid(field, error.message, source);
    return dynType;
  }
}

export function* checkCondition(field: string, expression: string, hasParams: boolean): Iterable<Problem> {
  yield* checkCompiles(field, expression, { hasParams, hasAuthorizer: true }, results.condition);
}

interface PolicyExpressions {
  readonly paramKind?: unknown;
  readonly variables?: readonly Variable[] | undefined;
}

/** Variables see those before them. The types of all are what the other expressions see. */
function* checkVariables(
  { variables = [] }: PolicyExpressions,
  scope: ExpressionScope,
): Generator<Problem, ReadonlyMap<string, CelType>> {
  const types = new Map<string, CelType>();
  for (const [i, { name, expression }] of variables.entries()) {
    const field = `variables[${i}].expression`;
    types.set(name, yield* checkCompiles(field, expression, { ...scope, variables: types }, results.variable));
  }
  return types;
}

interface ValidatingExpressions extends PolicyExpressions {
  readonly validations?:
    | readonly { readonly expression: string; readonly messageExpression?: string | undefined }[]
    | undefined;
  readonly auditAnnotations?: readonly { readonly valueExpression: string }[] | undefined;
}

export function* checkValidatingExpressions(spec: ValidatingExpressions): Iterable<Problem> {
  const scope = { hasParams: spec.paramKind !== undefined, hasAuthorizer: true };
  const types = yield* checkVariables(spec, scope);
  const composed = { ...scope, ...((spec.variables ?? []).length > 0 && { variables: types }) };
  for (const [i, { expression, messageExpression }] of (spec.validations ?? []).entries()) {
    const field = `validations[${i}]`;
    yield* checkCompiles(`${field}.expression`, expression, composed, results.condition);
    const messageScope = { ...composed, hasAuthorizer: false };
    yield* checkCompiles(`${field}.messageExpression`, messageExpression, messageScope, results.message);
  }
  for (const [i, { valueExpression }] of (spec.auditAnnotations ?? []).entries())
    yield* checkCompiles(`auditAnnotations[${i}].valueExpression`, valueExpression, composed, results.annotation);
}

interface MutatingExpressions extends PolicyExpressions {
  readonly mutations?:
    | readonly {
        readonly patchType: string;
        readonly applyConfiguration?: { readonly expression?: string | undefined } | undefined;
        readonly jsonPatch?: { readonly expression?: string | undefined } | undefined;
      }[]
    | undefined;
}

export function* checkMutatingExpressions(spec: MutatingExpressions): Iterable<Problem> {
  const scope = { hasParams: spec.paramKind !== undefined, hasAuthorizer: true };
  const variables = yield* checkVariables(spec, scope);
  for (const [i, mutation] of (spec.mutations ?? []).entries()) {
    const [field, types] =
      mutation.patchType === "JSONPatch"
        ? (["jsonPatch", results.jsonPatch] as const)
        : (["applyConfiguration", results.applyConfiguration] as const);
    const source = mutation[field]?.expression?.trim();
    const place = `mutations[${i}].${field}.expression`;
    yield* checkCompiles(place, source, { ...scope, hasPatches: true, variables }, types);
  }
}
