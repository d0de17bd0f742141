// Whether the defaults in a schema are values that the schema itself takes. CEL rules are not asked.
import { invalid, type Problem } from "#schema/index.ts";
import { checkValue } from "#schema/structural/check.ts";
import { prunePart } from "#schema/structural/prune.ts";
import { validateEmbedded } from "#schema/structural/resource.ts";
import { readSchema } from "#schema/structural/schema.ts";
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
    yield* problems.length > 0 ? problems : checkValue(node, given, `${path}.default`);
  }
  const items = itemsOf(schema);
  if (items) yield* checkDefaults(items, `${path}.items`);
  for (const [name, property] of propertiesOf(schema)) yield* checkDefaults(property, `${path}.properties[${name}]`);
}
