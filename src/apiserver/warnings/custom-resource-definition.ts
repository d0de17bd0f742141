// Warnings about formats in the schemas of custom resources that are accepted, but not checked.
// Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go.
import type { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { equal } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import { isKnownFormat } from "#schema/structural/schema.ts";

/** Those that an update brings; who wrote the others was told. */
export function* definitionWarnings(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): Iterable<string> {
  const before = new Set(old && schemaWarnings(old));
  for (const warning of schemaWarnings(definition)) if (!before.has(warning)) yield warning;
}

function schemaWarnings({ spec: { versions } }: CustomResourceDefinition): readonly string[] {
  const formats: string[] = [];
  const [first] = versions;
  // Upstream keeps a schema that all versions share in one place.
  const isShared = versions.every(({ schema }) => equal(schema, first?.schema));
  for (const { schema } of isShared && first ? [first] : versions)
    for (const part of schemasIn(schema?.openAPIV3Schema)) {
      const { type, format } = part;
      if (typeof format === "string" && format !== "" && !isKnownFormat(typeof type === "string" ? type : "", format))
        formats.push(`unrecognized format ${JSON.stringify(format)}`);
    }
  return formats;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** A schema and all that are in it, the outer ones first. */
function* schemasIn(schema: unknown): Iterable<JsonObject> {
  if (!isObject(schema)) return;
  yield schema;
  yield* schemasIn(schema.items);
  for (const list of [schema.allOf, schema.oneOf, schema.anyOf])
    if (Array.isArray(list)) for (const one of list) yield* schemasIn(one);
  yield* schemasIn(schema.not);
  if (isObject(schema.properties))
    for (const name of Object.keys(schema.properties).toSorted()) yield* schemasIn(schema.properties[name]);
  yield* schemasIn(schema.additionalProperties);
}
