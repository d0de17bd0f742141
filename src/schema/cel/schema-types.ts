// The types that expressions see in a structural JSON schema, how large their values can be, and how JSON becomes such values. Follows
// apiserver/pkg/cel/common/schemas.go and values*.go. What a schema says nothing about has no type, and expressions cannot name it.
import { type SchemaNode, valueNode } from "../structural/schema.ts";
import type { SizeOf } from "./cost/estimate.ts";
import { structTypes } from "./declarations.ts";
import { escapeName } from "./names.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  type StructTypes,
  stringType,
  structType,
  timestampType,
} from "./types.ts";
import { KeyedList, SetList } from "./values/associative-lists.ts";
import { Double } from "./values/double.ts";
import { parseDuration } from "./values/duration.ts";
import { fail } from "./values/failure.ts";
import {
  JsonListValue,
  JsonMapValue,
  type JsonReader,
  JsonStruct,
  type ObjectField,
  valueOfJson,
} from "./values/json.ts";
import { parseDate, parseTimestamp } from "./values/timestamp.ts";
import type { CelValue } from "./values/value.ts";

/** The largest request that upstream takes: nothing in it can be larger. */
const largestRequest = 3 * 1024 * 1024;

/** What a schema is to expressions. */
export interface DeclaredType {
  readonly type: CelType;
  /** How many characters, elements or entries there can be; 0 where that means nothing. */
  readonly maxElements: number;
  /** The least bytes of JSON that a value takes. */
  readonly minSize: number;
  readonly read: JsonReader;
  /** Of a list or map. */
  readonly element?: DeclaredType;
  /** Of a struct, by the names that expressions can write. */
  readonly fields?: ReadonlyMap<string, { readonly key: string; readonly declared: DeclaredType }>;
}

/** Undefined if the schema gives no type. `isResource`: whether it is of a whole object of the API. */
export function declareSchema(node: SchemaNode, name: string, isResource = node.isResource): DeclaredType | undefined {
  if (node.source["x-kubernetes-int-or-string"] === true)
    return simple(dynType, 1, lengthOr(node, largestRequest - 2), nullable(valueOfJson));
  switch (node.source.type) {
    case "array":
      return declareList(node, name);
    case "object": {
      const values = valueNode(node);
      return values && !isResource ? declareMap(node, values, name) : declareObject(node, name, isResource);
    }
    case "string":
      return declareString(node);
    case "boolean":
      return simple(boolType, 4, 0, valueOfJson);
    case "number":
      return simple(
        doubleType,
        1,
        0,
        nullable((json) => new Double(Number(json))),
      );
    case "integer":
      return simple(intType, 1, 0, valueOfJson);
    default:
      return undefined;
  }
}

function simple(type: CelType, minSize: number, maxElements: number, read: JsonReader): DeclaredType {
  return { type, minSize, maxElements, read };
}

function nullable(read: (json: unknown) => CelValue): JsonReader {
  return (json) => (json === null ? null : read(json));
}

/** maxLength counts code points, sizes count bytes: there can be four for each. */
function lengthOr(node: SchemaNode, otherwise: number): number {
  const { maxLength } = node.rest.limits;
  return maxLength === undefined ? otherwise : Math.max(0, maxLength) * 4;
}

function declareString(node: SchemaNode): DeclaredType {
  const { maxLength } = node.rest.limits;
  switch (node.source.format) {
    case "byte":
      return simple(bytesType, 2, maxLength ?? largestRequest - 2, nullable(readBytes));
    case "duration":
      return simple(
        durationType,
        3,
        32,
        nullable((json) => parseDuration(String(json)) ?? fail(`Invalid duration ${json}`)),
      );
    case "date":
      return simple(
        timestampType,
        12,
        12,
        nullable((json) => parseDate(String(json)) ?? fail(`Invalid date ${json}`)),
      );
    case "date-time":
      return simple(
        timestampType,
        21,
        32,
        nullable((json) => readTime(String(json))),
      );
    default: {
      const texts = node.rest.enum.filter((value) => typeof value === "string");
      const longest = Math.max(0, ...texts.map((text) => new TextEncoder().encode(text).length));
      const most = node.rest.enum.length > 0 ? longest : largestRequest - 2;
      return simple(stringType, 2, lengthOr(node, most), valueOfJson);
    }
  }
}

/** Also without seconds' fractions or a zone, as upstream's formats allow. */
function readTime(text: string): CelValue {
  const upper = text.toUpperCase();
  return parseTimestamp(upper) ?? parseTimestamp(`${upper}Z`) ?? fail(`Invalid date-time ${text}`);
}

function readBytes(json: unknown): Uint8Array {
  return Uint8Array.from(atob(String(json)), (character) => character.charCodeAt(0));
}

function declareList(node: SchemaNode, name: string): DeclaredType | undefined {
  const element = node.items && declareSchema(node.items, `${name}.@idx`);
  if (!element) return undefined;
  const maxElements = node.rest.limits.maxItems ?? Math.floor((largestRequest - 2) / (element.minSize + 1));
  const { listType: kind, listKeys } = node.rest;
  const read = nullable((json) => {
    const items = Array.isArray(json) ? json : [];
    if (kind === "set") return new SetList(items, element.read);
    return kind === "map" ? new KeyedList(items, element.read, listKeys) : new JsonListValue(items, element.read);
  });
  return { type: listType(element.type), minSize: 2, maxElements: Math.max(0, maxElements), read, element };
}

function declareMap(node: SchemaNode, values: SchemaNode, name: string): DeclaredType | undefined {
  const element = declareSchema(values, `${name}.@elem`);
  if (!element) return undefined;
  const most = node.rest.limits.maxProperties ?? Math.floor((largestRequest - 2) / (element.minSize + 6));
  const read = nullable((json) => new JsonMapValue(Object(json), element.read));
  return { type: mapType(stringType, element.type), minSize: 2, maxElements: Math.max(0, most), read, element };
}

const plainText = simple(stringType, 2, largestRequest - 2, valueOfJson);

function declareObject(node: SchemaNode, name: string, isResource: boolean): DeclaredType {
  const fields = new Map<string, { key: string; declared: DeclaredType }>();
  const required = new Set(node.rest.required);
  let minSize = 2;
  for (const [key, property] of node.properties) {
    if (isResource && ["apiVersion", "kind", "metadata"].includes(key)) continue;
    const escaped = escapeName(key);
    const declared = declareSchema(property, `${name}.${escaped ?? key}`);
    if (!declared) continue;
    if (escaped !== undefined) fields.set(escaped, { key, declared });
    if (required.has(key) && property.default === undefined) minSize += key.length + declared.minSize + 4;
  }
  if (isResource) {
    fields.set("apiVersion", { key: "apiVersion", declared: plainText });
    fields.set("kind", { key: "kind", declared: plainText });
    const names = ["name", "generateName"].map((key) => [key, { key, declared: plainText }] as const);
    fields.set("metadata", { key: "metadata", declared: struct(`${name}.metadata`, new Map(names), 2) });
  }
  return struct(name, fields, minSize);
}

function struct(
  name: string,
  fields: ReadonlyMap<string, { readonly key: string; readonly declared: DeclaredType }>,
  minSize: number,
): DeclaredType {
  const type = structType(name);
  const readers = new Map<string, ObjectField>();
  for (const [field, { key, declared }] of fields) readers.set(field, { key, read: declared.read });
  const read = nullable((json) => new JsonStruct(type, Object(json), readers));
  return { type, minSize, maxElements: 0, read, fields };
}

/** All structs that are in a type. */
export function structsOf(declared: DeclaredType): StructTypes {
  const structs = new Map<string, ReadonlyMap<string, CelType>>();
  const visit = ({ type, element, fields }: DeclaredType) => {
    if (element) visit(element);
    if (!fields) return;
    structs.set(type.name, new Map([...fields].map(([name, field]) => [name, field.declared.type])));
    for (const field of fields.values()) visit(field.declared);
  };
  visit(declared);
  return structTypes(structs);
}

/** How large what a path leads to can be, whichever variable of the type it begins with. */
export function sizesOf(root: DeclaredType): SizeOf {
  return (path) => {
    if (path.length === 0) return undefined;
    let at: DeclaredType | undefined = root;
    for (const step of path.slice(1)) {
      if (step === "@keys") at = at.element && at.fields === undefined ? keyType : undefined;
      else at = step === "@items" || step === "@values" ? at.element : at.fields?.get(step)?.declared;
      if (at === undefined) return undefined;
    }
    return { min: 0, max: at.maxElements };
  };
}

/** The keys of maps: upstream gives them no length. */
const keyType = simple(stringType, 2, 0, valueOfJson);

/** How many values of the type a request can have, at most. */
export function mostInRequest({ minSize }: DeclaredType): number {
  return Math.floor(largestRequest / (minSize + 1));
}
