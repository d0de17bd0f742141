// Expressions that are compiled once and evaluated for each request, within budgets.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/condition.go,
// staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/composition.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go.
import { compileExpression, type ExpressionScope, results } from "#api/admissionregistration/expressions.ts";
import { CompilationError, EvaluationError, type Program, perCallLimit } from "#schema/cel/environment.ts";
import type { CelType } from "#schema/cel/types.ts";
import { fail } from "#schema/cel/values/failure.ts";
import type { MapValue } from "#schema/cel/values/map.ts";
import type { CelValue } from "#schema/cel/values/value.ts";
import type { RequestVariables } from "./request-variables.ts";

/** What all expressions of a policy may cost for one request, and what all match conditions may. */
export const policyBudget = 10_000_000;
export const conditionBudget = 2_500_000;

export interface AdmissionExpression {
  readonly source: string;
  /** Or why it does not compile: a policy may be older than this server. */
  readonly program: Program | CompilationError;
}

export function compiled(source: string, scope: ExpressionScope, types: readonly CelType[]): AdmissionExpression {
  try {
    return { source, program: compileExpression(source, scope, types) };
  } catch (error) {
    if (error instanceof CompilationError) return { source, program: error };
    throw error;
  }
}

/** A budget is used up: nothing more is evaluated. */
export class OutOfBudget extends Error {
  constructor() {
    super("validation failed due to running out of cost budget, no further validation rules will be run");
  }
}

export class Budget {
  left: number;

  constructor(left: number) {
    this.left = left;
  }

  spend(cost: number): void {
    this.left -= cost;
    if (this.left < 0) throw new OutOfBudget();
  }
}

export type ExpressionResult = { readonly value: CelValue } | { readonly error: string };

/** Throws OutOfBudget, and AuthorizationPending where someone has to be asked first. */
export function evaluate(
  { source, program }: AdmissionExpression,
  variables: RequestVariables,
  budget: Budget,
): ExpressionResult {
  if (program instanceof CompilationError) return { error: `compilation error: ${program.message}` };
  try {
    const { value, cost } = program.evaluate(variables, perCallLimit);
    budget.spend(cost);
    return { value };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { error: `expression '${source}' resulted in error: ${error.message}` };
  }
}

export interface NamedExpression extends AdmissionExpression {
  readonly name: string;
}

/** The variables of a policy, each compiled with the types of those before it. */
export function compiledVariables(
  variables: readonly { readonly name: string; readonly expression: string }[],
  scope: ExpressionScope,
): { readonly variables: readonly NamedExpression[]; readonly types: ReadonlyMap<string, CelType> } {
  const types = new Map<string, CelType>();
  const list = variables.map(({ name, expression }) => {
    const one = compiled(expression, { ...scope, variables: new Map(types) }, results.variable);
    if (!(one.program instanceof CompilationError)) types.set(name, one.program.resultType);
    return { name, ...one };
  });
  return { variables: list, types };
}

/** The value of `variables`: each is evaluated when it is first looked at, and never again for the same request. */
export class LazyVariables implements MapValue {
  readonly kind = "map";
  readonly #variables: ReadonlyMap<string, NamedExpression>;
  readonly #activation: RequestVariables;
  readonly #budget: Budget;
  readonly #known = new Map<string, ExpressionResult>();

  constructor(variables: readonly NamedExpression[], activation: RequestVariables, budget: Budget) {
    this.#variables = new Map(variables.map((one) => [one.name, one]));
    this.#activation = activation;
    this.#budget = budget;
  }

  get size(): number {
    return this.#variables.size;
  }

  keys(): Iterable<CelValue> {
    return this.#variables.keys();
  }

  find(key: CelValue): CelValue | undefined {
    const variable = typeof key === "string" ? this.#variables.get(key) : undefined;
    if (!variable) return undefined;
    const result = this.#known.get(variable.name) ?? this.#evaluate(variable);
    this.#known.set(variable.name, result);
    return "error" in result ? fail(result.error) : result.value;
  }

  #evaluate({ name, program }: NamedExpression): ExpressionResult {
    if (program instanceof CompilationError)
      return { error: `composited variable ${JSON.stringify(name)} fails to compile: ${program.message}` };
    try {
      const { value, cost } = program.evaluate(this.#activation, perCallLimit);
      this.#budget.spend(cost);
      return { value };
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      return { error: `composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}` };
    }
  }
}

export type ConditionResult = { readonly matches: boolean } | { readonly error: string };

/** One condition that is false is enough; what failed only matters if there is none. */
export function matchConditions(
  conditions: readonly AdmissionExpression[],
  variables: RequestVariables,
  failurePolicy: string | undefined,
): ConditionResult {
  const ignores = failurePolicy === "Ignore";
  const budget = new Budget(conditionBudget);
  const errors: string[] = [];
  try {
    for (const condition of conditions) {
      const result = evaluate(condition, variables, budget);
      if ("error" in result) errors.push(result.error);
      else if (result.value === false) return { matches: false };
    }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return ignores ? { matches: false } : { error: error.message };
  }
  if (errors.length === 0) return { matches: true };
  if (ignores) return { matches: false };
  const texts = [...new Set(errors)];
  return { error: texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]` };
}

export const compiledConditions = (
  conditions: readonly { readonly expression: string }[],
  hasParams: boolean,
): readonly AdmissionExpression[] =>
  conditions.map(({ expression }) => compiled(expression, { hasParams, hasAuthorizer: true }, results.condition));
