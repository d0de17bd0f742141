import type { Toleration } from "#api/core/v1/affinity.ts";
import { equal } from "#base/collections.ts";

/** Both lists in one, without those that another of them covers. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [i, one] of all.entries()) {
    if (merged.some((other) => covers(other, one))) continue;
    if (all.slice(i + 1).some((later) => !equal(later, one) && covers(later, one))) continue;
    merged.push(one);
  }
  return merged;
}

/** Whether all that `one` tolerates is tolerated by `other`, too. */
export function covers(other: Toleration, one: Toleration): boolean {
  if (equal(other, one)) return true;
  if ((one.key ?? "") !== (other.key ?? "") && (other.key || other.operator !== "Exists")) return false;
  if (other.effect && one.effect !== other.effect) return false;
  if (other.effect === "NoExecute" && other.tolerationSeconds !== undefined)
    if (one.tolerationSeconds === undefined || one.tolerationSeconds > other.tolerationSeconds) return false;
  if (other.operator === "Exists") return true;
  const isEqual = other.operator === undefined || other.operator === "Equal";
  return isEqual && one.operator === "Equal" && (one.value ?? "") === (other.value ?? "");
}
