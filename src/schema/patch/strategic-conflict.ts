// Whether two strategic merge patches want different things of the same fields.

import { equal, own } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import type { Type } from "../field.ts";
import { PatchError } from "./error.ts";
import { itemKind } from "./strategic-list.ts";
import { directive, retainKeys } from "./strategic-merge.ts";
import { type FieldMerge, listMerge, objectMerge } from "./strategic-schema.ts";
import { goText, isList, type JsonList, type JsonObject } from "./value.ts";

export const haveConflicts = (left: JsonObject, right: JsonObject, type: Type): boolean =>
  valuesConflict(left, right, { type, strategy: undefined, mergeKey: "", retainKeys: false });

/** Inside lists that are not merged nothing is known of the items but their type. */
const plain = (type: Type): FieldMerge => ({ type, strategy: undefined, mergeKey: "", retainKeys: false });

function valuesConflict(left: unknown, right: unknown, field: FieldMerge): boolean {
  if (isObject(left)) {
    if (!isObject(right)) return true;
    // A directive is about the whole object: both must have the same one, or none.
    if (own(left, directive) !== own(right, directive)) return true;
    return field.strategy === "replace" ? false : objectsConflict(left, right, field.type);
  }
  if (isList(left)) return !isList(right) || listsConflict(left, right, field);
  return !equal(left, right);
}

function objectsConflict(left: JsonObject, right: JsonObject, type: Type): boolean {
  return Object.keys(left).some((key) => {
    if (key === directive || key === retainKeys || !Object.hasOwn(right, key)) return false;
    const value = left[key];
    if (key.startsWith("$")) return !equal(value, right[key]);
    const field = isList(value) ? listMerge(type, key) : isObject(value) ? objectMerge(type, key) : plain(type);
    return valuesConflict(value, right[key], field);
  });
}

function listsConflict(left: JsonList, right: JsonList, field: FieldMerge): boolean {
  if (left.length === 0 && right.length === 0) return false;
  const ofObjects = itemKind(left, right) === "object";
  if (field.strategy === "merge") {
    if (!ofObjects) return false;
    const others = byKey(right, field.mergeKey);
    return [...byKey(left, field.mergeKey)].some(([key, item]) => {
      const other = others.get(key);
      return other !== undefined && valuesConflict(item, other, plain(field.type));
    });
  }
  if (left.length !== right.length) return true;
  if (!ofObjects) return !equal(asSet(left), asSet(right));
  return left.some((item, i) => valuesConflict(item, right[i], plain(field.type)));
}

const asSet = (list: JsonList): unknown[] => [...new Set(list)].sort();

function byKey(list: JsonList, mergeKey: string): Map<string, JsonObject> {
  return new Map(
    list.map((item) => {
      if (!isObject(item)) throw new PatchError(422, `invalid element type in merging list:${goText(list)}`);
      if (!Object.hasOwn(item, mergeKey))
        throw new PatchError(422, `cannot find merge key \`${mergeKey}\` in merging list element:${goText(item)}`);
      return [goText(item[mergeKey]), item];
    }),
  );
}
