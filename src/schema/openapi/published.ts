// The schema of a kind made at run time, as clients may read it: the author's own, with what every object has put in.
import { isObject } from "#base/is-object.ts";
import type { Dialect, JsonValue } from "./definitions.ts";

export function publishedSchema(
  schema: JsonValue,
  dialect: Dialect,
  typeMeta: JsonValue,
  metadata: JsonValue,
): JsonValue {
  // kubectl takes properties for all there are, so a schema that lets unknown fields through must show none.
  if (dialect === 2 && schema["x-kubernetes-preserve-unknown-fields"] === true) return { type: "object" };
  const visible = withEmbedded(dialect === 2 ? asVersion2(schema) : schema, { ...typeMeta, metadata }, dialect);
  return { ...visible, properties: { ...typeMeta, metadata, ...without(propertiesOf(visible), ["metadata"]) } };
}

/** What version 2 or its readers cannot cope with goes: alternatives, nullable values, and all that is below unknown fields. */
function asVersion2(schema: JsonValue): JsonValue {
  const { allOf: _, oneOf: __, anyOf: ___, not: ____, nullable, default: _____, ...rest } = schema;
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const opaque = nullable === true || open;
  const bare: JsonValue = opaque ? without(rest, ["items", "properties"]) : rest;
  const untyped =
    nullable === true || (open && bare.type === "object") || (bare.type === "array" && bare.items === undefined);
  const result = inChildren(untyped ? without(bare, ["type"]) : bare, asVersion2);
  const required = requiredOf(schema).filter(
    (name) => (propertiesOf(schema)[name] as JsonValue | undefined)?.nullable !== true,
  );
  return { ...without(result, ["required"]), ...(required.length > 0 && { required }) };
}

/** An object inside the object has kind, version and metadata of its own. */
function withEmbedded(schema: JsonValue, objectProperties: JsonValue, dialect: Dialect): JsonValue {
  const inner = inChildren(schema, (child) => withEmbedded(child, objectProperties, dialect));
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema["x-kubernetes-embedded-resource"] !== true || (dialect === 2 && open)) return inner;
  return {
    ...inner,
    properties: { ...propertiesOf(inner), ...objectProperties },
    required: [...new Set([...requiredOf(inner), "kind", "apiVersion"])],
  };
}

function inChildren(schema: JsonValue, change: (child: JsonValue) => JsonValue): JsonValue {
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(isObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, isObject(child) ? change(child) : child]),
      ),
    }),
    ...(isObject(items) && { items: change(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: change(additionalProperties) }),
  };
}

const propertiesOf = (schema: JsonValue): JsonValue => (isObject(schema.properties) ? schema.properties : {});
const requiredOf = (schema: JsonValue): readonly string[] =>
  Array.isArray(schema.required) ? (schema.required as readonly string[]) : [];
const without = (object: JsonValue, names: readonly string[]): JsonValue =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
