// Resource quotas: what can be counted, and with which scopes.
// Upstream: pkg/apis/core/validation/validation.go.
import { invalid, type Problem, required } from "#schema/index.ts";
import type { Amounts } from "../amounts.ts";
import type { ResourceQuotaSpec } from "../resource-quota.ts";
import { amount, entries, isQuotaResource, quotaResourceName } from "./resources.ts";

export function* checkQuotaAmounts(path: string, amounts: Amounts | undefined): Iterable<Problem> {
  for (const [at, name, value] of entries(path, amounts)) {
    yield* quotaResourceName(at, name);
    yield* amount(at, name, value);
  }
}

export function* checkQuotaSpec(spec: ResourceQuotaSpec, old: ResourceQuotaSpec | undefined): Iterable<Problem> {
  yield* checkQuotaAmounts("hard", spec.hard);
  yield* checkScopes(spec);
  yield* checkScopeSelector(spec);
  if (old && new Set(spec.scopes).symmetricDifference(new Set(old.scopes)).size > 0)
    yield invalid("scopes", "field is immutable", spec.scopes ?? null);
}

const countsPods = new Set(["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"]);
const countsClaims = new Set(["persistentvolumeclaims", "requests.storage"]);
const bestEffort = new Set(["pods"]);
/** What each scope can be applied to. */
const scopeResources = new Map<string, ReadonlySet<string>>([
  ["Terminating", countsPods],
  ["NotTerminating", countsPods],
  ["NotBestEffort", countsPods],
  ["PriorityClass", countsPods],
  ["CrossNamespacePodAffinity", countsPods],
  ["BestEffort", bestEffort],
  ["VolumeAttributesClass", countsClaims],
]);

/** The standard resources of the quota that a scope cannot be applied to. */
const unfit = (scope: string, hard: Amounts | undefined): readonly string[] =>
  Object.keys(hard ?? {}).filter((name) => isQuotaResource(name) && scopeResources.get(scope)?.has(name) === false);

const contradict = (scopes: readonly string[]): boolean =>
  (scopes.includes("BestEffort") && scopes.includes("NotBestEffort")) ||
  (scopes.includes("Terminating") && scopes.includes("NotTerminating"));

function* checkScopes({ hard, scopes = [] }: ResourceQuotaSpec): Iterable<Problem> {
  for (const scope of scopes) {
    if (!scopeResources.has(scope)) yield invalid("scopes", "unsupported scope");
    for (const _ of unfit(scope, hard)) yield invalid("scopes", "unsupported scope applied to resource");
  }
  if (contradict(scopes)) yield invalid("scopes", "conflicting scopes");
}

const yesOrNo = new Set(["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"]);

function* checkScopeSelector({ hard, scopes, scopeSelector }: ResourceQuotaSpec): Iterable<Problem> {
  const at = "scopeSelector.matchExpressions";
  const expressions = scopeSelector?.matchExpressions ?? [];
  for (const { scopeName, operator, values = [] } of expressions) {
    if (!scopeResources.has(scopeName)) yield invalid(`${at}.scopeName`, "unsupported scope", scopeName);
    for (const _ of unfit(scopeName, hard)) yield invalid(at, "unsupported scope applied to resource", scopeSelector);
    if (yesOrNo.has(scopeName) && operator !== "Exists")
      yield invalid(
        `${at}.operator`,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
        operator,
      );
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0)
        yield required(
          `${at}.values`,
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        );
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0)
        yield invalid(
          `${at}.values`,
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
          values,
        );
    } else yield invalid(`${at}.operator`, "not a valid selector operator", operator);
  }
  if (contradict(expressions.map(({ scopeName }) => scopeName)))
    yield invalid(at, "conflicting scopes", scopes ?? null);
}
