// How a strategic merge patch treats each field, read from the declarations.
import type { AnyField } from "../any.ts";
import type { PatchStrategy, Type } from "../field.ts";
import { PatchError } from "./error.ts";

export interface FieldMerge {
  /** Of an object its own type; of a list that of its items. */
  readonly type: Type;
  /** Lists and objects are merged or replaced. By default, objects are merged and lists replaced. */
  readonly strategy: "merge" | "replace" | undefined;
  /** Whether a patch lists the keys that shall stay. */
  readonly retainKeys: boolean;
  /** The field that tells the items of a list apart; empty for plain values. */
  readonly mergeKey: string;
}

/** How the object under `key` is merged. Throws PatchError if there is no such field. */
export function objectMerge(type: Type, key: string): FieldMerge {
  const { spec } = fieldOf(type, key);
  return { ...strategies[spec.patchStrategy ?? "default"], type: spec.type, mergeKey: spec.patchKey ?? "" };
}

/** How the list under `key` is merged. Throws PatchError if there is no such list. */
export function listMerge(type: Type, key: string): FieldMerge {
  const found = objectMerge(type, key);
  if (found.type.is !== "list") throw new PatchError(422, "expected slice or array type, but got: struct");
  if (found.type.item.is === "list") throw new PatchError(422, "unexpected slice of slice");
  return { ...found, type: found.type.item };
}

const strategies: Readonly<Record<PatchStrategy | "default", Pick<FieldMerge, "strategy" | "retainKeys">>> = {
  default: { strategy: undefined, retainKeys: false },
  merge: { strategy: "merge", retainKeys: false },
  replace: { strategy: "replace", retainKeys: false },
  retainKeys: { strategy: undefined, retainKeys: true },
  "merge,retainKeys": { strategy: "merge", retainKeys: true },
};

function fieldOf(type: Type, key: string): AnyField {
  if (type.is === "map" || type.is === "list")
    throw new PatchError(
      422,
      `merging an object in json but data type is not struct, instead is: ${type.is === "map" ? "map" : "slice"}`,
    );
  const fields = type.is === "struct" ? type.struct().fields : {};
  if (Object.hasOwn(fields, key)) return fields[key];
  throw new PatchError(
    422,
    `unable to find api field in struct ${goName(type)} for the json field ${JSON.stringify(key)}`,
  );
}

/** What upstream calls the type: structs by name, the rest by the struct that holds them there. */
function goName(type: Type): string {
  if (type.is === "struct") return type.struct().name.replace(/^.*\./, "");
  if (type.is === "either") return type.either.name.replace(/^.*\./, "");
  return type.is === "rawExtension" ? "RawExtension" : type.is === "fieldsV1" ? "FieldsV1" : "JSON";
}
