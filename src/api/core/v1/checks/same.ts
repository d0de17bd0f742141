// Whether two values mean the same.
// Upstream: staging/src/k8s.io/apimachinery/pkg/api/equality/semantic.go.
import { compareQuantity, parseQuantity } from "#schema/quantity.ts";

const amountFields = new Set(["limits", "requests", "overhead", "capacity", "allocatable"]);

/** Equal but for what means nothing: lists, maps and structs that are empty, and the way an amount is written. */
export function same(a: unknown, b: unknown, areAmounts = false): boolean {
  if (a === b || (means(a) === undefined && means(b) === undefined)) return true;
  if (areAmounts && typeof a === "string" && typeof b === "string")
    return compareQuantity(parseQuantity(a), parseQuantity(b)) === 0;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  const left = new Map<string, unknown>(Object.entries(a));
  const right = new Map<string, unknown>(Object.entries(b));
  const keys = new Set([...left.keys(), ...right.keys()]);
  return [...keys].every((key) => same(left.get(key), right.get(key), areAmounts || amountFields.has(key)));
}

const means = (value: unknown): unknown =>
  typeof value === "object" && value !== null && Object.values(value).every((inner) => inner === undefined)
    ? undefined
    : value;
