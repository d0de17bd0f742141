// Lists in strategic merge patches: what their items are, which belong together, and in which order they end up.

import { own } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import { PatchError } from "./error.ts";
import { goText, goType, type JsonKind, type JsonList, type JsonObject, kindOf } from "./value.ts";

/** What the items of all these lists are. Throws PatchError unless they are all of one kind. */
export function itemKind(...lists: readonly JsonList[]): Exclude<JsonKind, "list" | "null"> {
  let common: JsonKind | undefined;
  for (const list of lists)
    for (const item of list) {
      const kind = kindOf(item);
      if (common === undefined && kind === "list") throw new PatchError(422, "lists of lists are not supported");
      if (kind === "null" || (common !== undefined && common !== kind))
        throw new PatchError(422, `list element types are not identical: ${goText(lists)}`);
      common = kind;
    }
  if (common === undefined || common === "list" || common === "null")
    throw new PatchError(422, "no elements in any of the given slices");
  return common;
}

/** What tells items apart: the merge key of objects, and plain values themselves. */
export type KeyOf = (item: unknown) => unknown;
export const keyReader = (mergeKey: string): KeyOf =>
  mergeKey === "" ? (item) => item : (item) => requireKey(item, mergeKey);

/** The value of an item's merge key. Throws PatchError if it has none. */
export function requireKey(item: unknown, mergeKey: string): unknown {
  const object = requireObject(item);
  if (!Object.hasOwn(object, mergeKey))
    throw new PatchError(422, `map: ${goText(object)} does not contain declared merge key: ${mergeKey}`);
  return object[mergeKey];
}

export function requireObject(item: unknown): JsonObject {
  if (!isObject(item)) throw new PatchError(422, `expected a map[string]interface {}, but received a ${goType(item)}`);
  return item;
}

export function requireList(value: unknown): JsonList {
  if (!Array.isArray(value)) throw new PatchError(422, `expected a []interface {}, but received a ${goType(value)}`);
  return value;
}

export const isDeletion = (item: unknown): boolean => isObject(item) && own(item, "$patch") === "delete";

/**
 * Puts the items that a patch names (those in `named`) into the order of `named`, the others into the order they had, and merges
 * the two: an item that only the server has stays in front of what it was in front of, as far as the patch's order allows.
 */
export function arrange(items: JsonList, named: JsonList, before: JsonList, keyOf: KeyOf): unknown[] {
  const patchOrder = positions(named, keyOf);
  const serverOrder = positions(before, keyOf);
  const inPatch = sorted(
    items.filter((item) => patchOrder.has(keyOf(item))),
    patchOrder,
    keyOf,
  );
  const onServer = sorted(
    items.filter((item) => !patchOrder.has(keyOf(item))),
    serverOrder,
    keyOf,
  );
  const merged: unknown[] = [];
  let next = 0;
  for (const item of inPatch) {
    const place = serverOrder.get(keyOf(item));
    for (; next < onServer.length; next++) {
      const left = serverOrder.get(keyOf(onServer[next]));
      if (left === undefined || place === undefined || left >= place) break;
      merged.push(onServer[next]);
    }
    merged.push(item);
  }
  return [...merged, ...onServer.slice(next)];
}

/** In the order given; items that it does not know come first, items to be deleted last. */
export function sorted(items: JsonList, order: ReadonlyMap<unknown, number>, keyOf: KeyOf): unknown[] {
  const place = (item: unknown) => order.get(keyOf(item)) ?? -1;
  const kept = items.filter((item) => !isDeletion(item));
  return [...kept.toSorted((a, b) => place(a) - place(b)), ...items.filter(isDeletion)];
}

/** Where each key is first found. */
export function positions(list: JsonList, keyOf: KeyOf): Map<unknown, number> {
  const found = new Map<unknown, number>();
  for (const [index, item] of list.entries()) if (!found.has(keyOf(item))) found.set(keyOf(item), index);
  return found;
}
