// Manifests held against the schema that a server publishes, in the words kubectl has used since 1.11
// (upstream: kube-openapi/pkg/util/proto/validation).
import { isObject } from "#base/is-object.ts";
import { stringIn } from "../resources/resource-info.ts";
import type { Session } from "../session.ts";

type Schema = Readonly<Record<string, unknown>>;
type Definitions = Readonly<Record<string, unknown>>;

const documents = new WeakMap<Session, Promise<Definitions>>();

/** What is wrong with the fields of an object; nothing if the server says nothing of its kind. */
export async function schemaProblems(session: Session, document: unknown): Promise<readonly string[]> {
  if (!isObject(document)) return [];
  if (stringIn(document.kind).endsWith("List") && Array.isArray(document.items)) {
    const all: string[] = [];
    for (const item of document.items) all.push(...(await schemaProblems(session, item)));
    return all;
  }
  const known = documents.get(session) ?? readDefinitions(session);
  documents.set(session, known);
  const definitions = await known;
  const name = definitionOf(definitions, stringIn(document.apiVersion), stringIn(document.kind));
  if (name === undefined) return [];
  return [...problemsOf(document, { $ref: `#/definitions/${name}` }, definitions, stringIn(document.kind))];
}

async function readDefinitions(session: Session): Promise<Definitions> {
  const { definitions } = await (await session.client()).json({ path: "/openapi/v2", accept: "application/json" });
  return isObject(definitions) ? definitions : {};
}

function definitionOf(definitions: Definitions, apiVersion: string, kind: string): string | undefined {
  const at = apiVersion.indexOf("/");
  const [group, version] = at < 0 ? ["", apiVersion] : [apiVersion.slice(0, at), apiVersion.slice(at + 1)];
  return Object.entries(definitions).find(([, schema]) => {
    const kinds = isObject(schema) ? schema["x-kubernetes-group-version-kind"] : undefined;
    return (
      Array.isArray(kinds) &&
      kinds.length === 1 &&
      kinds.some((one) => isObject(one) && one.kind === kind && one.version === version && (one.group ?? "") === group)
    );
  })?.[0];
}

function* problemsOf(value: unknown, schema: Schema, definitions: Definitions, path: string): Generator<string> {
  const { name, resolved } = resolve(schema, definitions);
  if (value === null || value === undefined) return;
  const wrong = (expected: string, got: string) =>
    `ValidationError(${path}): invalid type for ${name}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`;
  const { type, properties, additionalProperties, items, required } = resolved;
  if (isObject(properties)) {
    if (!isObject(value)) return yield wrong("map", typeName(value));
    for (const [key, one] of Object.entries(value)) {
      const field = Object.hasOwn(properties, key) ? properties[key] : undefined;
      if (isObject(field)) yield* problemsOf(one, field, definitions, `${path}.${key}`);
      else if (resolved["x-kubernetes-preserve-unknown-fields"] !== true)
        yield `ValidationError(${path}): unknown field ${JSON.stringify(key)} in ${name}`;
    }
    for (const key of Array.isArray(required) ? required : [])
      if (!Object.hasOwn(value, String(key)))
        yield `ValidationError(${path}): missing required field ${JSON.stringify(key)} in ${name}`;
  } else if (type === "array") {
    if (!Array.isArray(value)) return yield wrong("array", typeName(value));
    for (const [i, item] of value.entries())
      if (isObject(items)) yield* problemsOf(item, items, definitions, `${path}[${i}]`);
  } else if (isObject(additionalProperties)) {
    if (!isObject(value)) return yield wrong("map", typeName(value));
    for (const [key, one] of Object.entries(value))
      yield* problemsOf(one, additionalProperties, definitions, `${path}.${key}`);
  } else if (typeof type === "string" && !isPrimitive(value, type, stringIn(resolved.format)))
    yield wrong(type, typeName(value));
}

function isPrimitive(value: unknown, type: string, format: string): boolean {
  // A number or a text, whatever the schema calls it.
  if (format === "int-or-string") return typeof value === "string" || typeof value === "number";
  if (type === "string") return typeof value === "string";
  if (type === "boolean") return typeof value === "boolean";
  if (type === "integer") return typeof value === "bigint" || Number.isInteger(value);
  if (type === "number") return typeof value === "number" || typeof value === "bigint";
  return true;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (isObject(value)) return "map";
  if (typeof value === "boolean" || typeof value === "string") return typeof value;
  return typeof value === "bigint" || Number.isInteger(value) ? "integer" : "number";
}

/** What a reference leads to, and the name it has in messages. */
function resolve(schema: Schema, definitions: Definitions): { readonly name: string; readonly resolved: Schema } {
  let name = "";
  let resolved = schema;
  for (;;) {
    const reference = stringIn(resolved.$ref);
    if (reference === "") break;
    name = reference.replace("#/definitions/", "");
    const target = definitions[name];
    if (!isObject(target)) return { name, resolved: {} };
    resolved = target;
  }
  return { name: name || stringIn(resolved.type), resolved };
}
