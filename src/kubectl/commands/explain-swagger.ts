// Upstream: kubectl/pkg/explain (model_printer.go, fields_printer.go, recursive_fields_printer.go, formatter.go).
// What `explain` printed before servers had OpenAPI v3: from /openapi/v2, without enums.
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import { stringIn } from "../resources/resource-info.ts";

type SwaggerSchema = Readonly<Record<string, unknown>>;

export interface SwaggerQuestion {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly fields: readonly string[];
  readonly isRecursive: boolean;
}

const width = 80;
const fieldIndent = 3;
const descriptionIndent = 5;

/** Throws KubectlError if there is no such kind, or no such field in it. */
export function explainSwagger(definitions: SwaggerSchema, question: SwaggerQuestion): string {
  const { group, version, kind, fields, isRecursive } = question;
  const isMeant = (one: unknown) =>
    isObject(one) && one.group === group && one.version === version && one.kind === kind;
  const model = Object.values(definitions).find((schema) => {
    const kinds = isObject(schema) ? schema["x-kubernetes-group-version-kind"] : undefined;
    return Array.isArray(kinds) && kinds.some(isMeant);
  });
  if (!isObject(model)) throw new KubectlError(`couldn't find resource for "${group}/${version}, Kind=${kind}"`);
  const asked = fieldAt(definitions, model, fields);
  const { descriptions, schema } = unfold(definitions, asked);
  const name = fields.at(-1) ?? "";
  const type = typeName(definitions, asked);
  const shape = shapeOf(schema);
  return [
    `KIND:     ${kind}`,
    `VERSION:  ${group === "" ? version : `${group}/${version}`}`,
    "",
    ...(shape === "primitive" ? [`FIELD:    ${name} <${type}>`, ""] : []),
    ...(shape === "kind" && name !== "" ? [`RESOURCE: ${name} <${type}>`, ""] : []),
    "DESCRIPTION:",
    ...descriptionLines([...descriptions, stringIn(schema.description)]),
    ...(shape === "kind" ? ["", "FIELDS:"] : []),
    ...(shape === "kind" ? fieldLines(definitions, schema, isRecursive) : []),
    "",
  ].join("\n");
}

type Shape = "kind" | "map" | "array" | "primitive" | "arbitrary";

function shapeOf({ type, properties }: SwaggerSchema): Shape {
  if (isObject(properties)) return "kind";
  if (type === "object") return "map";
  if (type === "array") return "array";
  return typeof type === "string" ? "primitive" : "arbitrary";
}

/** What a list or a map consists of. */
const elementOf = ({ items, additionalProperties }: SwaggerSchema): SwaggerSchema =>
  isObject(items) ? items : isObject(additionalProperties) ? additionalProperties : {};

function target(definitions: SwaggerSchema, schema: SwaggerSchema): SwaggerSchema | undefined {
  const name = /^#\/definitions\/(.+)$/.exec(stringIn(schema.$ref))?.[1];
  const found = name === undefined ? undefined : definitions[name];
  return isObject(found) ? found : undefined;
}

/** Lists, maps and references on the way are gone through; what is no object answers for all that is asked of it. */
function fieldAt(definitions: SwaggerSchema, from: SwaggerSchema, path: readonly string[]): SwaggerSchema {
  const [first, ...rest] = path;
  if (first === undefined) return from;
  const referred = target(definitions, from);
  if (referred) return fieldAt(definitions, referred, path);
  const shape = shapeOf(from);
  if (shape === "map" || shape === "array") return fieldAt(definitions, elementOf(from), path);
  if (shape !== "kind") return from;
  const field = isObject(from.properties) && Object.hasOwn(from.properties, first) ? from.properties[first] : undefined;
  if (!isObject(field)) throw new KubectlError(`field ${JSON.stringify(first)} does not exist`);
  return fieldAt(definitions, field, rest);
}

/** The schema behind references, lists and maps, and what those say of themselves. */
function unfold(
  definitions: SwaggerSchema,
  from: SwaggerSchema,
): { readonly descriptions: readonly string[]; readonly schema: SwaggerSchema } {
  const descriptions: string[] = [];
  const seen = new Set<SwaggerSchema>();
  for (let schema = from; ; ) {
    const shape = shapeOf(schema);
    const next = target(definitions, schema) ?? (shape === "map" || shape === "array" ? elementOf(schema) : undefined);
    if (!next || seen.has(next)) return { descriptions, schema };
    seen.add(next);
    descriptions.push(stringIn(schema.description));
    schema = next;
  }
}

function typeName(definitions: SwaggerSchema, schema: SwaggerSchema): string {
  const referred = target(definitions, schema);
  if (referred) return typeName(definitions, referred);
  const shape = shapeOf(schema);
  if (shape === "kind") return "Object";
  if (shape === "array") return `[]${typeName(definitions, elementOf(schema))}`;
  if (shape === "map") return `map[string]${typeName(definitions, elementOf(schema))}`;
  return stringIn(schema.type);
}

function descriptionLines(descriptions: readonly string[]): readonly string[] {
  const lines = descriptions.flatMap((text, i) =>
    text === "" ? [] : [...(i === 0 ? [] : [""]), ...wrapped(text, descriptionIndent)],
  );
  return lines.length === 0 ? wrapped("<empty>", descriptionIndent) : lines;
}

const sortedFields = ({ properties }: SwaggerSchema): readonly (readonly [string, SwaggerSchema])[] =>
  Object.entries(isObject(properties) ? properties : {})
    .flatMap(([name, field]) => (isObject(field) ? [[name, field] as const] : []))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

function fieldLines(definitions: SwaggerSchema, schema: SwaggerSchema, isRecursive: boolean): readonly string[] {
  if (isRecursive) return recursiveLines(definitions, schema, fieldIndent, new Set());
  const { required } = schema;
  return sortedFields(schema).flatMap(([name, field]) => [
    `${" ".repeat(fieldIndent)}${name}\t<${typeName(definitions, field)}>${Array.isArray(required) && required.includes(name) ? " -required-" : ""}`,
    ...wrapped(stringIn(field.description), fieldIndent + 2),
    "",
  ]);
}

function recursiveLines(
  definitions: SwaggerSchema,
  schema: SwaggerSchema,
  indent: number,
  above: ReadonlySet<string>,
): readonly string[] {
  const reference = stringIn(schema.$ref);
  const referred = target(definitions, schema);
  if (referred)
    return above.has(reference) ? [] : recursiveLines(definitions, referred, indent, new Set([...above, reference]));
  const shape = shapeOf(schema);
  if (shape === "map" || shape === "array") return recursiveLines(definitions, elementOf(schema), indent, above);
  if (shape !== "kind") return [];
  return sortedFields(schema).flatMap(([name, field]) => [
    `${" ".repeat(indent)}${name}\t<${typeName(definitions, field)}>`,
    ...recursiveLines(definitions, field, indent + 3, above),
  ]);
}

/**
 * Lines run together and are broken at words, but for those that begin something: an item of a list, what is set off by spaces, what
 * comes after a colon or an empty line.
 */
function wrapped(text: string, indent: number): readonly string[] {
  const lines: string[] = [];
  let words: string[] = [];
  let last = "";
  const flush = () => {
    if (words.length === 0) return;
    lines.push(words.join(" "));
    words = [];
    last = "";
  };
  for (const line of text.split("\n")) {
    const isSetOff = line.startsWith("    ");
    const isEmpty = line.trim() === "";
    const isBegun = lines.length > 0;
    if (isSetOff || isEmpty || last.endsWith(":") || /^(\d+\.?|-|\*)\s/.test(line.trim())) flush();
    if (isSetOff) lines.push(line);
    else if (isEmpty && isBegun) lines.push("");
    if (isSetOff || isEmpty) continue;
    for (const word of line.trim().split(/\s+/)) {
      if (words.length > 0 && Buffer.byteLength([...words, word].join(" ")) > width - indent) flush();
      words.push(word);
      last = word;
    }
  }
  flush();
  return lines.map((line) => (line === "" ? "" : `${" ".repeat(indent)}${line}`));
}
