// What objects of a kind count for in quotas. Admission charges by it, and the quota controller sums it up again.
// Upstream: staging/src/k8s.io/apiserver/pkg/quota/v1/interfaces.go, staging/src/k8s.io/apiserver/pkg/quota/v1/resources.go and
// staging/src/k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go.
import type { ResourceQuota, ScopedResourceSelectorRequirement } from "#api/core/v1/resource-quota.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import {
  addQuantity,
  compareQuantity,
  isZeroQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  subtractQuantity,
} from "#schema/quantity.ts";

/** Amounts by the names that quotas have for them: `pods`, `requests.cpu`, `count/jobs.batch`. */
export type QuotaUsage = ReadonlyMap<string, Quantity>;

export interface Evaluator {
  /** Whether it counts what a quota limits under this name. */
  counts(name: string): boolean;
  usage(object: ApiObject, now: number): QuotaUsage;
  /** Whether an object is in a scope; without this, objects are in none. */
  inScope?(scope: ScopedResourceSelectorRequirement, object: ApiObject): boolean;
  /** Which of the limited names an object must state amounts for but does not; a message, or undefined. */
  missing?(names: readonly string[], object: ApiObject): string | undefined;
  /** Whether a write may change what an object counts for; defaults to every create. */
  minds?(write: QuotaWrite): boolean;
}

export interface QuotaWrite {
  readonly operation: "create" | "update";
  readonly subresource: string;
  readonly object: ApiObject;
  readonly old: ApiObject | undefined;
}

export const one: Quantity = quantityOf(1);

/** The name under which objects of a kind are counted. */
export const countName = ({ group, plural }: Pick<AnyKind, "group" | "plural">): string =>
  group === "" ? `count/${plural}` : `count/${plural}.${group}`;

/** Scopes of both notations. */
export const scopesOf = ({ spec }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] => [
  ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" }) as const),
  ...(spec.scopeSelector?.matchExpressions ?? []),
];

/** Whether a quota limits anything of what an object counts for. */
export function limits(quota: ResourceQuota, evaluator: Evaluator, object: ApiObject): boolean {
  if (!Object.keys(quota.status.hard ?? {}).some((name) => evaluator.counts(name))) return false;
  return scopesOf(quota).every((scope) => evaluator.inScope?.(scope, object) ?? false);
}

/** A scope by name of a class, compared as label selectors compare. An object may refer to several, or to none. */
export function matchesClass(
  { operator, values = [] }: ScopedResourceSelectorRequirement,
  classes: readonly string[],
): boolean {
  switch (operator) {
    case "Exists":
      return classes.length > 0;
    case "DoesNotExist":
      return classes.length === 0;
    case "In":
      return classes.some((name) => values.includes(name));
    case "NotIn":
      return classes.length === 0 || classes.some((name) => !values.includes(name));
    default:
      return false;
  }
}

export const usageOf = (amounts: Readonly<Record<string, string>> | undefined): QuotaUsage =>
  new Map(Object.entries(amounts ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));

export function addUsage(a: QuotaUsage, b: QuotaUsage): QuotaUsage {
  const sum = new Map(a);
  for (const [name, amount] of b) {
    const present = sum.get(name);
    sum.set(name, present ? addQuantity(present, amount) : amount);
  }
  return sum;
}

/** By how much each amount of `a` exceeds that of `b`; never negative. */
export function increase(a: QuotaUsage, b: QuotaUsage): QuotaUsage {
  const more = new Map<string, Quantity>();
  for (const [name, amount] of a) {
    const before = b.get(name);
    const difference = before ? subtractQuantity(amount, before) : amount;
    if (difference.unscaled > 0n) more.set(name, difference);
  }
  return more;
}

export const withoutZeros = (usage: QuotaUsage): QuotaUsage =>
  new Map([...usage].filter(([, amount]) => !isZeroQuantity(amount)));
export const only = (usage: QuotaUsage, isWanted: (name: string) => boolean): QuotaUsage =>
  new Map([...usage].filter(([name]) => isWanted(name)));

/** Names of amounts that are above their limit. */
export const exceeding = (usage: QuotaUsage, hard: QuotaUsage): readonly string[] =>
  [...usage].flatMap(([name, amount]) => {
    const limit = hard.get(name);
    return limit && compareQuantity(amount, limit) > 0 ? [name] : [];
  });
