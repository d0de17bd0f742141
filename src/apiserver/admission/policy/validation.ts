// What a ValidatingAdmissionPolicy says of one request, with one set of parameters.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go.
import { type ExpressionScope, results } from "#api/admissionregistration/expressions.ts";
import type { ValidatingAdmissionPolicy } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import { typeOf } from "#schema/cel/values/value.ts";
import {
  type AdmissionExpression,
  Budget,
  compiled,
  compiledConditions,
  compiledVariables,
  evaluate,
  LazyVariables,
  matchConditions,
  type NamedExpression,
  OutOfBudget,
  policyBudget,
} from "./evaluation.ts";
import type { RequestVariables } from "./request-variables.ts";

export interface CompiledValidation {
  readonly expression: AdmissionExpression;
  readonly messageExpression: AdmissionExpression | undefined;
  readonly message: string;
  readonly reason: string;
}

export interface CompiledPolicy {
  readonly conditions: readonly AdmissionExpression[];
  readonly variables: readonly NamedExpression[];
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly NamedExpression[];
  readonly failurePolicy: string;
}

export function compilePolicy({ spec }: ValidatingAdmissionPolicy): CompiledPolicy {
  const { paramKind, matchConditions: conditions = [], validations = [], auditAnnotations = [] } = spec;
  const scope: ExpressionScope = { hasParams: paramKind !== undefined, hasAuthorizer: true };
  const { variables, types } = compiledVariables(spec.variables ?? [], scope);
  const composed = variables.length > 0 ? { ...scope, variables: types } : scope;
  return {
    conditions: compiledConditions(conditions, scope.hasParams),
    variables,
    validations: validations.map(({ expression, message = "", messageExpression = "", reason = "Invalid" }) => ({
      expression: compiled(expression, composed, results.condition),
      messageExpression: messageExpression
        ? compiled(messageExpression, { ...composed, hasAuthorizer: false }, results.message)
        : undefined,
      message: message.trim(),
      reason,
    })),
    annotations: auditAnnotations.map(({ key, valueExpression }) => ({
      name: key,
      ...compiled(valueExpression.trim(), composed, results.annotation),
    })),
    failurePolicy: spec.failurePolicy,
  };
}

/** A validation that did not hold, or could not be evaluated. */
export interface PolicyFailure {
  readonly index: number;
  readonly message: string;
  /** Undefined of what could not be evaluated. */
  readonly reason: string | undefined;
}

export interface PolicyVerdict {
  readonly failures: readonly PolicyFailure[];
  readonly annotations: readonly (readonly [key: string, value: string])[];
  /** Annotations that could not be evaluated. */
  readonly problems: readonly string[];
}

const silence: PolicyVerdict = { failures: [], annotations: [], problems: [] };

/** Throws AuthorizationPending where someone has to be asked first. */
export function judge(policy: CompiledPolicy, activation: RequestVariables): PolicyVerdict {
  const ignores = policy.failurePolicy === "Ignore";
  const failed = (message: string): PolicyVerdict =>
    ignores ? silence : { ...silence, failures: [{ index: 0, message, reason: undefined }] };
  if (policy.conditions.length > 0) {
    const matched = matchConditions(policy.conditions, activation, policy.failurePolicy);
    if ("error" in matched) return failed(matched.error);
    if (!matched.matches) return silence;
  }
  const budget = new Budget(policyBudget);
  if (policy.variables.length > 0) activation.set("variables", new LazyVariables(policy.variables, activation, budget));
  try {
    const failures: PolicyFailure[] = [];
    for (let index = 0; index < policy.validations.length; index++) {
      const failure = judgeOne(policy.validations[index] as CompiledValidation, activation, budget, ignores);
      if (failure) failures.push({ index, ...failure });
    }
    if (policy.annotations.length > 0) return { failures, ...annotate(policy, activation, ignores) };
    return failures.length === 0 ? silence : { ...silence, failures };
  } catch (error) {
    if (error instanceof OutOfBudget) return failed(error.message);
    throw error;
  }
}

function judgeOne(
  { expression, messageExpression, message, reason }: CompiledValidation,
  activation: RequestVariables,
  budget: Budget,
  ignores: boolean,
): Omit<PolicyFailure, "index"> | undefined {
  const result = evaluate(expression, activation, budget);
  if ("error" in result) return ignores ? undefined : { message: result.error, reason: undefined };
  if (result.value === true) return undefined;
  const made = messageExpression && evaluate(messageExpression, activation, budget);
  const text = made && "value" in made && typeof made.value === "string" ? sayable(made.value) : "";
  return { message: text || message || `failed expression: ${expression.source.trim()}`, reason };
}

const longestMessage = 5 * 1024;

/** A message in one line that is not too long, else nothing. */
function sayable(text: string): string {
  const trimmed = text.trim();
  return trimmed.includes("\n") || new TextEncoder().encode(trimmed).length > longestMessage ? "" : trimmed;
}

function annotate(
  { annotations: wanted }: CompiledPolicy,
  activation: RequestVariables,
  ignores: boolean,
): Pick<PolicyVerdict, "annotations" | "problems"> {
  const budget = new Budget(policyBudget);
  const annotations: [string, string][] = [];
  const problems: string[] = [];
  for (const expression of wanted) {
    const result = evaluate(expression, activation, budget);
    if ("error" in result) {
      if (!ignores) problems.push(result.error);
    } else if (typeof result.value === "string") {
      const text = result.value.trim();
      if (text !== "") annotations.push([expression.name, text]);
    } else if (result.value !== null)
      problems.push(
        `valueExpression '${expression.source}' resulted in unsupported return type: ${typeOf(result.value).name}. Return type must be either string or null.`,
      );
  }
  return { annotations, problems };
}
