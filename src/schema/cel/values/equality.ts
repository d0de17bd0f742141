// Equality and order. Values of different types are unequal, except for numbers: 1 == 1u == 1.0. Follows cel-go's types/compare.go.
import { isSameType } from "../types.ts";
import { Double } from "./double.ts";
import type { Int } from "./int.ts";
import { elementsOf, type ListValue } from "./list.ts";
import type { MapValue } from "./map.ts";
import type { Uint } from "./uint.ts";
import { type CelValue, isInt } from "./value.ts";

export type NumberValue = Int | Uint | Double;

export function isNumber(value: CelValue): value is NumberValue {
  if (isInt(value)) return true;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return false;
  return value.kind === "uint" || value.kind === "double";
}

export function isEqual(a: CelValue, b: CelValue): boolean {
  if (a === b) return true;
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (b instanceof Uint8Array) return false;
  switch (a.kind) {
    case "list":
      return b.kind === "list" && isEqualList(a, b);
    case "map":
      return b.kind === "map" && isEqualMap(a, b);
    case "timestamp":
      return b.kind === "timestamp" && a.seconds === b.seconds && a.nanoseconds === b.nanoseconds;
    case "duration":
      return b.kind === "duration" && a.nanoseconds === b.nanoseconds;
    case "optional":
      if (b.kind !== "optional") return false;
      if (a.value === undefined || b.value === undefined) return a.value === b.value;
      return isEqual(a.value, b.value);
    case "type":
      return b.kind === "type" && a.type.kind === b.type.kind && a.type.name === b.type.name;
    case "opaque":
      return b.kind === "opaque" && isSameType(a.type, b.type) && a.equals(b);
    default:
      return false;
  }
}

function isEqualList(a: ListValue, b: ListValue): boolean {
  if (a.equals) return a.equals(b);
  if (a.size !== b.size) return false;
  for (let i = 0; i < a.size; i++) {
    const [left, right] = [a.at(i), b.at(i)];
    if (left === undefined || right === undefined || !isEqual(left, right)) return false;
  }
  return true;
}

function isEqualMap(a: MapValue, b: MapValue): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    const [left, right] = [a.find(key), b.find(key)];
    if (left === undefined || right === undefined || !isEqual(left, right)) return false;
  }
  return true;
}

export function listIncludes(list: ListValue, value: CelValue): boolean {
  for (const element of elementsOf(list)) if (isEqual(element, value)) return true;
  return false;
}

/** Negative, zero or positive; NaN if one of them is NaN. */
export function compareNumbers(a: NumberValue, b: NumberValue): number {
  // As in cel-go, a whole number is compared with a double as a double, even if that loses digits.
  const isDouble = a instanceof Double || b instanceof Double;
  const convert = isDouble ? Number : (value: number | bigint) => value;
  const [left, right] = [convert(plainNumber(a)), convert(plainNumber(b))];
  if (left < right) return -1;
  if (left > right) return 1;
  return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : 0;
}

function plainNumber(value: NumberValue): number | bigint {
  return typeof value === "object" ? value.value : value;
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** By code points, as UTF-8 orders them; UTF-16 units order characters beyond U+FFFF otherwise. */
export function compareStrings(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left === right) continue;
    const [leftIsHigh, rightIsHigh] = [isSurrogate(left), isSurrogate(right)];
    return leftIsHigh === rightIsHigh ? left - right : leftIsHigh ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Negative, zero or positive; undefined if the two cannot be ordered. */
export function compareValues(a: CelValue, b: CelValue): number | undefined {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return undefined;
  if (a instanceof Uint8Array || b instanceof Uint8Array) return undefined;
  if (a.kind === "timestamp" && b.kind === "timestamp") return a.seconds - b.seconds || a.nanoseconds - b.nanoseconds;
  if (a.kind === "duration" && b.kind === "duration") return Number(a.nanoseconds - b.nanoseconds);
  return undefined;
}
