// What makes a schema structural: every field has a type outside of the logical keywords (allOf, anyOf, oneOf, not), and
// within them fields are only narrowed down. Only then can a server prune, default and merge objects by it.
import { forbidden, invalid, type Problem, required } from "#schema/index.ts";
import { compilePattern, PatternError } from "#schema/structural/pattern.ts";
import type { JSONSchemaProps } from "./json-schema.ts";

type Schema = JSONSchemaProps;
type Level = "root" | "item" | "field";

/** Problems of a schema at a path within the spec of a definition. */
export function* checkStructural(schema: Schema, path: string): Iterable<Problem> {
  yield* checkInvariants(schema, "root", path);
  yield* checkCompleteness(schema, schema, path, `spec.${path}`);
}

export const itemsOf = ({ items }: Schema): Schema | undefined =>
  Array.isArray(items) ? undefined : (items as Schema | undefined);
export const valuesOf = ({ additionalProperties }: Schema): Schema | undefined =>
  typeof additionalProperties === "object" ? additionalProperties : undefined;
/** One property, and nothing that every object inherits. */
export const propertyOf = ({ properties = {} }: Schema, name: string): Schema | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;
export const propertiesOf = ({ properties }: Schema): readonly (readonly [string, Schema])[] =>
  properties === undefined
    ? none
    : Object.keys(properties)
        .sort()
        .map((name) => [name, properties[name] as Schema]);
const none: readonly never[] = [];

const missingType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function* checkInvariants(schema: Schema, level: Level, path: string): Iterable<Problem> {
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  if (schema.type === "array" && !items) yield required(`${path}.items`, "must be specified");
  if (items) yield* checkInvariants(items, "item", `${path}.items`);
  for (const [name, property] of propertiesOf(schema))
    yield* checkInvariants(property, "field", `${path}.properties[${name}]`);
  if (schema.additionalProperties !== undefined && level === "root")
    yield forbidden(`${path}.additionalProperties`, "must not be used at the root");
  if (values) yield* checkInvariants(values, "field", `${path}.additionalProperties`);
  yield* checkExtensions(schema, path);
  yield* checkLogic(schema, level, path, isIntOrString(schema.anyOf), isIntOrString(schema.allOf?.[0]?.anyOf));
  yield* checkType(schema, level, path);
  yield* checkMetadata(schema, level, path);
}

function* checkExtensions(schema: Schema, path: string): Iterable<Problem> {
  if (!schema["x-kubernetes-int-or-string"]) return;
  for (const extension of ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] as const)
    if (schema[extension])
      yield invalid(`${path}.${extension}`, "must be false if x-kubernetes-int-or-string is true", true);
}

function* checkType(schema: Schema, level: Level, path: string): Iterable<Problem> {
  const { type = "" } = schema;
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  if (embedded && type !== "object") {
    const words = "must be object if x-kubernetes-embedded-resource is true";
    yield type === "" ? required(`${path}.type`, words) : invalid(`${path}.type`, words, type);
  } else if (type === "" && !schema["x-kubernetes-int-or-string"] && !schema["x-kubernetes-preserve-unknown-fields"])
    yield required(`${path}.type`, missingType[level]);
  if (embedded && schema.additionalProperties !== undefined)
    yield forbidden(`${path}.additionalProperties`, "must not be used if x-kubernetes-embedded-resource is set");
  if (level === "root" && type !== "" && type !== "object")
    yield invalid(`${path}.type`, "must be object at the root", type);
  if (embedded && !schema["x-kubernetes-preserve-unknown-fields"] && propertiesOf(schema).length === 0)
    yield required(
      `${path}.properties`,
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
    );
}

/** Where an object is one with a kind, its kind, version and metadata are what they always are. */
function* checkMetadata({ properties = {}, ...schema }: Schema, level: Level, path: string): Iterable<Problem> {
  const isObject = level === "root" || schema["x-kubernetes-embedded-resource"] === true;
  for (const name of ["kind", "apiVersion"])
    if (isObject && properties[name] && properties[name].type !== "string")
      yield invalid(`${path}.properties[${name}].type`, "must be string", properties[name].type ?? "");
  const { metadata } = properties;
  if (!metadata) return;
  if (isObject && metadata.type !== "object")
    yield invalid(`${path}.properties[metadata].type`, "must be object", metadata.type ?? "");
  if (level !== "root") return;
  const { type: _type, default: _default, properties: inner = {}, ...more } = metadata;
  if (Object.keys(more).length > 0 || Object.keys(inner).some((name) => name !== "name" && name !== "generateName"))
    yield forbidden(
      `${path}.properties[metadata]`,
      "must not specify anything other than name and generateName, but metadata is implicitly specified",
    );
}

/** The one use of types within anyOf that is understood: what is either an integer or a string. */
const isIntOrString = (anyOf: readonly Schema[] | undefined): boolean =>
  anyOf?.length === 2 && JSON.stringify(anyOf) === '[{"type":"integer"},{"type":"string"}]';

function* checkLogic(
  schema: Schema,
  level: Level,
  path: string,
  skipAnyOf = false,
  skipAllOf = false,
): Iterable<Problem> {
  if (!skipAnyOf)
    for (const [i, one] of (schema.anyOf ?? none).entries()) yield* checkNested(one, level, `${path}.anyOf[${i}]`);
  for (const [i, one] of (schema.allOf ?? none).entries())
    yield* checkNested(one, level, `${path}.allOf[${i}]`, skipAllOf && i === 0);
  for (const [i, one] of (schema.oneOf ?? none).entries()) yield* checkNested(one, level, `${path}.oneOf[${i}]`);
  if (schema.not) yield* checkNested(schema.not, level, `${path}.not`);
  const problem = schema.pattern ? patternProblem(schema.pattern) : undefined;
  if (problem)
    yield invalid(`${path}.pattern`, `must be a valid regular expression, but isn't: ${problem}`, schema.pattern);
}

function patternProblem(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

const outsideOnly = {
  type: "must be empty to be structural",
  additionalProperties: "must be undefined to be structural",
  default: "must be undefined to be structural",
  title: "must be empty to be structural",
  description: "must be empty to be structural",
  nullable: "must be false to be structural",
  "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
  "x-kubernetes-embedded-resource": "must be false to be structural",
  "x-kubernetes-int-or-string": "must be false to be structural",
  "x-kubernetes-list-map-keys": "must be empty to be structural",
  "x-kubernetes-list-type": "must be undefined to be structural",
  "x-kubernetes-map-type": "must be undefined to be structural",
  "x-kubernetes-validations": "must be empty to be structural",
} as const;
const outsideFields = Object.keys(outsideOnly) as readonly (keyof typeof outsideOnly)[];

/** A schema within a logical keyword: it narrows down, and declares nothing. */
function* checkNested(schema: Schema, level: Level, path: string, skipAnyOf = false): Iterable<Problem> {
  yield* checkLogic(schema, level, path, skipAnyOf);
  const items = itemsOf(schema);
  if (items) yield* checkNested(items, level, `${path}.items`);
  for (const [name, property] of propertiesOf(schema))
    yield* checkNested(property, "field", `${path}.properties[${name}]`);
  for (const field of outsideFields) {
    const value = schema[field];
    if (value === undefined) continue;
    const isSet = Array.isArray(value)
      ? value.length > 0
      : field === "default" || field === "additionalProperties" || Boolean(value);
    if (isSet) yield forbidden(`${path}.${field}`, outsideOnly[field]);
  }
  if (schema.properties?.metadata)
    yield forbidden(`${path}.properties[metadata]`, "must not be specified in a nested context");
}

const logical = ["allOf", "anyOf", "oneOf"] as const;

/** What a logical keyword speaks of must be declared outside. */
function* checkCompleteness(narrow: Schema, whole: Schema, wholePath: string, path: string): Iterable<Problem> {
  if (narrow.not) yield* checkDeclared(narrow.not, whole, wholePath, `${path}.not`);
  for (const keyword of logical) {
    const parts = narrow[keyword];
    if (parts)
      for (const [i, part] of parts.entries()) yield* checkDeclared(part, whole, wholePath, `${path}.${keyword}[${i}]`);
  }
}

function* checkDeclared(narrow: Schema, whole: Schema, wholePath: string, path: string): Iterable<Problem> {
  yield* checkCompleteness(narrow, whole, wholePath, path);
  const items = itemsOf(narrow);
  const wholeItems = itemsOf(whole);
  if (items && !wholeItems) yield required(`${wholePath}.items`, `because it is defined in ${path}.items`);
  else if (items && wholeItems) yield* checkDeclared(items, wholeItems, `${wholePath}.items`, `${path}.items`);
  for (const [name, property] of propertiesOf(narrow)) {
    const at = `properties[${name}]`;
    const declared = propertyOf(whole, name);
    if (!declared) yield required(`${wholePath}.${at}`, `because it is defined in ${path}.${at}`);
    else yield* checkDeclared(property, declared, `${wholePath}.${at}`, `${path}.${at}`);
  }
}
