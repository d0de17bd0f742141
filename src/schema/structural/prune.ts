// Dropping what a schema does not know, and nulls where none belongs. Follows apiextensions-apiserver/pkg/apiserver/schema/pruning and
// defaulting/prunenulls.go. An object is copied only when a field must go, because deleting would turn it into a slow dictionary.
import { setOwn } from "#base/collections.ts";
import type { JsonMap } from "../apply/value.ts";
import { childNode, isMap, type SchemaNode, valueNode } from "./schema.ts";

/** What an object of the API has whatever its schema says. */
export const resourceFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

type Paths = string[];
/** The most unknown fields that are reported: otherwise a long path with many unknown fields would be repeated for each. */
export const mostUnknown = 100;

/** The object without unknown fields. Their paths are added to `unknown`. What is inside apiVersion, kind and metadata is left alone. */
export function pruneObject(root: SchemaNode, object: JsonMap, unknown: Paths): JsonMap {
  return pruneFields(object, root, "", unknown, root.keepsUnknown, true);
}

/** A part of an object without unknown fields; the same if there are none. */
export const prunePart = (node: SchemaNode, value: unknown): unknown => prune(value, node, "", []);

function prune(value: unknown, node: SchemaNode | undefined, path: string, unknown: Paths): unknown {
  if (Array.isArray(value)) {
    const pruneItem = node?.keepsUnknown ? pruneKept : prune;
    return mapped(value, (item, i) => pruneItem(item, node?.items, `${path}[${i}]`, unknown));
  }
  return isMap(value) ? pruneFields(value, node, path, unknown, node?.keepsUnknown === true) : value;
}

/** An item of a list that keeps unknown fields keeps its own, whatever its schema says; without a schema it stays as it is. */
function pruneKept(value: unknown, node: SchemaNode | undefined, path: string, unknown: Paths): unknown {
  if (node === undefined) return value;
  if (Array.isArray(value)) return mapped(value, (item, i) => pruneKept(item, node.items, `${path}[${i}]`, unknown));
  return isMap(value) ? pruneFields(value, node, path, unknown, true) : value;
}

function pruneFields(
  object: JsonMap,
  node: SchemaNode | undefined,
  path: string,
  unknown: Paths,
  keepsUnknown: boolean,
  isResource = node?.isResource === true,
): JsonMap {
  return mappedFields(object, (value, name) => {
    if (isResource && resourceFields.has(name)) return value;
    const place = path === "" ? name : `${path}.${name}`;
    const property = node?.properties.get(name);
    // Values of which nothing is said but that there may be some (`additionalProperties: true`) lose all that is in them.
    if (property || node?.additional !== undefined) return prune(value, property ?? valueNode(node), place, unknown);
    if (keepsUnknown) return value;
    if (unknown.length < mostUnknown) unknown.push(place);
    return dropped;
  });
}

/** The object without nulls in fields that are neither nullable nor have a default to take their place. Items of lists stay. */
export function pruneNulls(value: unknown, node: SchemaNode | undefined): unknown {
  if (Array.isArray(value)) return mapped(value, (item) => pruneNulls(item, node?.items));
  if (!isMap(value)) return value;
  return mappedFields(value, (inner, name) => {
    const child = childNode(node, name);
    if (inner === null && child && !child.nullable && child.default === undefined) return dropped;
    return pruneNulls(inner, child);
  });
}

export const dropped: unique symbol = Symbol("dropped");

/** The same list if no item changes. */
export function mapped(
  items: readonly unknown[],
  change: (item: unknown, index: number) => unknown,
): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (const [i, before] of items.entries()) {
    const after = change(before, i);
    if (after === before) continue;
    copy ??= items.slice();
    copy[i] = after;
  }
  return copy ?? items;
}

/** The same object if no field changes; without those that `change` drops. */
export function mappedFields(object: JsonMap, change: (value: unknown, name: string) => unknown): JsonMap {
  const names = Object.keys(object);
  let copy: Record<string, unknown> | undefined;
  for (const [i, name] of names.entries()) {
    const before = object[name];
    const after = change(before, name);
    if (copy === undefined && after !== before) {
      copy = {};
      for (const same of names.slice(0, i)) setOwn(copy, same, object[same]);
    }
    if (copy !== undefined && after !== dropped) setOwn(copy, name, after);
  }
  return copy ?? object;
}
