// The model of objects whose schema comes at run time, as that of a CustomResourceDefinition does. Nothing that the schema keeps is
// dropped, and a zero value is not the same as an absent one: Go's rules for structs hold in metadata only.
import { shapeOf } from "../apply/declared.ts";
import { objectShape } from "../apply/json-schema.ts";
import type { ApplyShape } from "../apply/shape.ts";
import type { JsonMap } from "../apply/value.ts";
import { type DecodeResult, mostStrictErrors } from "../decode.ts";
import { applyDefaults } from "../defaults.ts";
import { DecodeError, keyPaths, parseJson } from "../json.ts";
import type { ObjectModel, Publication } from "../model.ts";
import { ObjectMeta } from "../object-meta.ts";
import { applyNodeDefaults } from "./defaults.ts";
import { exactValue } from "./exact-integers.ts";
import { mostUnknown, pruneNulls, pruneObject, resourceFields } from "./prune.ts";
import { readJson } from "./read.ts";
import { decodeEmbedded, decodeRoot, ensureMetadata } from "./resource.ts";
import { isMap, readSchema, type SchemaNode } from "./schema.ts";
import { type ValidationOptions, validationBy } from "./validation.ts";

export function structural(schema: JsonMap, options: ValidationOptions = {}): ObjectModel {
  const root = readSchema(schema);
  let shape: ApplyShape | undefined;
  return {
    fieldNames: ownNames([...root.properties.keys()]),
    fieldsOf: (...objects) => ownNames([...new Set(objects.flatMap((object) => Object.keys(object)))]),
    keepsInt64: true,
    decodeParsed(text, { value, keys }) {
      const decoded = decode(root, exactValue(text, value));
      return decoded.keys === keys ? decoded : withDuplicates(text, decoded);
    },
    decodeValue: (value) => decode(root, value),
    parse: (text) => exactValue(text, parseJson(text).value) as object,
    reread(text) {
      const value = exactValue(text, parseJson(text).value);
      const object = tolerant(root, value);
      fillIn(root, object);
      return object;
    },
    applyDefaults: (object) => fillIn(root, object),
    ...validationBy(root, options),
    get shape() {
      shape ??= objectShape(schema, shapeOf(ObjectMeta));
      return shape;
    },
    zero: {},
    completed: (object) => object,
    publication: publicationOf(schema),
  };
}

function fillIn(root: SchemaNode, object: object): void {
  applyNodeDefaults(object, root);
  applyDefaults(ObjectMeta, ensureMetadata(object as Record<string, unknown>));
}

/** What was stored must stay readable, also where the schema has come to expect an object of the API that is none. */
function tolerant(root: SchemaNode, value: unknown): object {
  try {
    return decode(root, value).object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return value as object;
  }
}

const ownNames = (names: readonly string[]): readonly string[] => names.filter((name) => !resourceFields.has(name));

function decode(root: SchemaNode, value: unknown): DecodeResult & { readonly keys: number } {
  const { value: read, keys } = readJson(value ?? {});
  if (!isMap(read)) throw noObject(read);
  const unknown = { inMetadata: [] as string[], pruned: [] as string[], embedded: [] as string[] };
  const named = decodeRoot(read, unknown.inMetadata);
  const known = pruneNulls(pruneObject(root, named, unknown.pruned), root);
  const object = decodeEmbedded(known, root, "", unknown.embedded) as Record<string, unknown>;
  const paths = [...unknown.inMetadata, ...unknown.pruned.sort(), ...unknown.embedded.sort()].slice(0, mostUnknown);
  return { object, keys, strictErrors: paths.map((path) => `unknown field "${path}"`) };
}

function noObject(value: unknown): DecodeError {
  const is = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  const type = "map[string]interface {}";
  return new DecodeError(`json: cannot unmarshal ${is} into Go value of type ${type}`, "", {
    mismatch: { value, type },
  });
}

const publicationOf = (schema: JsonMap): Publication => ({
  schema,
  isUnstructured: true,
  // The group is turned around: "com.example.stable.v1.CronTab".
  definitionName: ({ group, version, kind }) => [...group.split(".").toReversed(), version, kind].join("."),
  protobuf: false,
  strategicPatch: false,
  watchPaths: false,
  defaultsItems: false,
  tellsSelectableFields: true,
  abbreviatesKinds: false,
});

/**
 * For a text that has more keys than were decoded: some stand twice. Upstream reads a custom resource as a map before it looks at the schema,
 * so it meets what stands twice first, and also inside of what is unknown.
 */
function withDuplicates(text: string, { object, strictErrors }: DecodeResult): DecodeResult {
  const errors = new Set<string>();
  for (const { path, isRepeated } of keyPaths(text)) {
    if (errors.size === mostStrictErrors) break;
    if (isRepeated) errors.add(`duplicate field ${JSON.stringify(path)}`);
  }
  return { object, strictErrors: [...errors, ...strictErrors].slice(0, mostStrictErrors) };
}
