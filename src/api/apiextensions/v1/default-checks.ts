// Whether the defaults in a schema are values that the schema itself takes, in the words of upstream's validator of custom resources.
// Formats, CEL rules and patterns are not asked; a pattern could hold up the server, since our expressions backtrack and Go's do not.

import { equal } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import { invalid, notSupported, type Problem, required, tooLong, tooMany } from "#schema/index.ts";
import type { JSONSchemaProps } from "./json-schema.ts";
import { itemsOf, propertiesOf, propertyOf, valuesOf } from "./structural.ts";

type Schema = JSONSchemaProps;
type Json = Readonly<Record<string, unknown>>;

const embedded = "x-kubernetes-embedded-resource";

/** Problems of all defaults in a structural schema at a path. Those of values that may have any name are forbidden. */
export function* checkDefaults(schema: Schema, path: string): Iterable<Problem> {
  const given = schema.default;
  if (given !== undefined && given !== null) {
    if (!isPruned(schema, given)) yield invalid(`${path}.default`, "must not have unknown fields", given);
    yield* checkValue(schema, given, "", `${path}.default`);
  }
  const items = itemsOf(schema);
  if (items) yield* checkDefaults(items, `${path}.items`);
  for (const [name, property] of propertiesOf(schema)) yield* checkDefaults(property, `${path}.properties[${name}]`);
}

/** Whether a server would store the value as it is, without dropping fields that the schema does not know. */
function isPruned(schema: Schema, value: unknown): boolean {
  const items = itemsOf(schema);
  if (Array.isArray(value)) return !items || value.every((item) => isPruned(items, item));
  if (!isObject(value)) return true;
  const values = valuesOf(schema);
  return Object.entries(value).every(([name, one]) => {
    const property = propertyOf(schema, name) ?? values;
    if (property) return isPruned(property, one);
    const isMeta = schema[embedded] && ["apiVersion", "kind", "metadata"].includes(name);
    return isMeta || schema["x-kubernetes-preserve-unknown-fields"] || schema.additionalProperties === true;
  });
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** `name` is the way to the value from the default, which the message begins with. */
function* checkValue(schema: Schema, value: unknown, name: string, path: string): Iterable<Problem> {
  const { type = "", nullable } = schema;
  if (value === null && nullable) return;
  const is = typeOf(value);
  const fits = type === "" || is === type || (type === "number" && is === "integer") || isIntOrString(schema, is);
  if (!fits) yield { ...invalid(path, `${name} in body must be of type ${type}: "${is}"`, is), type: "TypeInvalid" };
  if (schema.enum && !schema.enum.some((one) => equal(one, value)))
    yield notSupported(path, schema.enum.map(enumWord), value);
  if (typeof value === "number") yield* checkNumber(schema, value, name, path);
  else if (typeof value === "string") yield* checkString(schema, value, name, path);
  else if (Array.isArray(value)) yield* checkList(schema, value, name, path);
  else if (isObject(value)) yield* checkObject(schema, value, name, path);
}

const isIntOrString = (schema: Schema, is: string): boolean =>
  schema["x-kubernetes-int-or-string"] === true && (is === "integer" || is === "string");
const enumWord = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function* checkNumber(schema: Schema, value: number, name: string, path: string): Iterable<Problem> {
  const { type, maximum, minimum, multipleOf } = schema;
  const fraction = (which: string, number: number) =>
    type === "integer" && !Number.isInteger(number)
      ? [invalid(path, `${which} value must be of type integer (default format) in ${name}`, "")]
      : [];
  yield* fraction("Checked", value);
  if (multipleOf !== undefined) {
    yield* fraction("MultipleOf", multipleOf);
    if (!Number.isInteger(value / multipleOf))
      yield invalid(path, `${name} in body should be a multiple of ${multipleOf}`, value);
  }
  if (maximum !== undefined) {
    yield* fraction("Maximum boundary", maximum);
    if (schema.exclusiveMaximum ? value >= maximum : value > maximum)
      yield invalid(path, `${name} in body should be less than ${orEqual(schema.exclusiveMaximum)}${maximum}`, value);
  }
  if (minimum !== undefined) {
    yield* fraction("Minimum boundary", minimum);
    if (schema.exclusiveMinimum ? value <= minimum : value < minimum)
      yield invalid(
        path,
        `${name} in body should be greater than ${orEqual(schema.exclusiveMinimum)}${minimum}`,
        value,
      );
  }
}

const orEqual = (isExclusive: boolean | undefined): string => (isExclusive ? "" : "or equal to ");

function* checkString(schema: Schema, value: string, name: string, path: string): Iterable<Problem> {
  const { maxLength, minLength } = schema;
  if (maxLength !== undefined && [...value].length > maxLength) yield tooLong(path, maxLength);
  if (minLength !== undefined && [...value].length < minLength)
    yield invalid(path, `${name} in body should be at least ${minLength} chars long`, value);
}

function* checkList(schema: Schema, values: readonly unknown[], name: string, path: string): Iterable<Problem> {
  const { maxItems, minItems } = schema;
  if (minItems !== undefined && values.length < minItems)
    yield invalid(path, `${name} in body should have at least ${minItems} items`, values.length);
  if (maxItems !== undefined && values.length > maxItems) yield tooMany(path, values.length, maxItems);
  const items = itemsOf(schema);
  if (items) for (const [i, one] of values.entries()) yield* checkValue(items, one, `${name}[${i}]`, `${path}[${i}]`);
}

function* checkObject(schema: Schema, value: Json, name: string, path: string): Iterable<Problem> {
  const { maxProperties, minProperties } = schema;
  const names = Object.keys(value);
  if (minProperties !== undefined && names.length < minProperties)
    yield invalid(path, `${name} in body should have at least ${minProperties} properties`, names.length);
  if (maxProperties !== undefined && names.length > maxProperties) yield tooMany(path, names.length, maxProperties);
  for (const needed of schema.required ?? []) if (!Object.hasOwn(value, needed)) yield required(`${path}.${needed}`);
  for (const one of names.toSorted()) {
    const property = propertyOf(schema, one) ?? valuesOf(schema);
    if (property) yield* checkValue(property, value[one], name === "" ? one : `${name}.${one}`, `${path}.${one}`);
  }
}
