// Whether the defaults in a schema are values that the schema itself takes.
// Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go.
import { invalid, type Problem } from "#schema/index.ts";
import { celRules } from "#schema/structural/cel-rules.ts";
import { checkValue } from "#schema/structural/check.ts";
import { prunePart } from "#schema/structural/prune.ts";
import { validateEmbedded } from "#schema/structural/resource.ts";
import { ruleWalk } from "#schema/structural/rules.ts";
import { readSchema, type SchemaNode } from "#schema/structural/schema.ts";
import type { JSONSchemaProps } from "./json-schema.ts";
import { itemsOf, propertiesOf } from "./structural.ts";

type Schema = JSONSchemaProps;

/** Problems of all defaults in a structural schema at a path. Those of values that may have any name are forbidden. */
export function* checkDefaults(schema: Schema, path: string, isRoot = false): Iterable<Problem> {
  const given = schema.default;
  if (given !== undefined && given !== null) {
    const node = readSchema({ ...schema, ...(isRoot && { "x-kubernetes-embedded-resource": true }) });
    if (prunePart(node, given) !== given) yield invalid(`${path}.default`, "must not have unknown fields", given);
    const problems: Problem[] = [];
    validateEmbedded(given, node, `${path}.default`, problems);
    if (problems.length === 0) problems.push(...checkValue(node, given, `${path}.default`));
    yield* problems.length > 0 ? problems : checkRules(node, given, path, isRoot);
  }
  const items = itemsOf(schema);
  if (items) yield* checkDefaults(items, `${path}.items`);
  for (const [name, property] of propertiesOf(schema)) yield* checkDefaults(property, `${path}.properties[${name}]`);
}

/** A default must meet the rules of its schema, as far as they compile; whether they do is told of elsewhere. */
function checkRules(node: SchemaNode, given: unknown, path: string, isRoot: boolean): Problem[] {
  const problems: Problem[] = [];
  ruleWalk(node, celRules, isRoot)?.(given, undefined, problems);
  return problems
    .filter(({ detail }) => !detail.startsWith("rule compile error: "))
    .map((problem) => ({ ...problem, field: joined(`${path}.default`, problem.field) }));
}

function joined(path: string, field: string): string {
  return field === "" || field.startsWith("[") ? path + field : `${path}.${field}`;
}
