// What a namespace uses of its quota, counted anew. Pure.
// Upstream: pkg/controller/resourcequota/resource_quota_controller.go and staging/src/k8s.io/apiserver/pkg/quota/v1/resources.go.
import type { ResourceQuota, ResourceQuotaStatus } from "#api/core/v1/resource-quota.ts";
import { breathe } from "#base/breathe.ts";
import { type Evaluator, increase, type QuotaUsage, scopesOf, usageOf } from "#rules/quota/evaluator.ts";
import type { ApiObject } from "#schema/object.ts";
import { addQuantity, compareQuantity, formatQuantity, type Quantity, zeroQuantity } from "#schema/quantity.ts";

/** A kind that is counted, and the objects of it that the namespace has. */
export interface KindUsage {
  readonly evaluator: Evaluator;
  readonly objects: readonly ApiObject[];
}

/** The names that a quota limits and the evaluator counts. */
export const namesOf = ({ spec }: ResourceQuota, evaluator: Evaluator): readonly string[] =>
  Object.keys(spec.hard ?? {}).filter((name) => evaluator.counts(name));

const isInScope = (quota: ResourceQuota, { inScope }: Evaluator, object: ApiObject): boolean =>
  scopesOf(quota).every((scope) => inScope?.(scope, object) ?? false);

/** The total usage by name; names that no evaluator counts are absent. Yields to the event loop now and then. */
export async function recount(quota: ResourceQuota, counted: readonly KindUsage[], now: number): Promise<QuotaUsage> {
  const pause = breathe();
  const sum = new Map<string, Quantity>();
  for (const { evaluator, objects } of counted) {
    for (const name of namesOf(quota, evaluator)) sum.set(name, zeroQuantity);
    for (const object of objects) {
      if (!isInScope(quota, evaluator, object)) continue;
      for (const [name, amount] of evaluator.usage(object, now)) {
        const before = sum.get(name);
        if (before) sum.set(name, addQuantity(before, amount));
      }
      if (pause.due()) await pause.now();
    }
  }
  return sum;
}

/** Whether a change to an object may leave a quota with more room. What takes room has been charged when it was written. */
export function givesBack(
  quota: ResourceQuota,
  evaluator: Evaluator,
  [old, object]: readonly [ApiObject, ApiObject | undefined],
  now: number,
): boolean {
  if (namesOf(quota, evaluator).length === 0 || !isInScope(quota, evaluator, old)) return false;
  if (!object || !isInScope(quota, evaluator, object)) return true;
  return increase(evaluator.usage(old, now), evaluator.usage(object, now)).size > 0;
}

export interface RecountResult {
  readonly status: ResourceQuotaStatus;
  readonly isChanged: boolean;
  /** Whether less is used than the status says, by what the caches show now. */
  readonly isHeld: boolean;
}

/**
 * The status with what was counted. `charged` was charged so recently that its objects may not be seen yet, or not even be written:
 * it is counted on top, or else their places would be given away a second time.
 */
export function statusAfter({ spec, status }: ResourceQuota, counted: QuotaUsage, charged: QuotaUsage): RecountResult {
  const before = usageOf(status.used);
  const used: Record<string, string> = {};
  let isHeld = false;
  let isChanged = !sameAmounts(status.hard, spec.hard) || status.used === undefined;
  for (const name of Object.keys(spec.hard ?? {})) {
    const [was, is] = [before.get(name), counted.get(name)];
    const text = status.used?.[name];
    if (is === undefined) {
      if (text !== undefined) used[name] = text;
      continue;
    }
    const next =
      was && compareQuantity(is, was) < 0 ? smaller(was, addQuantity(is, charged.get(name) ?? zeroQuantity)) : is;
    isHeld ||= compareQuantity(next, is) > 0;
    const isSame = was !== undefined && compareQuantity(was, next) === 0;
    used[name] = isSame && text !== undefined ? text : formatQuantity(next);
    isChanged ||= !isSame;
  }
  isChanged ||= Object.keys(status.used ?? {}).some((name) => !Object.hasOwn(used, name));
  return { status: { hard: spec.hard, used }, isChanged, isHeld };
}

const smaller = (a: Quantity, b: Quantity): Quantity => (compareQuantity(a, b) <= 0 ? a : b);

type Amounts = Readonly<Record<string, string>> | undefined;

/** Whether limits are the same, however they are written. */
export function sameAmounts(a: Amounts, b: Amounts): boolean {
  const [one, other] = [usageOf(a), usageOf(b)];
  return (
    a !== undefined &&
    b !== undefined &&
    one.size === other.size &&
    [...one].every(([name, amount]) => {
      const same = other.get(name);
      return same !== undefined && compareQuantity(amount, same) === 0;
    })
  );
}
