// Which pods nobody else will clear away. A pure function of the pods and nodes there are.
// Upstream: pkg/controller/podgc/gc_controller.go.
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { isReady } from "#rules/conditions.ts";
import { hasEnded } from "#rules/pods.ts";

export type DeletionReason = "terminated" | "out-of-service" | "orphaned" | "unscheduled";

export interface PodDeletion {
  readonly pod: Pod;
  readonly reason: DeletionReason;
}

export interface PodsAndNodes {
  readonly pods: readonly Pod[];
  readonly nodes: ReadonlyMap<string, Node>;
  /** Nodes that are known to be gone for good. */
  readonly lostNodes: ReadonlySet<string>;
  /** How many pods that have ended are kept; 0 for all. */
  readonly threshold: number;
}

/** Each pod at most once, for the first reason that holds. */
export function condemned({ pods, nodes, lostNodes, threshold }: PodsAndNodes): readonly PodDeletion[] {
  const found = new Map<Pod, DeletionReason>();
  const condemn = (reason: DeletionReason, some: readonly Pod[]) => {
    for (const pod of some) if (!found.has(pod)) found.set(pod, reason);
  };
  const ended = pods.filter(hasEnded).toSorted(byEvictionAndAge);
  if (threshold > 0) condemn("terminated", ended.slice(0, Math.max(0, ended.length - threshold)));
  const going = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  condemn(
    "out-of-service",
    going.filter(({ spec }) => isOutOfService(nodes.get(spec.nodeName ?? ""))),
  );
  condemn(
    "orphaned",
    pods.filter(({ spec }) => lostNodes.has(spec.nodeName ?? "")),
  );
  condemn(
    "unscheduled",
    going.filter(({ spec }) => !spec.nodeName),
  );
  return [...found].map(([pod, reason]) => ({ pod, reason }));
}

/** Someone has said that the machine is off, so nothing of it runs any more. */
function isOutOfService(node: Node | undefined): boolean {
  if (!node || isReady(node)) return false;
  return node.spec.taints?.some(({ key }) => key === "node.kubernetes.io/out-of-service") === true;
}

const isEvicted = ({ status }: Pod): boolean => status.phase === "Failed" && status.reason === "Evicted";

/** Evicted pods first, then the oldest. */
function byEvictionAndAge(a: Pod, b: Pod): number {
  if (isEvicted(a) !== isEvicted(b)) return isEvicted(a) ? -1 : 1;
  const [one, other] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (one !== other) return one < other ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
