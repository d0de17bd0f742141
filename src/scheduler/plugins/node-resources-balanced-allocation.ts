import { schedulerPlugin } from "../framework.ts";
import {
  capacityOf,
  cpuAndMemory,
  type ResourceWeight,
  type ScoredResource,
  scoredResources,
  takenOf,
} from "./scored-resource.ts";

export interface NodeResourcesBalancedAllocationArgs {
  readonly resources?: readonly ResourceWeight[];
}

/** Prefers nodes on which the pod evens out how much of each resource is used: 75 if it changes nothing, more if it helps. */
export function nodeResourcesBalancedAllocation({ resources = cpuAndMemory }: NodeResourcesBalancedAllocationArgs) {
  return schedulerPlugin({
    name: "NodeResourcesBalancedAllocation",

    preScore(pod) {
      const state = scoredResources(pod, resources, false);
      // All pods that ask for nothing would otherwise go to the same node.
      return state.some(({ asked }) => asked > 0) ? { state } : undefined;
    },
    score(_pod, node, scored: readonly ScoredResource[]) {
      const fractions: number[] = [];
      const fractionsBefore: number[] = [];
      for (const { name, asked } of scored) {
        const capacity = capacityOf(node, name);
        if (capacity === 0) continue;
        const taken = takenOf(node, name, false);
        fractions.push(Math.min(1, (taken + asked) / capacity));
        fractionsBefore.push(Math.min(1, taken / capacity));
      }
      return 50 + Math.trunc((50 + balance(fractions) - balance(fractionsBefore)) / 2);
    },
  });
}

/** From 50 to 100: how near the fractions are to each other. */
function balance(fractions: readonly number[]): number {
  const [a = 0, b = 0] = fractions;
  let deviation = 0;
  if (fractions.length === 2) deviation = Math.abs((a - b) / 2);
  else if (fractions.length > 2) {
    let [sum, squares] = [0, 0];
    for (const fraction of fractions) sum += fraction;
    const mean = sum / fractions.length;
    for (const fraction of fractions) squares += (fraction - mean) * (fraction - mean);
    deviation = Math.sqrt(squares / fractions.length);
  }
  return Math.trunc((1 - deviation) * 100);
}
