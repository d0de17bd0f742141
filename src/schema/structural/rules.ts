// The rules in `x-kubernetes-validations`, asked of each value they stand for. What decides by them is not known here. Follows the walk of
// apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
import type { JsonMap } from "../apply/value.ts";
import { mostProblems, type Problem } from "../problem.ts";
import { type Before, Correlation } from "./correlate.ts";
import { isMap, type SchemaNode, valueNode } from "./schema.ts";

/**
 * Problems of one value, with paths relative to it. `before` is the value that was in its place; without it, the value is new or
 * cannot be told from others, and rules about changes do not hold for it.
 */
export type RuleCheck = (value: unknown, before: Before | undefined) => Iterable<Problem>;

/** Makes the check of one schema that has rules; it is made once. */
export type Rules = (schema: JsonMap) => RuleCheck;

type Walk = (object: JsonMap, old: JsonMap | undefined, problems: Problem[]) => void;

/** Undefined if the schema has no rules anywhere. */
export function ruleWalk(root: SchemaNode, rules: Rules): Walk | undefined {
  const steps = stepsOf(root, rules);
  if (steps === undefined) return undefined;
  return (object, old, problems) => {
    const before = old && { old };
    visit(steps, object, before, "", { problems, correlation: new Correlation() });
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

function stepsOf(node: SchemaNode, rules: Rules): Steps | undefined {
  const own = node.source["x-kubernetes-validations"];
  const properties = new Map<string, Steps>();
  for (const [name, property] of node.properties) {
    const steps = stepsOf(property, rules);
    if (steps) properties.set(name, steps);
  }
  const inside = valueNode(node);
  const values = inside && stepsOf(inside, rules);
  const items = node.items && stepsOf(node.items, rules);
  const check = Array.isArray(own) && own.length > 0 ? rules(node.source) : undefined;
  return check || properties.size > 0 || values || items ? { node, check, properties, values, items } : undefined;
}

interface Visit {
  readonly problems: Problem[];
  readonly correlation: Correlation;
}

function visit(steps: Steps, value: unknown, before: Before | undefined, path: string, found: Visit): void {
  const { problems, correlation } = found;
  if (problems.length >= mostProblems || value === null) return;
  const { node, check, properties, values, items } = steps;
  if (check) {
    const own = [...check(value, before)];
    // A value that did not change is not refused for what it is.
    if (own.length > 0 && !correlation.isSame(node, value, before))
      for (const problem of own) problems.push({ ...problem, field: joined(path, problem.field) });
  }
  if (Array.isArray(value)) {
    if (items)
      for (const [i, item] of value.entries())
        visit(items, item, correlation.item(node, before, item), `${path}[${i}]`, found);
  } else if (isMap(value))
    for (const name of Object.keys(value)) {
      const property = properties.get(name);
      if (property) visit(property, value[name], correlation.field(before, name), joined(path, name), found);
      else if (values && !node.properties.has(name))
        visit(values, value[name], correlation.field(before, name), `${path}[${name}]`, found);
    }
}

function joined(path: string, field: string): string {
  if (path === "" || field === "") return path + field;
  return field.startsWith("[") ? path + field : `${path}.${field}`;
}
