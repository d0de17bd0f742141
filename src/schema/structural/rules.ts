// Walks the values that have rules in `x-kubernetes-validations`. How a rule is evaluated is not known here. Follows the walk of
// apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
import type { JsonMap } from "../apply/value.ts";
import type { WarnOfProblem } from "../model.ts";
import { mostProblems, type Problem } from "../problem.ts";
import { type Before, Correlation } from "./correlate.ts";
import { isMap, type SchemaNode, valueNode } from "./schema.ts";

/** The remaining cost budget of all rules of one object. Below zero no more rules are evaluated. */
export interface RuleBudget {
  remaining: number;
}

/** Upstream's limit for all rules of one object. */
const costPerObject = 10_000_000;

export interface RuleFinding {
  /** Its path is relative to the value. */
  readonly problem: Problem;
  /** Whether it is reported although the value is unchanged. Others are dropped then (ratcheting), so that new rules do not block old objects. */
  readonly isFirm: boolean;
}

/**
 * What is wrong with one value. `before` is the value that was in its place; without it, the value is new or
 * cannot be told from others, and rules about changes do not hold for it.
 */
export type RuleCheck = (value: unknown, before: Before | undefined, budget: RuleBudget) => Iterable<RuleFinding>;

/** Makes the check of one schema that has rules; it is made once. */
export type Rules = (node: SchemaNode, isRoot: boolean) => RuleCheck;

type Walk = (value: unknown, old: JsonMap | undefined, problems: Problem[], warn?: WarnOfProblem) => void;

/** Undefined if the schema has no rules anywhere. `isRoot`: whether it is the schema of a whole object. */
export function ruleWalk(root: SchemaNode, rules: Rules, isRoot = true): Walk | undefined {
  const steps = stepsOf(root, rules, isRoot);
  if (steps === undefined) return undefined;
  return (value, old, problems, warn) => {
    const before = old && { old };
    const budget = { remaining: costPerObject };
    const correlation = new Correlation();
    visit(steps, value, before, "", { problems, warn, budget, correlation, isParentSame: () => false });
  };
}

/** The part of a schema that leads to rules. */
interface Steps {
  readonly node: SchemaNode;
  readonly check: RuleCheck | undefined;
  readonly properties: ReadonlyMap<string, Steps>;
  readonly values: Steps | undefined;
  readonly items: Steps | undefined;
}

function stepsOf(node: SchemaNode, rules: Rules, isRoot = false): Steps | undefined {
  const own = node.source["x-kubernetes-validations"];
  const properties = new Map<string, Steps>();
  for (const [name, property] of node.properties) {
    const steps = stepsOf(property, rules);
    if (steps) properties.set(name, steps);
  }
  const inside = valueNode(node);
  const values = inside && stepsOf(inside, rules);
  const items = node.items && stepsOf(node.items, rules);
  const check = Array.isArray(own) && own.length > 0 ? rules(node, isRoot) : undefined;
  return check || properties.size > 0 || values || items ? { node, check, properties, values, items } : undefined;
}

interface Visit {
  readonly problems: Problem[];
  readonly warn: WarnOfProblem | undefined;
  readonly budget: RuleBudget;
  readonly correlation: Correlation;
  /** Whether the nearest value around this one that can be compared with an old one is what it was. */
  readonly isParentSame: () => boolean;
}

function visit(steps: Steps, value: unknown, before: Before | undefined, path: string, around: Visit): void {
  const { problems, correlation, budget } = around;
  if (problems.length >= mostProblems || value === null || budget.remaining < 0) return;
  const { node, check, properties, values, items } = steps;
  const isSame = before ? () => correlation.isSame(node, value, before) : around.isParentSame;
  const within = { ...around, isParentSame: isSame };
  if (check)
    for (const { problem, isFirm } of check(value, before, budget)) {
      const found = { ...problem, field: joined(path, problem.field) };
      if (isFirm || !isSame()) problems.push(found);
      else around.warn?.(found);
    }
  if (budget.remaining < 0) return;
  if (Array.isArray(value)) {
    if (items)
      for (const [i, item] of value.entries())
        visit(items, item, correlation.item(node, before, item), `${path}[${i}]`, within);
  } else if (isMap(value))
    for (const name of Object.keys(value)) {
      const property = properties.get(name);
      if (property) visit(property, value[name], correlation.field(before, name), joined(path, name), within);
      else if (values && !node.properties.has(name))
        visit(values, value[name], correlation.field(before, name), `${path}[${name}]`, within);
    }
}

function joined(path: string, field: string): string {
  if (path === "" || field === "") return path + field;
  return field.startsWith("[") ? path + field : `${path}.${field}`;
}
