// Matches list items and map entries with those of the stored object, so that validation can tell an update of an item from a new one. Items
// are matched by the keys of their list; items of a list without keys always count as new.
import { own } from "#base/collections.ts";
import type { FieldSpec, Type } from "./field.ts";
import type { AnyStruct } from "./struct.ts";

/** Finds the item of `list` that has the same keys as a given one; the first of several. */
export function itemFinder(list: readonly unknown[], keys: readonly string[]): (item: unknown) => unknown {
  let byKeys: ReadonlyMap<string, unknown> | undefined;
  return (item) => {
    const wanted = keyOf(item, keys);
    if (wanted === undefined) return undefined;
    byKeys ??= indexed(list, keys);
    return byKeys.get(wanted);
  };
}

function indexed(list: readonly unknown[], keys: readonly string[]): ReadonlyMap<string, unknown> {
  const byKeys = new Map<string, unknown>();
  for (const item of list) {
    const key = keyOf(item, keys);
    if (key !== undefined && !byKeys.has(key)) byKeys.set(key, item);
  }
  return byKeys;
}

/** Undefined of an item that lacks a key, or has something other than a scalar there. */
function keyOf(item: unknown, keys: readonly string[]): string | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  let text = "";
  for (const name of keys) {
    const value = own(item as Readonly<Record<string, unknown>>, name);
    if (value === undefined || value === null || typeof value === "object") return undefined;
    text += `${typeof value}:${JSON.stringify(value)};`;
  }
  return text;
}

/** Whether any check in a declared struct compares with the old value: matching takes time, and few structs need it. */
export function asksForOld(type: Type, visited = new Set<AnyStruct>()): boolean {
  if (type.is === "list") return asksForOld(type.item, visited);
  if (type.is === "map") return asksForOld(type.value, visited);
  if (type.is !== "struct") return false;
  const struct = type.struct();
  if (visited.has(struct)) return false;
  visited.add(struct);
  return (
    (struct.check?.length ?? 0) > 1 ||
    Object.values(struct.fields as Record<string, { spec: FieldSpec }>).some(
      ({ spec }) => spec.immutable || spec.onlyOnCreate || asksForOld(spec.type, visited),
    )
  );
}
