// The parts of OpenAPI that custom resources may use, and how their extensions go together.
// Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go and
// staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go.
import { repeats } from "#base/collections.ts";
import { forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import type { JSONSchemaProps } from "./json-schema.ts";
import { itemsOf, propertiesOf, propertyOf, valuesOf } from "./structural.ts";

type Schema = JSONSchemaProps;

interface Place {
  readonly isRoot?: boolean;
  /** Why defaults are not allowed here. */
  readonly noDefaults?: string;
  /** Within metadata, kind or apiVersion of an object. */
  readonly inMeta?: boolean;
}

const types = ["array", "boolean", "integer", "number", "object", "string"];
const unsupported = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] as const;
const logical = ["allOf", "oneOf", "anyOf"] as const;
const metaFields = ["metadata", "kind", "apiVersion"];

export function* checkSchema(schema: Schema, path: string, place: Place = { isRoot: true }): Iterable<Problem> {
  const { type = "" } = schema;
  if (type !== "" && !types.includes(type)) yield notSupported(`${path}.type`, types, type);
  if (schema.default !== undefined && place.noDefaults)
    yield forbidden(`${path}.default`, `must not be set ${place.noDefaults}`);
  for (const keyword of unsupported)
    if (isSet(schema[keyword])) yield forbidden(`${path}.${keyword}`, `${keyword} is not supported`);
  if (type === "null") yield forbidden(`${path}.type`, "type cannot be set to null, use nullable as an alternative");
  if (Array.isArray(schema.items) && schema.items.length > 0)
    yield forbidden(`${path}.items`, "items must be a schema object and not an array");
  if (place.inMeta && schema["x-kubernetes-embedded-resource"])
    yield forbidden(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta");
  if (schema.uniqueItems)
    yield forbidden(
      `${path}.uniqueItems`,
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    );
  yield* checkParts(schema, path, place);
  yield* checkMapType(schema, path);
  yield* checkListType(schema, path);
  yield* checkMapKeys(schema, path);
  yield* checkRules(schema, path);
}

const isSet = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);

function* checkParts(schema: Schema, path: string, { isRoot, ...place }: Place): Iterable<Problem> {
  const values = valuesOf(schema);
  const properties = propertiesOf(schema);
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== true && properties.length > 0)
    yield forbidden(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive");
  if (values) {
    const inMeta = { ...place, noDefaults: "inside additionalProperties applying to object metadata" };
    yield* checkSchema(values, `${path}.additionalProperties`, place.inMeta ? inMeta : place);
  }
  for (const [name, property] of properties) {
    const isMeta = metaFields.includes(name) && (isRoot || schema["x-kubernetes-embedded-resource"]);
    const inside = {
      ...place,
      ...(isMeta && { inMeta: true }),
      ...(isMeta && isRoot && { noDefaults: `in top-level ${name}` }),
    };
    yield* checkSchema(property, `${path}.properties[${name}]`, inside);
  }
  if (schema.not) yield* checkSchema(schema.not, `${path}.not`, place);
  for (const keyword of logical) {
    const parts = schema[keyword];
    if (parts) for (const [i, one] of parts.entries()) yield* checkSchema(one, `${path}.${keyword}[${i}]`, place);
  }
  const items = itemsOf(schema);
  if (items) yield* checkSchema(items, `${path}.items`, place);
}

function* checkMapType(schema: Schema, path: string): Iterable<Problem> {
  const { type = "" } = schema;
  const mapType = schema["x-kubernetes-map-type"];
  if (schema["x-kubernetes-preserve-unknown-fields"] === false)
    yield invalid(`${path}.x-kubernetes-preserve-unknown-fields`, "must be true or undefined", false);
  if (mapType === undefined) return;
  if (type !== "object") yield wrongType(path, type, "must be object if x-kubernetes-map-type is specified");
  if (mapType !== "atomic" && mapType !== "granular")
    yield notSupported(`${path}.x-kubernetes-map-type`, ["atomic", "granular"], mapType);
}

const wrongType = (path: string, type: string, words: string): Problem =>
  type === "" ? required(`${path}.type`, words) : invalid(`${path}.type`, words, type);

function* checkListType(schema: Schema, path: string): Iterable<Problem> {
  const { type = "" } = schema;
  const listType = schema["x-kubernetes-list-type"];
  if (listType === undefined) return;
  const items = itemsOf(schema);
  if (type !== "array") yield wrongType(path, type, "must be array if x-kubernetes-list-type is specified");
  else if (listType === "set" && items) {
    const words = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const { "x-kubernetes-list-type": inner, "x-kubernetes-map-type": mapType } = items;
    if (items.type === "array" && inner !== undefined && inner !== "atomic")
      yield invalid(`${path}.items.x-kubernetes-list-type`, words, inner);
    if (items.type === "object" && mapType !== "atomic")
      yield invalid(`${path}.items.x-kubernetes-map-type`, words, inner ?? null);
  }
  if (!["atomic", "set", "map"].includes(listType))
    yield notSupported(`${path}.x-kubernetes-list-type`, ["atomic", "set", "map"], listType);
  if ((listType === "set" || listType === "map") && items?.nullable)
    yield forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`);
}

/** The keys of a list of objects are scalar fields of its items that are always there. */
function* checkMapKeys(schema: Schema, path: string): Iterable<Problem> {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const listType = schema["x-kubernetes-list-type"];
  const keysField = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length > 0 && listType !== "map") {
    const words = "must be map if x-kubernetes-list-map-keys is non-empty";
    const field = `${path}.x-kubernetes-list-type`;
    yield listType === undefined ? required(field, words) : invalid(field, words, listType);
  }
  if (listType !== "map") return;
  const items = itemsOf(schema);
  if (keys.length === 0) yield required(keysField, "must not be empty if x-kubernetes-list-type is map");
  if (schema.items === undefined)
    yield required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map");
  else if (!items)
    yield invalid(`${path}.items`, "must only have a single schema if x-kubernetes-list-type is map", schema.items);
  if (!items) return;
  if (items.type !== "object") {
    yield invalid(
      `${path}.items.type`,
      "must be object if parent array's x-kubernetes-list-type is map",
      items.type ?? "",
    );
    return;
  }
  const isRepeated = repeats<string>();
  const needed = new Set(items.required);
  for (const key of keys) {
    const field = `${path}.items.properties[${key}]`;
    const property = propertyOf(items, key);
    if (!property) yield invalid(keysField, "entries must all be names of item properties", keys);
    else if (property.type === "array" || property.type === "object")
      yield invalid(
        `${field}.type`,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
        items.type,
      );
    if (isRepeated(key)) yield invalid(keysField, "must not contain duplicate entries", keys);
    if (property && !needed.has(key) && property.default === undefined)
      yield required(
        `${field}.default`,
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
      );
    if (property?.nullable)
      yield forbidden(`${field}.nullable`, "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
  }
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const hasBreaks = (text: string): boolean => /[\n\r]/.test(text);

function* checkRules(schema: Schema, path: string): Iterable<Problem> {
  const rules = schema["x-kubernetes-validations"];
  if (!rules) return;
  for (const [i, one] of rules.entries()) {
    const { rule, message = "", messageExpression = "", reason, fieldPath = "" } = one;
    const field = `${path}.x-kubernetes-validations[${i}]`;
    if (rule.trim() === "") yield required(`${field}.rule`, "rule is not specified");
    else {
      if (message !== "" && message.trim() === "")
        yield invalid(`${field}.message`, "must be non-empty if specified", message);
      else if (hasBreaks(message.trim())) yield invalid(`${field}.message`, "must not contain line breaks", message);
      else if (hasBreaks(rule.trim()) && message.trim() === "")
        yield required(`${field}.message`, "message must be specified if rule contains line breaks");
    }
    if (messageExpression !== "" && messageExpression.trim() === "")
      yield required(`${field}.messageExpression`, "messageExpression must be non-empty if specified");
    if (reason !== undefined && !reasons.includes(reason)) yield notSupported(`${field}.reason`, reasons, reason);
    if (fieldPath !== "" && fieldPath.trim() === "")
      yield invalid(`${field}.fieldPath`, "must be non-empty if specified", fieldPath);
    if (hasBreaks(fieldPath)) yield invalid(`${field}.fieldPath`, "must not contain line breaks", fieldPath);
    if (fieldPath !== "" && "problem" in fieldAt(schema, fieldPath))
      yield invalid(`${field}.fieldPath`, "must be a valid path", fieldPath);
  }
}

/** The schema at a path such as `.spec.size` or `.labels['a.b']`, or what is wrong with the path. */
export function fieldAt(
  schema: Schema,
  path: string,
  brackets = true,
): { readonly schema: Schema } | { readonly problem: string } {
  let at = schema;
  let rest = path;
  while (rest !== "") {
    const match = /^(?:\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\])/.exec(rest);
    if (!match) {
      if (rest.startsWith("[") && !brackets) return { problem: "array notation is not allowed" };
      if (/^[.[]/.test(rest)) return { problem: "unexpected end of JSON path" };
      return { problem: `expected [ or . but got: ${/^[^.[\]]+/.exec(rest)?.[0] ?? rest.charAt(0)}` };
    }
    if (match[2] !== undefined && !brackets) return { problem: "array notation is not allowed" };
    const name = match[1] ?? (match[2] as string).replace(/\\(.)/g, "$1");
    const next = at.properties ? propertyOf(at, name) : valuesOf(at);
    if (!next) return { problem: "does not refer to a valid field" };
    at = next;
    rest = rest.slice(match[0].length);
  }
  return { schema: at };
}
