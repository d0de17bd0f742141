// What makes a value an object of the API: apiVersion, kind and metadata. The root is one, and so is what `x-kubernetes-embedded-resource`
// marks. Their metadata is read as that of built-in kinds is. Follows apiextensions-apiserver/pkg/apiserver/schema/objectmeta.
import type { JsonMap } from "../apply/value.ts";
import { decodeValue } from "../decode.ts";
import { typeMeta } from "../field.ts";
import { dns1035Label, pathSegment } from "../formats.ts";
import { DecodeError } from "../json.ts";
import { ObjectMeta } from "../object-meta.ts";
import { addProblems, invalid, mostProblems, type Problem, problemText, required } from "../problem.ts";
import { struct } from "../struct.ts";
import { type MetadataRules, validateMetadata } from "../validate-metadata.ts";
import { mapped, mappedFields, mostUnknown } from "./prune.ts";
import { isMap, type SchemaNode, valueNode } from "./schema.ts";

const TypeMeta = struct("meta/v1.TypeMeta", { apiVersion: typeMeta.apiVersion, kind: typeMeta.kind });

/** The root object with its own names and metadata decoded. Throws DecodeError, with Go's words. */
export function decodeRoot(object: JsonMap, unknown: string[]): JsonMap {
  const { apiVersion = null, kind = null } = object;
  decodeValue(TypeMeta, { apiVersion, kind });
  if (!Object.hasOwn(object, "metadata")) return object;
  try {
    return withMetadata(object, "metadata", unknown);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(error.message, "metadata"); // without its cause, whose message would be repeated
  }
}

function withMetadata(object: JsonMap, path: string, unknown: string[]): JsonMap {
  const { object: metadata, strictErrors } = decodeValue(ObjectMeta, object.metadata);
  for (const text of strictErrors.slice(0, mostUnknown - unknown.length))
    unknown.push(`${path}.${text.slice('unknown field "'.length, -1)}`);
  return { ...object, metadata };
}

/** The value with the objects inside it decoded in the same way. The root is done already. */
export function decodeEmbedded(value: unknown, node: SchemaNode | undefined, path: string, unknown: string[]): unknown {
  if (!node?.leadsToResource) return value;
  if (Array.isArray(value))
    return mapped(value, (item, i) => decodeEmbedded(item, node.items, `${path}[${i}]`, unknown));
  if (!isMap(value)) return value;
  const whole = node.isResource ? decodeNames(value, path, unknown) : value;
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  return mappedFields(whole, (inner, name) => {
    const property = node.properties.get(name);
    if (property) return decodeEmbedded(inner, property, at(name), unknown);
    return decodeEmbedded(inner, valueNode(node), `${path}[${name}]`, unknown);
  });
}

function decodeNames(object: JsonMap, path: string, unknown: string[]): JsonMap {
  for (const name of ["apiVersion", "kind"])
    if (Object.hasOwn(object, name) && typeof object[name] !== "string")
      throw refused(invalid(`${path}.${name}`, "must be a string", object[name]));
  if (!Object.hasOwn(object, "metadata")) return object;
  try {
    return withMetadata(object, `${path}.metadata`, unknown);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw refused(invalid(`${path}.metadata`, error.message, object.metadata));
  }
}

const refused = (problem: Problem): DecodeError => new DecodeError(problemText(problem), problem.field);

/** Adds the problems of all objects inside the value; the root is not among them. */
export function validateEmbedded(
  value: unknown,
  node: SchemaNode | undefined,
  path: string,
  problems: Problem[],
): void {
  if (!node?.leadsToResource || problems.length >= mostProblems) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) validateEmbedded(item, node.items, `${path}[${i}]`, problems);
    return;
  }
  if (!isMap(value)) return;
  if (node.isResource) addProblems(problems, resourceProblems(value, path));
  for (const name of Object.keys(value)) {
    const property = node.properties.get(name);
    const at = property ? (path === "" ? name : `${path}.${name}`) : `${path}[${name}]`;
    validateEmbedded(value[name], property ?? valueNode(node), at, problems);
  }
}

function* resourceProblems(object: JsonMap, path: string): Iterable<Problem> {
  const { apiVersion, kind, metadata } = object;
  for (const name of ["apiVersion", "kind"]) if (!Object.hasOwn(object, name)) yield required(`${path}.${name}`);
  if (apiVersion === "") yield invalid(`${path}.apiVersion`, "must not be empty", apiVersion);
  else if (typeof apiVersion === "string" && apiVersion.split("/").length > 2)
    yield invalid(`${path}.apiVersion`, `unexpected GroupVersion string: ${apiVersion}`, apiVersion);
  if (kind === "") yield invalid(`${path}.kind`, "must not be empty", kind);
  else if (typeof kind === "string") {
    const wrong = dns1035Label(kind.toLowerCase());
    if (wrong.length > 0)
      yield invalid(`${path}.kind`, `may have mixed case, but should otherwise match: ${wrong.join(",")}`, kind);
  }
  if (isMap(metadata)) yield* metadataProblems(metadata as object as ObjectMeta, `${path}.metadata`);
}

function* metadataProblems(metadata: ObjectMeta, path: string): Iterable<Problem> {
  const rules: MetadataRules = {
    scope: metadata.namespace ? "Namespaced" : "Cluster",
    nameFormat: pathSegment,
    anyFinalizers: true,
  };
  const problems: Problem[] = [];
  // An object inside another need not have a name.
  validateMetadata(rules, { metadata: { ...metadata, name: metadata.name || "fakename" } }, undefined, problems);
  for (const problem of problems) yield { ...problem, field: `${path}.${problem.field}` };
}

/** The metadata of an object, which has some from now on. */
export function ensureMetadata(object: Record<string, unknown>): object {
  object.metadata ??= {};
  return object.metadata as object;
}
