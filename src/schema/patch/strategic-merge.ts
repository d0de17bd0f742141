// Strategic merge patch: a merge patch that knows the schema. Lists are merged by key where the field says so, and a patch
// may carry directives:
//   $patch: replace | delete | merge       what to do with the object it stands in
//   $deleteFromPrimitiveList/<field>       values to take out of a list of plain values
//   $setElementOrder/<field>               the order the items of a list shall have
//   $retainKeys                            the keys of this object that shall stay

import { equal, own, setOwn } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import type { Type } from "../field.ts";
import type { AnyStruct } from "../struct.ts";
import { PatchError } from "./error.ts";
import { arrange, isDeletion, itemKind, keyReader, requireKey, requireList, requireObject } from "./strategic-list.ts";
import { type FieldMerge, listMerge, objectMerge } from "./strategic-schema.ts";
import { checkDepth, copyObject, goText, isList, type JsonList, type JsonObject, kindOf } from "./value.ts";

export const directive = "$patch";
export const retainKeys = "$retainKeys";
export const elementOrder = "$setElementOrder";
export const primitiveDeletions = "$deleteFromPrimitiveList";

/** The object with the patch merged into it; neither is changed. Throws PatchError. */
export function applyStrategicPatch(struct: AnyStruct, object: JsonObject, patch: unknown): JsonObject {
  if (patch === null) return object;
  if (!isObject(patch))
    throw new PatchError(
      400,
      `json: cannot unmarshal ${isList(patch) ? "array" : kindOf(patch)} into Go value of type map[string]interface {}`,
    );
  checkDepth(patch);
  return mergeObject(object, patch, { is: "struct", struct: () => struct }, "object");
}

/**
 * What a patch is merged into. An object takes the meaning of directives; another patch takes directives and nulls along,
 * so that the sum of two patches does what both do.
 */
export type MergeInto = "object" | "patch";

export function mergeObject(original: JsonObject, patch: JsonObject, type: Type, into: MergeInto): JsonObject {
  if (Object.hasOwn(patch, directive)) return followDirective(patch);
  const merged = copyObject(original);
  const rest = copyObject(patch);
  applyRetainKeys(merged, rest, into);
  mergeOrderedLists(merged, rest, type, into);
  // Deletions first: upstream's order is that of a Go map, which is none.
  const keys = Object.keys(rest);
  for (const key of keys) if (key.startsWith(primitiveDeletions)) deleteValues(merged, key, rest[key], type, into);
  for (const key of keys) if (!key.startsWith(primitiveDeletions)) mergeField(merged, key, rest[key], type, into);
  return merged;
}

function followDirective(patch: JsonObject): JsonObject {
  const wanted = patch[directive];
  if (wanted === "delete") return {};
  if (wanted !== "replace") throw unknownDirective(wanted, patch);
  const { [directive]: _, ...replacement } = patch;
  return replacement;
}

const unknownDirective = (wanted: unknown, patch: JsonObject): PatchError =>
  new PatchError(422, `unknown patch type: ${goText(wanted)} in map: ${goText(patch)}`);

function applyRetainKeys(merged: Record<string, unknown>, patch: Record<string, unknown>, into: MergeInto): void {
  if (!Object.hasOwn(patch, retainKeys)) return;
  const wanted = patch[retainKeys];
  delete patch[retainKeys];
  if (into === "patch") {
    const before = own(merged, retainKeys);
    if (before !== undefined && !equal(before, wanted))
      throw new PatchError(
        422,
        `${goText(before)} and ${goText(wanted)} are not deep equal: this may happen when calculating the 3-way diff patch`,
      );
    merged[retainKeys] = wanted;
    return;
  }
  if (!isList(wanted)) throw new PatchError(400, "invalid patch format of retainKeys");
  const kept = new Set(wanted);
  for (const key of Object.keys(patch)) {
    if (patch[key] === null || key.startsWith(primitiveDeletions) || key.startsWith(elementOrder)) continue;
    if (!kept.has(key)) throw new PatchError(400, "invalid patch format of retainKeys");
  }
  for (const key of Object.keys(merged)) if (!kept.has(key)) delete merged[key];
}

/** Merges the lists that the patch gives an order for, and takes them out of the patch. */
function mergeOrderedLists(
  merged: Record<string, unknown>,
  patch: Record<string, unknown>,
  type: Type,
  into: MergeInto,
): void {
  for (const directiveKey of Object.keys(patch)) {
    if (!directiveKey.startsWith(elementOrder)) continue;
    const wanted = patch[directiveKey];
    delete patch[directiveKey];
    if (into === "patch") {
      const before = own(merged, directiveKey);
      if (before !== undefined && !equal(before, wanted)) throw badElementOrder();
      setOwn(merged, directiveKey, wanted);
    }
    const order = requireList(wanted);
    const key = fieldNamedBy(directiveKey, elementOrder);
    if (key === undefined) throw badElementOrder();
    const before = Object.hasOwn(merged, key) ? requireList(merged[key]) : undefined;
    const after = Object.hasOwn(patch, key) ? requireList(patch[key]) : undefined;
    const field = listMerge(type, key);
    checkOrder(after ?? [], order, field.mergeKey);
    delete patch[key];
    if (before === undefined && after === undefined) continue;
    const keyOf = keyReader(itemKind(before ?? [], after ?? []) === "object" ? field.mergeKey : "");
    if (before === undefined || after === undefined || field.strategy !== "merge") {
      const items =
        after === undefined || before !== undefined ? (after ?? before ?? []) : listWithoutDirectives(after);
      setOwn(merged, key, arrange(items, order, before ?? [], keyOf));
    } else {
      const { items } = mergeLists(before, after, field, into);
      // Items that are new count as standing where items were that are gone; so it comes out upstream.
      setOwn(merged, key, arrange(items, order, items.slice(0, before.length), keyOf));
    }
  }
}

const badElementOrder = () => new PatchError(400, "invalid patch format of setElementOrder list");

function fieldNamedBy(key: string, prefix: string): string | undefined {
  return key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : undefined;
}

/** The items of the patch must be in the order it asks for. */
function checkOrder(items: JsonList, order: JsonList, mergeKey: string): void {
  if (items.length === 0 || order.length === 0) return;
  const kept = mergeKey === "" ? items : items.filter((item) => !isDeletion(requireObject(item)));
  const keyOf = keyReader(mergeKey);
  let next = 0;
  for (let i = 0; i < order.length && next < kept.length; ) {
    const item = kept[next];
    if (isObject(item) && Object.hasOwn(item, directive)) next++;
    else if (keyOf(item) === keyOf(order[i++])) next++;
  }
  if (next < kept.length)
    throw new PatchError(
      422,
      `The order in patch list:\n${goText(items)}\n doesn't match $setElementOrder list:\n${goText(order)}\n`,
    );
}

function deleteValues(merged: Record<string, unknown>, key: string, value: unknown, type: Type, into: MergeInto): void {
  if (into === "patch") {
    setOwn(merged, key, value);
    return;
  }
  const name = fieldNamedBy(key, primitiveDeletions);
  if (name === undefined) throw new PatchError(400, "invalid patch format of primitive list");
  const before = own(merged, name);
  if (value === null) delete merged[name];
  if (!isList(before) || !isList(value)) return;
  const field = listMerge(type, name);
  if (before.length + value.length > 0 && itemKind(before, value) !== "object") {
    const gone = new Set(value);
    setOwn(
      merged,
      name,
      before.filter((item) => !gone.has(item)),
    );
  } else setOwn(merged, name, mergeList(before, value, field, into));
}

function mergeField(merged: Record<string, unknown>, key: string, patch: unknown, type: Type, into: MergeInto): void {
  if (patch === null || patch === undefined) {
    delete merged[key];
    if (into === "patch") setOwn(merged, key, null);
    return;
  }
  const before = own(merged, key);
  if (isObject(before) && isObject(patch)) {
    const field = objectMerge(type, key);
    setOwn(merged, key, field.strategy === "replace" ? patch : mergeObject(before, patch, field.type, into));
  } else if (isList(before) && isList(patch)) {
    const field = listMerge(type, key);
    setOwn(merged, key, field.strategy === "merge" ? mergeList(before, patch, field, into) : patch);
  } else {
    const value = withoutDirectives(into === "object" ? withoutNulls(patch) : patch);
    if (value === undefined) delete merged[key];
    else setOwn(merged, key, value);
  }
}

function mergeList(before: JsonList, patch: JsonList, field: FieldMerge, into: MergeInto): JsonList {
  if (before.length === 0 && patch.length === 0) return before;
  const { items, named, known } = mergeLists(before, patch, field, into);
  return arrange(items, named, known, keyReader(field.mergeKey));
}

interface MergedLists {
  /** All items, those that were there first. */
  readonly items: JsonList;
  /** Those the patch names. */
  readonly named: JsonList;
  /** Those that were there and are not gone. */
  readonly known: JsonList;
}

function mergeLists(before: JsonList, patch: JsonList, field: FieldMerge, into: MergeInto): MergedLists {
  if (itemKind(before, patch) !== "object")
    return { items: [...new Set([...before, ...patch])], named: patch, known: before };
  if (field.mergeKey === "") throw new PatchError(422, "cannot merge lists without merge key for struct");
  const items = patch.map(requireObject);
  const named = items.filter((item) => !Object.hasOwn(item, directive));
  const special = items.filter((item) => Object.hasOwn(item, directive));
  const known = followListDirectives(before, special, field.mergeKey);
  if (known === "replaced") return { items: named, named: [], known: named };
  return { items: mergeItems(known, named, field, into), named, known };
}

/** What is left of the list once items are deleted. */
function followListDirectives(
  before: JsonList,
  special: readonly JsonObject[],
  mergeKey: string,
): JsonList | "replaced" {
  const deleted = new Set<unknown>();
  let replaced = false;
  for (const item of special) {
    const wanted = item[directive];
    if (wanted === "delete") deleted.add(requireKey(item, mergeKey));
    else if (wanted === "replace") replaced = true;
    else if (wanted === "merge") throw new PatchError(422, "merging lists cannot yet be specified in the patch");
    else throw unknownDirective(wanted, item);
  }
  if (replaced) return "replaced";
  return deleted.size === 0
    ? before
    : before.filter((item) => !isObject(item) || !Object.hasOwn(item, mergeKey) || !deleted.has(item[mergeKey]));
}

function mergeItems(before: JsonList, patch: readonly JsonObject[], field: FieldMerge, into: MergeInto): JsonList {
  const merged = [...before];
  const indexByKey = new Map<unknown, number>();
  for (const [index, item] of merged.entries()) {
    const key = isObject(item) ? own(item, field.mergeKey) : undefined;
    if (key !== undefined && !indexByKey.has(key)) indexByKey.set(key, index);
  }
  for (const item of patch) {
    const key = requireKey(item, field.mergeKey);
    const index = indexByKey.get(key);
    if (index === undefined) indexByKey.set(key, merged.push(item) - 1);
    else merged[index] = mergeObject(requireObject(merged[index]), item, field.type, into);
  }
  return merged;
}

/** What is new is taken as it is, without the nulls in it. */
function withoutNulls(value: unknown): unknown {
  if (isList(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (value[key] !== null) setOwn(kept, key, withoutNulls(value[key]));
  return kept;
}

/** What is new has nothing that a directive could apply to: whatever carries one is left out. */
function withoutDirectives(value: unknown): unknown {
  if (isList(value)) return listWithoutDirectives(value);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = withoutDirectives(value[key]);
    if (inner !== undefined) setOwn(kept, key, inner);
  }
  return kept;
}

const listWithoutDirectives = (list: JsonList): JsonList =>
  list.map(withoutDirectives).filter((item) => item !== undefined);
