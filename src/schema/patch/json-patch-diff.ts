// The JSON patch that leads from one document to another.

import { equal, own } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import type { JsonPatchOperation } from "./json-patch.ts";
import { checkDepth, isList, type JsonList, type JsonObject } from "./value.ts";

/** Short, but not minimal: list items are matched by index, after equal items at both ends are set aside. */
export function createJsonPatch(original: unknown, modified: unknown): JsonPatchOperation[] {
  for (const document of [original, modified]) checkDepth(document);
  const operations: JsonPatchOperation[] = [];
  diff(original, modified, "", operations);
  return operations;
}

function diff(before: unknown, after: unknown, path: string, operations: JsonPatchOperation[]): void {
  if (equal(before, after)) return;
  if (isObject(before) && isObject(after)) diffObjects(before, after, path, operations);
  else if (isList(before) && isList(after)) diffLists(before, after, path, operations);
  else operations.push({ op: "replace", path, value: after });
}

function diffObjects(before: JsonObject, after: JsonObject, path: string, operations: JsonPatchOperation[]): void {
  for (const key of Object.keys(before))
    if (before[key] !== undefined && own(after, key) === undefined)
      operations.push({ op: "remove", path: `${path}/${escapePointer(key)}` });
  for (const key of Object.keys(after)) {
    const value = after[key];
    const at = `${path}/${escapePointer(key)}`;
    if (value === undefined) continue;
    if (own(before, key) === undefined) operations.push({ op: "add", path: at, value });
    else diff(before[key], value, at, operations);
  }
}

function diffLists(before: JsonList, after: JsonList, path: string, operations: JsonPatchOperation[]): void {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && equal(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && equal(before.at(-1 - end), after.at(-1 - end))) end++;

  for (let i = start; i < shorter - end; i++) diff(before[i], after[i], `${path}/${i}`, operations);
  for (let i = before.length - end - 1; i >= shorter - end; i--)
    operations.push({ op: "remove", path: `${path}/${i}` });
  for (let i = shorter - end; i < after.length - end; i++)
    operations.push({ op: "add", path: `${path}/${i}`, value: after[i] });
}

/** A key as part of a JSON pointer. */
export const escapePointer = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");
