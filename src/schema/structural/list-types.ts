// Whether the items of sets, and the keys of lists that are maps, stand there once. Follows
// apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go.
import { own } from "#base/collections.ts";
import { goJson, type JsonMap } from "../apply/value.ts";
import { duplicate, invalid, mostProblems, type Problem } from "../problem.ts";
import { isMap, type SchemaNode, valueNode } from "./schema.ts";

/** Adds a problem for each item that repeats another, once for all repetitions of it. */
export function validateListTypes(value: unknown, node: SchemaNode, path: string, problems: Problem[]): void {
  if (problems.length >= mostProblems) return;
  if (Array.isArray(value)) {
    if (node.rest.listType === "set") addRepeated(value, path, problems);
    else if (node.rest.listType === "map") addRepeatedKeys(value, node.rest.listKeys, path, problems);
    const { items } = node;
    if (items) for (const [i, item] of value.entries()) validateListTypes(item, items, `${path}[${i}]`, problems);
  } else if (isMap(value)) {
    const values = valueNode(node);
    for (const name of Object.keys(value)) {
      const property = node.properties.get(name);
      if (values) validateListTypes(value[name], values, `${path}[${name}]`, problems);
      if (property) validateListTypes(value[name], property, path === "" ? name : `${path}.${name}`, problems);
    }
  }
}

function addRepeatedKeys(items: readonly unknown[], names: readonly string[], path: string, problems: Problem[]): void {
  const odd = items.findIndex((item) => item !== null && !isMap(item));
  if (odd >= 0)
    problems.push(invalid(`${path}[${odd}]`, "must be an object for an array of list-type map", items[odd]));
  else
    addRepeated(
      items.map((item) => keysOf(item, names)),
      path,
      problems,
    );
}

function keysOf(item: unknown, names: readonly string[]): JsonMap {
  const keys: Record<string, unknown> = {};
  if (isMap(item)) for (const name of names) if (Object.hasOwn(item, name)) keys[name] = own(item, name);
  return keys;
}

function addRepeated(items: readonly unknown[], path: string, problems: Problem[]): void {
  const counts = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const text = goJson(item);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    if (count === 2) problems.push(duplicate(`${path}[${i}]`, item));
  }
}
