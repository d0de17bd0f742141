// How much of a resource a node has, and how much of it is taken.
// Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go.
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";
import { amountOf, isScalar } from "../resources.ts";

export interface ResourceWeight {
  readonly name: string;
  readonly weight: number;
}

export const cpuAndMemory: readonly ResourceWeight[] = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];

/** What a pod asks for of one resource, to be compared with nodes. */
export interface ScoredResource {
  readonly name: string;
  readonly weight: number;
  readonly asked: number;
}

/** The resources to compare nodes by. One with a name of its own only matters to pods that ask for it. */
export const scoredResources = (
  { request }: PodView,
  resources: readonly ResourceWeight[],
  likely: boolean,
): readonly ScoredResource[] =>
  resources
    .map(({ name, weight }) => {
      if (likely && name === "cpu") return { name, weight, asked: request.likelyCpu };
      if (likely && name === "memory") return { name, weight, asked: request.likelyMemory };
      return { name, weight, asked: amountOf(request, name) };
    })
    .filter(({ name, asked }) => asked > 0 || !isScalar(name));

export function capacityOf(node: NodeState, name: string): number {
  if (name === "cpu") return node.cpuCapacity;
  if (name === "memory") return node.memoryCapacity;
  return amountOf(node.allocatable, name);
}

/** With `likely`, pods that ask for no cpu or memory count as if they asked for a little. */
export function takenOf(node: NodeState, name: string, likely: boolean): number {
  if (name === "cpu") return likely ? node.likelyCpu : node.cpu;
  if (name === "memory") return likely ? node.likelyMemory : node.memory;
  return name === "ephemeral-storage" ? node.storage : (node.others.get(name) ?? 0);
}
