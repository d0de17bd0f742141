// What one write means for the quotas of its namespace: charged, or refused.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
import type { ResourceQuota, ScopedResourceSelectorRequirement } from "#api/core/v1/resource-quota.ts";
import {
  addUsage,
  type Evaluator,
  exceeding,
  increase,
  limits,
  only,
  type QuotaUsage,
  type QuotaWrite,
  scopesOf,
  usageOf,
  withoutZeros,
} from "#rules/quota/evaluator.ts";
import type { AnyKind } from "#schema/kind.ts";
import { formatQuantity } from "#schema/quantity.ts";
import type { AdmissionRefusal } from "../plugin.ts";

/** What nobody may use without a quota that covers it. */
export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Names of amounts that contain any of these. */
  readonly matchContains: readonly string[];
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[];
}

export interface ChargeOptions {
  readonly write: QuotaWrite;
  readonly kind: AnyKind;
  readonly evaluator: Evaluator;
  readonly limited: readonly LimitedResource[];
  readonly now: number;
}

/** A scope that must be covered is none of the object's own faults, so upstream does not call it forbidden. */
export class UncoveredScopes extends Error {}

/** What is used, by name of the quota. */
export type UsageByQuota = ReadonlyMap<string, QuotaUsage>;

/** The usage after the write; the same as `used` if nothing changes. */
export function charge(
  quotas: readonly ResourceQuota[],
  used: UsageByQuota,
  { write, kind, evaluator, limited, now }: ChargeOptions,
): { readonly used: UsageByQuota } | { readonly refusal: string } {
  const { object, old } = write;
  const concerned = quotas.filter((quota) => limits(quota, evaluator, object));
  for (const quota of concerned) {
    const why = unready(quota, used.get(quota.metadata.name) ?? new Map(), write, evaluator);
    if (why !== undefined) return { refusal: why };
  }
  const usage = evaluator.usage(object, now);
  const negative = [...usage].filter(([, { unscaled }]) => unscaled < 0n).map(([name]) => name);
  if (negative.length > 0) return { refusal: `quota usage is negative for resource(s): ${negative.sort().join(",")}` };

  const added = withoutZeros(old ? increase(usage, evaluator.usage(old, now)) : usage);
  const charges = concerned
    .map((quota) => ({
      quota,
      // What only now comes under a quota counts in full.
      delta: old && !limits(quota, evaluator, old) ? withoutZeros(usage) : added,
    }))
    .filter(({ delta }) => delta.size > 0);
  if (concerned.length > 0 ? charges.length === 0 : added.size === 0) return { used };

  const covered = new Set(concerned.flatMap(({ status }) => Object.keys(status.hard ?? {}).filter(evaluator.counts)));
  const uncovered = uncoveredNames(kind, usage, limited).filter((name) => !covered.has(name));
  if (uncovered.length > 0) return { refusal: `insufficient quota to consume: ${uncovered.join(",")}` };
  refuseUncoveredScopes(quotas, write, evaluator, limited);

  const next = new Map(used);
  for (const { quota, delta } of charges) {
    const { name } = quota.metadata;
    const present = used.get(name) ?? new Map();
    const hard = usageOf(quota.status.hard);
    const requested = only(delta, (resource) => hard.has(resource));
    const after = addUsage(present, requested);
    const exceeded = exceeding(
      only(after, (resource) => requested.has(resource)),
      hard,
    );
    if (exceeded.length > 0 && write.subresource !== "status") {
      const shown = (amounts: QuotaUsage) => print(only(amounts, (resource) => exceeded.includes(resource)));
      return {
        refusal: `exceeded quota: ${name}, requested: ${shown(requested)}, used: ${shown(present)}, limited: ${shown(hard)}`,
      };
    }
    next.set(name, after);
  }
  return { used: next };
}

/** A quota holds only those who say what they need, and only once its own usage is known. */
function unready(
  quota: ResourceQuota,
  used: QuotaUsage,
  { object }: QuotaWrite,
  evaluator: Evaluator,
): AdmissionRefusal {
  const { name } = quota.metadata;
  const limited = Object.keys(quota.status.hard ?? {}).filter(evaluator.counts);
  const missing = evaluator.missing?.(limited, object);
  if (missing !== undefined) return `failed quota: ${name}: ${missing}`;
  if (limited.every((resource) => used.has(resource))) return undefined;
  return `status unknown for quota: ${name}, resources: ${limited.sort().join(",")}`;
}

function uncoveredNames(kind: AnyKind, usage: QuotaUsage, limited: readonly LimitedResource[]): readonly string[] {
  const ours = limited.filter(({ apiGroup, resource }) => apiGroup === kind.group && resource === kind.plural);
  return [...usage]
    .filter(
      ([name, { unscaled }]) =>
        unscaled > 0n && ours.some(({ matchContains }) => matchContains.some((part) => name.includes(part))),
    )
    .map(([name]) => name)
    .sort();
}

function refuseUncoveredScopes(
  quotas: readonly ResourceQuota[],
  { object }: QuotaWrite,
  evaluator: Evaluator,
  limited: readonly LimitedResource[],
): void {
  const { inScope } = evaluator;
  if (!inScope) return;
  const matched = new Set(
    quotas
      .flatMap((quota) => scopesOf(quota).filter((scope) => inScope(scope, object)))
      .map(({ scopeName }) => scopeName),
  );
  const open = limited
    .flatMap(({ matchScopes }) => matchScopes.filter((scope) => inScope(scope, object)))
    .filter(({ scopeName }) => !matched.has(scopeName));
  if (open.length === 0) return;
  const texts = open.map(({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(" ")}]}`);
  throw new UncoveredScopes(`insufficient quota to match these scopes: [${texts.join(" ")}]`);
}

const print = (usage: QuotaUsage): string =>
  [...usage]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, amount]) => `${name}=${formatQuantity(amount)}`)
    .join(",");
