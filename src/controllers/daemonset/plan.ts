// What to do about the pods of a DaemonSet: which nodes lack one, and which pods are too many. Pure, but for the patience with
// pods that fail, which the caller has.
// Upstream: pkg/controller/daemon/daemon_controller.go.
import type { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { isReady } from "#rules/conditions.ts";
import { hasEnded, isAvailable } from "#rules/pods.ts";
import { scaledValueOf } from "#schema/int-or-string.ts";
import { revisionLabel } from "../controller-revisions.ts";
import { type DaemonPlacement, targetNode } from "./placement.ts";

export interface DaemonSetState {
  readonly ds: DaemonSet;
  readonly nodes: readonly Node[];
  readonly placement: (node: Node) => DaemonPlacement;
  /** By the node they are on, or will be. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  /** The value of the revision label that pods of the present template have. */
  readonly hash: string;
  readonly now: number;
}

export interface DaemonPlan {
  /** Nodes to start a pod on. */
  readonly create: readonly string[];
  readonly delete: readonly Pod[];
}

/** What is done about a pod that has ended: it is deleted, or that has to wait. */
export type EndedPodPolicy = (pod: Pod, node: string) => "delete" | "wait";

/** The pods by node, without pods that have ended and are being deleted. */
export function byTarget(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const podsByNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = hasEnded(pod) && isGoing(pod) ? undefined : targetNode(pod);
    if (node === undefined) continue;
    const same = podsByNode.get(node);
    if (same) same.push(pod);
    else podsByNode.set(node, [pod]);
  }
  return podsByNode;
}

/** One pod on each node that should have one, none elsewhere. */
export function planPlaces(scene: DaemonSetState, ended: EndedPodPolicy): DaemonPlan {
  const plans = scene.nodes.map((node) => planNode(scene, node, ended));
  return {
    create: plans.flatMap((plan) => plan.create),
    delete: [...plans.flatMap((plan) => plan.delete), ...unschedulable(scene)],
  };
}

const nothing: DaemonPlan = { create: [], delete: [] };

function planNode(scene: DaemonSetState, node: Node, ended: EndedPodPolicy): DaemonPlan {
  const name = node.metadata.name ?? "";
  const { shouldRun, shouldStay } = scene.placement(node);
  const pods = scene.pods.get(name);
  if (shouldRun && !pods) return { create: [name], delete: [] };
  if (!pods) return nothing;
  const present = pods.filter((pod) => !isGoing(pod));
  if (!shouldStay) return { create: [], delete: present };
  const over = present.filter(hasEnded).filter((pod) => ended(pod, name) === "delete");
  const running = present.filter((pod) => !hasEnded(pod)).toSorted(byAge);
  if (!allowsSurge(scene.ds)) return { create: [], delete: [...over, ...running.slice(1)] };
  if (running.length === 0) return { create: shouldRun ? [name] : [], delete: over };
  return { create: [], delete: [...over, ...beyondSurge(scene, running)] };
}

/** During a surge, a node keeps its old pod as long as that works and the new one is not available. */
function beyondSurge({ ds, hash, now }: DaemonSetState, running: readonly Pod[]): readonly Pod[] {
  const isNew = ({ metadata }: Pod) => metadata.labels?.[revisionLabel] === hash;
  const [newest, ...moreNew] = running.filter(isNew);
  const [oldest, ...moreOld] = running.filter((pod) => !isNew(pod));
  const isReplaced = newest && oldest && (!isReady(oldest) || isAvailable(newest, ds.spec.minReadySeconds ?? 0, now));
  return [...moreNew, ...moreOld, ...(isReplaced ? [oldest] : [])];
}

/** Pending pods pinned to nodes that are gone: no scheduler can place them. */
function unschedulable({ nodes, pods }: DaemonSetState): readonly Pod[] {
  const present = new Set(nodes.map(({ metadata }) => metadata.name));
  return [...pods].flatMap(([node, some]) => (present.has(node) ? [] : some.filter(({ spec }) => !spec.nodeName)));
}

/** Bound pods first, then the oldest. Of two pods from the same second the working one is first; upstream compares names. */
export function byAge(a: Pod, b: Pod): number {
  if (Boolean(a.spec.nodeName) !== Boolean(b.spec.nodeName)) return a.spec.nodeName ? -1 : 1;
  const [one, other] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (one !== other) return one < other ? -1 : 1;
  if (isReady(a) !== isReady(b)) return isReady(a) ? -1 : 1;
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
}

export const isGoing = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

const allowsSurge = (ds: DaemonSet): boolean => surgeOf(ds, 1) > 0;

/** How many nodes may have two pods during an update. */
export function surgeOf({ spec: { updateStrategy } }: DaemonSet, desired: number): number {
  const { maxSurge = 0 } = (updateStrategy.type === "RollingUpdate" && updateStrategy.rollingUpdate) || {};
  return scaledValueOf(maxSurge, desired, "up");
}

/** How many nodes may be without a working pod during an update. */
export function unavailableOf(ds: DaemonSet, desired: number): number {
  const { updateStrategy } = ds.spec;
  const { maxUnavailable = 0 } = (updateStrategy.type === "RollingUpdate" && updateStrategy.rollingUpdate) || {};
  const count = scaledValueOf(maxUnavailable, desired, "up");
  return desired > 0 && count === 0 && surgeOf(ds, desired) === 0 ? 1 : count; // else nothing could ever move
}
