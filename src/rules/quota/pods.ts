// What a pod counts for: itself, and what its containers ask for and may use.
// Upstream: pkg/quota/v1/evaluator/core/pods.go.
import type { PodAffinityTerm } from "#api/core/v1/affinity.ts";
import { type Amounts, isExtended, isNative, isPodLevel } from "#api/core/v1/amounts.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import type { ScopedResourceSelectorRequirement } from "#api/core/v1/resource-quota.ts";
import type { ApiObject } from "#schema/object.ts";
import { parseQuantity, type Quantity } from "#schema/quantity.ts";
import { podAmounts } from "../pod-amounts.ts";
import { hasEnded } from "../pods.ts";
import { type Evaluator, matchesClass, one, type QuotaUsage } from "./evaluator.ts";

const count = "count/pods";
const devicePrefix = "deviceclass.resource.kubernetes.io/";
const names = new Set([
  count,
  "pods",
  ...["cpu", "memory", "ephemeral-storage"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);
/** A quota of these makes every container say how much it needs. */
const mustBeSaid = new Set(["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"]);

export const podEvaluator: Evaluator = {
  counts: (name) =>
    names.has(name) ||
    name.startsWith("hugepages-") ||
    name.startsWith("requests.hugepages-") ||
    (name.startsWith("requests.") && (!isNative(name) || name.startsWith(`requests.${devicePrefix}`))),

  usage(object, now) {
    const pod = podOf(object);
    const usage = new Map<string, Quantity>([[count, one]]);
    if (!isCounted(pod, now)) return usage;
    return new Map([...usage, ...named(podAmounts(pod, "requests"), podAmounts(pod, "limits"))]);
  },

  inScope(scope, object) {
    const pod = podOf(object);
    switch (scope.scopeName) {
      case "Terminating":
        return isTerminating(pod);
      case "NotTerminating":
        return !isTerminating(pod);
      case "BestEffort":
        return qosClassOf(pod.spec) === "BestEffort";
      case "NotBestEffort":
        return qosClassOf(pod.spec) !== "BestEffort";
      case "PriorityClass":
        return matchesPriority(scope, pod);
      case "CrossNamespacePodAffinity":
        return looksAbroad(pod);
      default:
        return false;
    }
  },

  missing(limited, object) {
    const { spec } = podOf(object);
    if (Object.keys({ ...spec.resources?.requests, ...spec.resources?.limits }).some(isPodLevel)) return undefined;
    const lacking = limited
      .filter((name) => mustBeSaid.has(name))
      .sort()
      .map((name) => {
        const silent = [...spec.containers, ...(spec.initContainers ?? [])].filter(
          ({ resources }) => !named(toMap(resources.requests), toMap(resources.limits)).has(name),
        );
        return { name, containers: [...new Set(silent.map((container) => container.name))].sort() };
      })
      .filter(({ containers }) => containers.length > 0);
    if (lacking.length === 0) return undefined;
    return `must specify ${lacking.map(({ name, containers }) => `${name} for: ${containers.join(",")}`).join("; ")}`;
  },

  minds({ operation, subresource, object, old }) {
    if (subresource === "resize") return operation === "update";
    if (subresource !== "") return false;
    return operation === "create" || (old !== undefined && isTerminating(podOf(object)) !== isTerminating(podOf(old)));
  },
};

/** The evaluator is only given objects of its kind. */
const podOf = (object: ApiObject): Pod => object as unknown as Pod;

/** A pod that has ended, or whose deletion is overdue, counts as an object but uses no resources. */
function isCounted(pod: Pod, now: number): boolean {
  if (hasEnded(pod)) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return now <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

const isTerminating = ({ spec }: Pod): boolean => (spec.activeDeadlineSeconds ?? -1) >= 0;

const matchesPriority = (scope: ScopedResourceSelectorRequirement, { spec }: Pod): boolean =>
  matchesClass(scope, spec.priorityClassName ? [spec.priorityClassName] : []);

function looksAbroad({ spec }: Pod): boolean {
  const terms = [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  return terms.some(
    ({ namespaces, namespaceSelector }: PodAffinityTerm) =>
      (namespaces ?? []).length > 0 || namespaceSelector !== undefined,
  );
}

const toMap = (amounts: Amounts | undefined): ReadonlyMap<string, string> => new Map(Object.entries(amounts ?? {}));

/** The same amounts by the names of quotas. */
function named(requests: ReadonlyMap<string, string>, limits: ReadonlyMap<string, string>): QuotaUsage {
  const usage = new Map<string, Quantity>([["pods", one]]);
  for (const [name, amount] of requests) {
    const quantity = parseQuantity(amount);
    const isPlain =
      name === "cpu" || name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
    if (isPlain) usage.set(name, quantity);
    if (isPlain || isExtended(name) || name.startsWith(devicePrefix)) usage.set(`requests.${name}`, quantity);
  }
  for (const [name, amount] of limits)
    if (name === "cpu" || name === "memory" || name === "ephemeral-storage")
      usage.set(`limits.${name}`, parseQuantity(amount));
  return usage;
}
