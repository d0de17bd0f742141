// What is wrong with the expressions of a policy, given the schemas of what it is about. It changes nothing about what the policy does:
// its author is told.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go.
import { CompilationError } from "#schema/cel/environment.ts";
import type { DeclaredType } from "#schema/cel/schema-types.ts";
import { type CelType, dynType } from "#schema/cel/types.ts";
import { checkExpressionTypes, type ExpressionTypes } from "./expressions.ts";
import type { ExpressionWarning, ValidatingAdmissionPolicySpec } from "./v1/validating-admission-policy.ts";

/** What a policy may be about, with the type of its objects. */
export interface CheckedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly declared: DeclaredType | undefined;
}

/** Per expression with a problem what it is, for each kind. `params` is the type of the parameters, where it is known. */
export function typeWarnings(
  { validations = [], variables = [], paramKind }: ValidatingAdmissionPolicySpec,
  kinds: readonly CheckedKind[],
  params: DeclaredType | undefined,
): readonly ExpressionWarning[] {
  const scopes = kinds.map((kind) => {
    const types = { object: kind.declared, params, hasParams: paramKind !== undefined };
    return { kind, types: { ...types, variables: typesOf(variables, types) } };
  });
  return validations.flatMap(({ expression, messageExpression }, i) => {
    const warned = (field: string, source: string | undefined): readonly ExpressionWarning[] => {
      const found = source ? scopes.flatMap(({ kind, types }) => problemIn(source, kind, types)) : [];
      return found.length === 0 ? [] : [{ fieldRef: `spec.validations[${i}].${field}`, warning: found.join("\n") }];
    };
    return [...warned("expression", expression), ...warned("messageExpression", messageExpression)];
  });
}

/** Each variable sees those before it. One that cannot be checked may be anything. */
function typesOf(
  variables: readonly { readonly name: string; readonly expression: string }[],
  types: Omit<ExpressionTypes, "variables">,
): ReadonlyMap<string, CelType> {
  const known = new Map<string, CelType>();
  for (const { name, expression } of variables) {
    const result = resultOf(expression, { ...types, variables: new Map(known) });
    known.set(name, result instanceof CompilationError ? dynType : result);
  }
  return known;
}

function resultOf(source: string, types: ExpressionTypes): CelType | CompilationError {
  try {
    return checkExpressionTypes(source, types);
  } catch (error) {
    if (error instanceof CompilationError) return error;
    throw error;
  }
}

function problemIn(source: string, { apiVersion, kind }: CheckedKind, types: ExpressionTypes): readonly string[] {
  const result = resultOf(source, types);
  if (!(result instanceof CompilationError)) return [];
  const version = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  return [`${version}, Kind=${kind}: ${result.message}\n`];
}
