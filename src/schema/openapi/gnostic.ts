// The OpenAPI 2 document as a protobuf message, in the form of gnostic's OpenAPIv2.proto. Only what our documents contain is
// here; the numbers are that file's. What comes last in the message is
// written first, as the writer wants it.
import { breathe } from "#base/breathe.ts";
import { ProtobufWriter } from "#base/protobuf-writer.ts";
import type { JsonValue } from "./definitions.ts";

export async function encodeDocumentV2(document: JsonValue): Promise<Uint8Array<ArrayBuffer>> {
  const out = new ProtobufWriter();
  await many(out, [9, 1], schema, document.definitions as JsonValue);
  await many(out, [8, 2], pathItem, document.paths as JsonValue);
  shortFields(out, document);
  return out.finish();
}

/** A map as a message of its own; gives way to other work between its entries. */
async function many(
  out: ProtobufWriter,
  [number, inner]: [number, number],
  write: Write,
  map: JsonValue,
): Promise<void> {
  const pause = breathe();
  const end = out.length;
  for (const [name, value] of Object.entries(map).reverse()) {
    namedOne(out, inner, write, name, value);
    if (pause.due()) await pause.now();
  }
  out.delimited(number, end);
}

/** Writes a field with its number; nothing for a value that protobuf leaves out. */
type Write = (out: ProtobufWriter, number: number, value: unknown) => void;
type Fields = () => Readonly<Record<string, readonly [number, Write]>>;

function writeInteger(out: ProtobufWriter, number: number, value: number): void {
  out.int64(value);
  out.tag(number, 0);
}

const text: Write = (out, number, value) => {
  if (typeof value !== "string" || value === "") return;
  out.string(value);
  out.tag(number, 2);
};
const flag: Write = (out, number, value) => {
  if (value === true) writeInteger(out, number, 1);
};
const integer: Write = (out, number, value) => {
  if (typeof value === "number" && value !== 0) writeInteger(out, number, value);
};
const double: Write = (out, number, value) => {
  if (typeof value !== "number" || value === 0) return;
  out.double(value);
  out.tag(number, 1);
};
const repeated =
  (write: Write): Write =>
  (out, number, values) => {
    for (const value of (values as readonly unknown[]).toReversed()) write(out, number, value);
  };
/** A message around something, in which that has a number of its own. */
const inside =
  (inner: number, write: Write): Write =>
  (out, number, value) => {
    const end = out.length;
    write(out, inner, value);
    out.delimited(number, end);
  };
/** A map is a list of names and values, each in a message. */
const named =
  (write: Write): Write =>
  (out, number, map) => {
    for (const [name, value] of Object.entries(map as JsonValue).reverse()) namedOne(out, number, write, name, value);
  };
function namedOne(out: ProtobufWriter, number: number, write: Write, name: string, value: unknown): void {
  const end = out.length;
  write(out, 2, value);
  text(out, 1, name);
  out.delimited(number, end);
}
/** Any value travels as YAML, of which JSON is a part. */
const any: Write = (out, number, value) => {
  const end = out.length;
  text(out, 2, JSON.stringify(value));
  out.delimited(number, end);
};

/** The contents of a message. What begins with `x-` goes into its list of extensions. */
const fieldsOf = (fields: Fields, extensions?: number) => {
  // Messages contain each other, so the table is read when it is first needed.
  let table: ReadonlyMap<string, readonly [number, Write]> | undefined;
  return (out: ProtobufWriter, object: JsonValue): void => {
    table ??= new Map(Object.entries(fields()));
    for (const name of Object.keys(object).reverse()) {
      const field = table.get(name);
      if (field) field[1](out, field[0], object[name]);
      else if (extensions !== undefined && name.startsWith("x-")) namedOne(out, extensions, any, name, object[name]);
    }
  };
};
const message = (fields: Fields, extensions?: number): Write => {
  const contents = fieldsOf(fields, extensions);
  return (out, number, value) => {
    const end = out.length;
    contents(out, value as JsonValue);
    out.delimited(number, end);
  };
};

const schema = message(
  () => ({
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, flag],
    minimum: [9, double],
    exclusiveMinimum: [10, flag],
    maxLength: [11, integer],
    minLength: [12, integer],
    pattern: [13, text],
    maxItems: [14, integer],
    minItems: [15, integer],
    uniqueItems: [16, flag],
    maxProperties: [17, integer],
    minProperties: [18, integer],
    required: [19, repeated(text)],
    enum: [20, repeated(any)],
    additionalProperties: [21, schemaOrFlag],
    type: [22, inside(1, text)],
    items: [23, inside(1, schema)],
    allOf: [24, repeated(schema)],
    properties: [25, inside(1, named(schema))],
    example: [30, any],
  }),
  31,
);
const schemaOrFlag: Write = (out, number, value) => {
  if (typeof value !== "boolean") return inside(1, schema)(out, number, value);
  const end = out.length;
  writeInteger(out, 2, value ? 1 : 0); // of a choice, even false is written
  out.delimited(number, end);
};

const queryParameter = message(() => ({
  required: [1, flag],
  in: [2, text],
  description: [3, text],
  name: [4, text],
  type: [6, text],
  format: [7, text],
  uniqueItems: [20, flag],
}));
const pathParameter = message(() => ({
  required: [1, flag],
  in: [2, text],
  description: [3, text],
  name: [4, text],
  type: [5, text],
  format: [6, text],
  uniqueItems: [19, flag],
}));
const bodyParameter = message(() => ({
  description: [1, text],
  name: [2, text],
  in: [3, text],
  required: [4, flag],
  schema: [5, schema],
}));
const parameter: Write = (out, number, value) => {
  const place = (value as JsonValue).in;
  if (place === "body") return inside(1, bodyParameter)(out, number, value);
  return inside(2, place === "path" ? inside(4, pathParameter) : inside(3, queryParameter))(out, number, value);
};
const reference = message(() => ({ $ref: [1, text], description: [2, text] }));
const parameterOrReference: Write = (out, number, value) =>
  "$ref" in (value as JsonValue) ? inside(2, reference)(out, number, value) : inside(1, parameter)(out, number, value);

const response = message(() => ({ description: [1, text], schema: [2, inside(1, schema)] }));

const operation = message(
  () => ({
    tags: [1, repeated(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, repeated(text)],
    consumes: [7, repeated(text)],
    parameters: [8, repeated(parameterOrReference)],
    responses: [9, inside(1, named(inside(1, response)))],
    schemes: [10, repeated(text)],
    deprecated: [11, flag],
  }),
  13,
);

const pathItem = message(() => ({
  get: [2, operation],
  put: [3, operation],
  post: [4, operation],
  delete: [5, operation],
  options: [6, operation],
  head: [7, operation],
  patch: [8, operation],
  parameters: [9, repeated(parameterOrReference)],
}));

const apiKey = message(() => ({ type: [1, text], name: [2, text], in: [3, text], description: [4, text] }));

const shortFields = fieldsOf(() => ({
  swagger: [1, text],
  info: [2, message(() => ({ title: [1, text], version: [2, text], description: [3, text] }))],
  parameters: [10, inside(1, named(parameter))],
  security: [12, repeated(inside(1, named(inside(1, repeated(text)))))],
  securityDefinitions: [13, inside(1, named(inside(2, apiKey)))],
}));
