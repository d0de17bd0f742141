// JSON values as patches see them: distinguished by type, never changed in place, and of limited depth.

import { setOwn } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import { PatchError } from "./error.ts";

export type JsonObject = Readonly<Record<string, unknown>>;
export type JsonList = readonly unknown[];

/** As deep as a document may be nested; far beyond any object, and far from the end of the stack. */
export const mostDepth = 500;

export const isList = (value: unknown): value is JsonList => Array.isArray(value);

export type JsonKind = "null" | "object" | "list" | "string" | "number" | "boolean";
export function kindOf(value: unknown): JsonKind {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "list";
  const type = typeof value;
  if (type === "bigint") return "number";
  return type === "string" || type === "number" || type === "boolean" ? type : "object";
}

/** A copy of one level. Keys such as `__proto__` stay data. */
export function copyObject(object: JsonObject): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object)) setOwn(copy, key, object[key]);
  return copy;
}

export const hasKeys = (object: JsonObject): boolean => Object.keys(object).length > 0;

/** Refuses what is nested too deep to be worked on. */
export function checkDepth(value: unknown, left = mostDepth): void {
  if (typeof value !== "object" || value === null) return;
  if (left === 0) throw new PatchError(400, "exceeded max depth");
  for (const item of Array.isArray(value) ? value : Object.values(value)) checkDepth(item, left - 1);
}

/** The length of the value as JSON, or less where characters take more than a byte. Refuses what is nested too deep. */
export function jsonSize(value: unknown): number {
  checkDepth(value);
  return JSON.stringify(value)?.length ?? 4;
}

/** A value as Go prints it with %v, which is how upstream's messages show it. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (isList(value)) return `[${value.map(goText).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const entries = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goText(value[key])}`);
  return `map[${entries.join(" ")}]`;
}

/** The name of a value's type in Go. */
export function goType(value: unknown): string {
  switch (kindOf(value)) {
    case "null":
      return "%!s(<nil>)";
    case "object":
      return "map[string]interface {}";
    case "list":
      return "[]interface {}";
    case "number":
      return typeof value === "bigint" || Number.isInteger(value) ? "int64" : "float64";
    case "boolean":
      return "bool";
    case "string":
      return "string";
  }
}
