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
  if (consumers.every((consumer) => !hasAny(consumer.requests) && !hasAny(consumer.limits))) return "BestEffort";
  return consumers.every(isGuaranteed) ? "Guaranteed" : "Burstable";
}

/** Only cpu and memory count, and none of either is as good as nothing said. */
const counted = ["cpu", "memory"] as const;

function countedAmount(amounts: Amounts | undefined, name: (typeof counted)[number]): string | undefined {
  const amount = amounts?.[name];
  return amount === undefined || isZeroQuantity(parseQuantity(amount)) ? undefined : amount;
}

const hasAny = (amounts: Amounts | undefined): boolean =>
  counted.some((name) => countedAmount(amounts, name) !== undefined);

/** Limits are never below requests, so the totals are equal only if each is. */
const isGuaranteed = ({ requests, limits }: Consumer): boolean =>
  counted.every((name) => {
    const limit = countedAmount(limits, name);
    return limit !== undefined && compareAmounts(countedAmount(requests, name) ?? "0", limit) === 0;
  });

type Consumer = { readonly [K in "requests" | "limits"]?: Amounts | undefined };
