// Decides by the rules in `x-kubernetes-validations`, which are expressions about a value and what it was before. Follows
// apiextensions-apiserver/pkg/apiserver/schema/cel/{compilation,validation}.go.
import type { CelEnvironment, Program } from "../cel/environment.ts";
import { CompilationError, EvaluationError, hasResultType, perCallLimit } from "../cel/environment.ts";
import { kubernetesEnvironment } from "../cel/kubernetes.ts";
import { descendants } from "../cel/literal-checks.ts";
import { type DeclaredType, declareSchema, sizesOf, structsOf } from "../cel/schema-types.ts";
import { boolType, optionalType, stringType } from "../cel/types.ts";
import { none, OptionalValue } from "../cel/values/optional.ts";
import type { CelValue } from "../cel/values/value.ts";
import { duplicate, forbidden, invalid, type Problem, required } from "../problem.ts";
import type { Before } from "./correlate.ts";
import { fieldPathOf } from "./field-path.ts";
import type { RuleBudget, RuleFinding, Rules } from "./rules.ts";
import { isMap, type SchemaNode } from "./schema.ts";

/** A rule as its author wrote it. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** What has become of an expression: a program and what it can cost at most, or what is wrong with it. */
export type CompiledExpression =
  | { readonly program: Program; readonly mostCost: number }
  | { readonly problem: string };

export interface CompiledRule {
  readonly source: ValidationRule;
  readonly rule: CompiledExpression;
  /** Undefined if there is none. */
  readonly message: CompiledExpression | undefined;
  readonly usesOldSelf: boolean;
}

export interface CompiledRules {
  readonly declared: DeclaredType;
  readonly rules: readonly CompiledRule[];
}

/** The rules of one schema, in order; undefined if the schema gives its values no type. */
export function compileRules(node: SchemaNode, isResource: boolean): CompiledRules | undefined {
  const declared = declareSchema(node, "selfType", isResource || node.isResource);
  if (!declared) return undefined;
  const environment = (oldSelf: DeclaredType["type"]) =>
    kubernetesEnvironment().extend({
      structs: structsOf(declared),
      variables: new Map([
        ["self", declared.type],
        ["oldSelf", oldSelf],
      ]),
    });
  const plain = environment(declared.type);
  const withOptional = environment(optionalType(declared.type));
  const rules = rulesOf(node).map((source) =>
    compileRule(source, source.optionalOldSelf ? withOptional : plain, declared),
  );
  return { declared, rules };
}

function rulesOf(node: SchemaNode): readonly ValidationRule[] {
  const rules = node.source["x-kubernetes-validations"];
  if (!Array.isArray(rules)) return [];
  return rules.filter(
    (rule): rule is ValidationRule & Record<string, unknown> => isMap(rule) && typeof rule.rule === "string",
  );
}

function compileRule(source: ValidationRule, environment: CelEnvironment, declared: DeclaredType): CompiledRule {
  const compile = (text: string, type: typeof boolType, wrongType: string, failed: string): CompiledExpression => {
    try {
      const program = environment.compile(text);
      if (!hasResultType(program, type)) return { problem: wrongType };
      return { program, mostCost: program.estimateCost(sizesOf(declared)).max };
    } catch (error) {
      if (!(error instanceof CompilationError)) throw error;
      return { problem: error.problems.length > 0 ? `${failed}${error.message}` : error.message };
    }
  };
  const rule = compile(source.rule, boolType, "cel expression must evaluate to a bool", "compilation failed: ");
  const text = "program" in rule ? source.messageExpression : undefined;
  const message = text
    ? compile(text, stringType, "messageExpression must evaluate to a string", "messageExpression compilation failed: ")
    : undefined;
  return { source, rule, message, usesOldSelf: "program" in rule && mentions(rule.program, "oldSelf") };
}

function mentions({ checked }: Program, name: string): boolean {
  for (const expr of descendants(checked.expr)) {
    const reference = checked.referenceOf(expr);
    if (reference?.kind === "variable" && reference.name === name) return true;
  }
  return false;
}

/** Compiles the rules of a schema when they are first needed: most schemas of a cluster never see an object. */
export const celRules: Rules = (node, isRoot) => {
  let compiled: CompiledRules | undefined;
  return (value, before, budget) => {
    compiled ??= compileRules(node, isRoot);
    return compiled ? evaluateRules(compiled, node, { value, before, budget }) : [];
  };
};

interface Subject {
  readonly value: unknown;
  readonly before: Before | undefined;
  readonly budget: RuleBudget;
}

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

function* evaluateRules(
  { declared, rules }: CompiledRules,
  node: SchemaNode,
  subject: Subject,
): Generator<RuleFinding> {
  const { value, before, budget } = subject;
  const type = String(node.source.type ?? "");
  const firm = (detail: string): RuleFinding => ({ problem: invalid("", detail, type), isFirm: true });
  if (budget.remaining <= 0) {
    budget.remaining = -1;
    return yield firm(outOfBudget);
  }
  const old = before?.old ?? undefined;
  const self = declared.read(value) ?? null;
  const oldSelf = old === undefined ? undefined : (declared.read(old) ?? null);
  for (const compiled of rules) {
    const { source, rule, usesOldSelf } = compiled;
    if ("problem" in rule) {
      yield firm(`rule compile error: ${rule.problem}`);
      continue;
    }
    if (usesOldSelf && old === undefined && !source.optionalOldSelf) continue;
    const variables = variablesOf(self, oldSelf, source.optionalOldSelf === true);
    const outcome = evaluateWithin(rule.program, variables, budget);
    if ("failure" in outcome) {
      yield firm(outcome.failure === outOfBudget ? outOfBudget : failureDetail(outcome.failure, source));
      if (budget.remaining < 0) return;
    } else if (outcome.value !== true) {
      const problem = problemOf(compiled, node, value, messageOf(compiled, variablesOf(self, oldSelf, false), budget));
      yield { problem, isFirm: usesOldSelf };
    }
  }
}

function variablesOf(self: CelValue, oldSelf: CelValue | undefined, isOptional: boolean): Map<string, CelValue> {
  const variables = new Map([["self", self]]);
  if (isOptional) variables.set("oldSelf", oldSelf === undefined ? none : new OptionalValue(oldSelf));
  else if (oldSelf !== undefined) variables.set("oldSelf", oldSelf);
  return variables;
}

type Outcome = { readonly value: CelValue } | { readonly failure: string };

/** Takes what the evaluation cost from what is left for the whole object; what is too much for one rule ends all of them. */
function evaluateWithin(program: Program, variables: ReadonlyMap<string, CelValue>, budget: RuleBudget): Outcome {
  let cost = perCallLimit;
  let outcome: Outcome;
  try {
    const evaluation = program.evaluate(variables, perCallLimit);
    cost = evaluation.cost;
    outcome = { value: evaluation.value };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    cost = error.cost;
    outcome = { failure: error.message };
    if (error.isOverLimit) {
      budget.remaining = -1;
      return outcome;
    }
  }
  budget.remaining = cost > budget.remaining ? -1 : budget.remaining - cost;
  return budget.remaining < 0 ? { failure: outOfBudget } : outcome;
}

/** What a rule is called where it failed: its message if it has one. */
function ruleName({ message = "", rule }: ValidationRule): string {
  return message === "" ? rule.trim() : message.trim();
}

function failureDetail(failure: string, source: ValidationRule): string {
  const name = ruleName(source);
  if (failure.startsWith("no such overload"))
    return `'${failure}': call arguments did not match a supported operator, function or macro signature for rule: ${name}`;
  if (failure.startsWith("operation cancelled: actual cost limit exceeded"))
    return `'${failure}': no further validation rules will be run due to call cost exceeds limit for rule: ${name}`;
  return `${failure} evaluating rule: ${name}`;
}

const longestMessage = 5 * 1024;

/** The message that an expression makes; one that is empty, too long or of several lines gives way to the fixed one. */
function messageOf(compiled: CompiledRule, variables: ReadonlyMap<string, CelValue>, budget: RuleBudget): string {
  const { message, source } = compiled;
  if (message && "program" in message) {
    const outcome = evaluateWithin(message.program, variables, budget);
    const text = "value" in outcome && typeof outcome.value === "string" ? outcome.value.trim() : "";
    if (text !== "" && text.length <= longestMessage && !/[\n\r]/.test(text)) return text;
  }
  return source.message ? source.message.trim() : `failed rule: ${source.rule.trim()}`;
}

function problemOf({ source }: CompiledRule, node: SchemaNode, value: unknown, detail: string): Problem {
  const field = (source.fieldPath && fieldPathOf(source.fieldPath, node)) || "";
  switch (source.reason) {
    case "FieldValueForbidden":
      return forbidden(field, detail);
    case "FieldValueRequired":
      return required(field, detail);
    case "FieldValueDuplicate":
      return withValue(duplicate(field), node, value);
    default:
      return withValue(invalid(field, detail), node, value);
  }
}

/** Objects and lists are not shown: they are as large as their authors like. */
function withValue(problem: Problem, node: SchemaNode, value: unknown): Problem {
  const { type } = node.source;
  return type === "object" || type === "array" ? { ...problem, hidden: true, value: null } : { ...problem, value };
}
