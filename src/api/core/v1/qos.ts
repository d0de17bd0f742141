// Which pods go first when a node runs out of memory.
import { isZeroQuantity, parseQuantity } from "#schema/quantity.ts";
import { type Amounts, compareAmounts } from "./amounts.ts";
import type { PodSpec } from "./pod-spec.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** Guaranteed if all that is counted has equal requests and limits, BestEffort if nothing is said at all. */
export function qosClassOf({ resources, containers, initContainers = [] }: PodSpec): QosClass {
  const consumers = resources
    ? [resources]
    : [...containers, ...initContainers].map((container) => container.resources);
  const requests = consumers.map((consumer) => counted(consumer.requests));
  const limits = consumers.map((consumer) => counted(consumer.limits));
  if ([...requests, ...limits].every((amounts) => amounts.size === 0)) return "BestEffort";
  const isBounded = limits.every((amounts) => amounts.size === 2);
  return isBounded && sameTotals(requests, limits) ? "Guaranteed" : "Burstable";
}

/** Only cpu and memory count, and none of either is as good as nothing said. */
const counted = (amounts: Amounts | undefined): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(amounts ?? {}).filter(
      ([name, amount]) => (name === "cpu" || name === "memory") && !isZeroQuantity(parseQuantity(amount)),
    ),
  );

type Lists = readonly ReadonlyMap<string, string>[];

/** Limits are never below requests, so the totals are equal only if each is. */
const sameTotals = (requests: Lists, limits: Lists): boolean =>
  limits.every((amounts, i) =>
    [...amounts].every(([name, limit]) => compareAmounts(requests[i]?.get(name) ?? "0", limit) === 0),
  );
