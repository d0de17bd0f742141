// Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go.
import { schedulerPlugin } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
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
    score: (_pod, node, scored: readonly ScoredResource[]) => 50 + Math.trunc((50 + gain(node, scored)) / 2),
  });
}

/** How much more even it is with the pod than without it. */
function gain(node: NodeState, scored: readonly ScoredResource[]): number {
  const one = scored[0];
  const other = scored[1];
  // Nearly always there are two, processor and memory, and this runs for hundreds of nodes for each pod.
  if (one && other && scored.length === 2) {
    const ofOne = capacityOf(node, one.name);
    const ofOther = capacityOf(node, other.name);
    if (ofOne > 0 && ofOther > 0) {
      const first = takenOf(node, one.name, false);
      const second = takenOf(node, other.name, false);
      const before = Math.min(1, first / ofOne) - Math.min(1, second / ofOther);
      const after = Math.min(1, (first + one.asked) / ofOne) - Math.min(1, (second + other.asked) / ofOther);
      return evenness(Math.abs(after / 2)) - evenness(Math.abs(before / 2));
    }
  }
  return balance(node, scored, true) - balance(node, scored, false);
}

const evenness = (deviation: number): number => Math.trunc((1 - deviation) * 100);

/** From 50 to 100: how near to each other the parts are that are taken of each resource, with the pod or without it. */
function balance(node: NodeState, scored: readonly ScoredResource[], withPod: boolean): number {
  let [count, sum, first, second] = [0, 0, 0, 0];
  for (const resource of scored) {
    const part = partTaken(node, resource, withPod);
    if (part < 0) continue;
    count++;
    sum += part;
    if (count === 1) first = part;
    else if (count === 2) second = part;
  }
  let deviation = 0;
  if (count === 2) deviation = Math.abs((first - second) / 2);
  else if (count > 2) {
    const mean = sum / count;
    let squares = 0;
    for (const resource of scored) {
      const part = partTaken(node, resource, withPod);
      if (part >= 0) squares += (part - mean) * (part - mean);
    }
    deviation = Math.sqrt(squares / count);
  }
  return evenness(deviation);
}

/** Negative if the node has nothing of it. */
function partTaken(node: NodeState, { name, asked }: ScoredResource, withPod: boolean): number {
  const capacity = capacityOf(node, name);
  if (capacity === 0) return -1;
  return Math.min(1, (takenOf(node, name, false) + (withPod ? asked : 0)) / capacity);
}
