// Whether a node admits a pod that was bound to it: the scheduler's view was older, and some pods are bound without it.
// Upstream: pkg/kubelet/lifecycle/predicate.go.
import { amountOf, containerAmounts, isNative } from "#api/core/v1/amounts.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import { requiredNodes, selectable } from "#rules/node-selection.ts";
import { isTolerated, untoleratedTaint } from "#rules/tolerations.ts";
import {
  addQuantity,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  zeroQuantity,
} from "#schema/quantity.ts";
import type { Rejection } from "../pods-context.ts";
import type { NodeHealth } from "./description.ts";
import { admitSysctls } from "./sysctls.ts";

export function admitPod(pod: Pod, node: Node, others: readonly Pod[]): Rejection | undefined {
  const { os } = pod.spec;
  if (os && os.name !== node.status.nodeInfo.operatingSystem)
    return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" };
  if (
    pod.spec.securityContext?.supplementalGroupsPolicy === "Strict" &&
    !node.status.features?.supplementalGroupsPolicy
  )
    return {
      reason: "SupplementalGroupsPolicyNotSupported",
      message: "SupplementalGroupsPolicy=Strict is not supported in this node",
    };
  return admitSysctls(pod) ?? insufficient(pod, node, others) ?? predicate(pod, node, others);
}

/** Why a node that runs out of something does not take the pod, if it does not. */
export function admitUnderPressure(pod: Pod, health: NodeHealth): Rejection | undefined {
  const conditions = [
    ...(health.memoryPressure ? ["MemoryPressure"] : []),
    ...(health.diskPressure ? ["DiskPressure"] : []),
    ...(health.pidPressure ? ["PIDPressure"] : []),
  ];
  if (conditions.length === 0 || isCritical(pod)) return undefined;
  const isMemoryOnly = health.memoryPressure && conditions.length === 1;
  if (isMemoryOnly && (qosClassOf(pod.spec) !== "BestEffort" || isTolerated(memoryTaint, pod.spec.tolerations ?? [])))
    return undefined;
  return { reason: "Evicted", message: `The node had condition: [${conditions.join(" ")}]. ` };
}

/** Why a node that cannot confine it does not take the pod, if it wants to be confined. */
export function admitWithoutAppArmor({ spec, status }: Pod): Rejection | undefined {
  const all = [...spec.containers, ...(spec.initContainers ?? []), spec];
  const isConfined = all.some(({ securityContext }) => {
    const type = securityContext?.appArmorProfile?.type;
    return type !== undefined && type !== "Unconfined";
  });
  if (!isConfined || status.phase !== "Pending") return undefined;
  return { reason: "AppArmor", message: "Cannot enforce AppArmor: AppArmor is not enabled on the host" };
}

const memoryTaint = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" } as const;
const systemCritical = 2_000_000_000;

/** Pods that the node or the cluster cannot do without. */
export const isCritical = ({ spec, metadata }: Pod): boolean =>
  (spec.priority ?? 0) >= systemCritical || metadata.annotations?.["kubernetes.io/config.source"] === "file";

const failed = (name: string, why: string): Rejection => ({
  reason: name,
  message: `Predicate ${name} failed: ${why}`,
});

function predicate(pod: Pod, node: Node, others: readonly Pod[]): Rejection | undefined {
  if (requiredNodes(pod.spec)?.(selectable(node)) === false)
    return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  if (portsOf(pod).some((port) => others.some((other) => portsOf(other).includes(port))))
    return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  if (untoleratedTaint(node.spec.taints, pod.spec.tolerations, ["NoExecute"]))
    return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate");
  return undefined;
}

/** The first resource of which there is too little. */
function insufficient(pod: Pod, { status }: Node, others: readonly Pod[]): Rejection | undefined {
  const { allocatable = {} } = status;
  const capacity = Number(quantityValue(parseQuantity(amountOf(allocatable, "pods") ?? "0")));
  if (others.length + 1 > capacity) return outOf("pods", 1, others.length, capacity);
  const wanted = requestsOf(pod);
  if (wanted.size === 0) return undefined;
  const used = total(others, wanted);
  for (const [name, request] of wanted) {
    const present = amountOf(allocatable, name);
    // Resources in a domain of their own that the node does not have may be the cluster's; others are devices of a claim.
    if ((present === undefined && !isNative(name)) || isByClaim(pod, name)) continue;
    const unit = name === "cpu" ? quantityMilliValue : quantityValue;
    const [need, has, all] = [request, used.get(name) ?? zeroQuantity, parseQuantity(present ?? "0")].map(unit);
    if (need !== undefined && has !== undefined && all !== undefined && need > 0n && need + has > all)
      return outOf(name, need, has, all);
  }
  return undefined;
}

/** How the reason begins of a rejection for want of something. */
export const outOfPrefix = "OutOf";

const outOf = (
  name: string,
  requested: bigint | number,
  used: bigint | number,
  capacity: bigint | number,
): Rejection => ({
  reason: `${outOfPrefix}${name}`,
  message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
});

/** What a pod needs of its node: as a whole where it says so, else what its containers need; and what running it costs. */
function requestsOf({ spec }: Pod): Map<string, Quantity> {
  const requests = new Map<string, Quantity>();
  for (const [name, amount] of containerAmounts(spec, "requests")) requests.set(name, parseQuantity(amount));
  for (const [name, amount] of Object.entries(spec.resources?.requests ?? {}))
    requests.set(name, parseQuantity(amount));
  for (const [name, amount] of Object.entries(spec.overhead ?? {}))
    requests.set(name, addQuantity(requests.get(name) ?? zeroQuantity, parseQuantity(amount)));
  return requests;
}

function total(pods: readonly Pod[], wanted: ReadonlyMap<string, Quantity>): ReadonlyMap<string, Quantity> {
  const sum = new Map<string, Quantity>();
  for (const pod of pods)
    for (const [name, amount] of requestsOf(pod))
      if (wanted.has(name)) sum.set(name, addQuantity(sum.get(name) ?? zeroQuantity, amount));
  return sum;
}

/** `TCP/0.0.0.0:80`, for each port of the node that the pod takes. */
const portsOf = ({ spec }: Pod): readonly string[] =>
  [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, hostIP = "0.0.0.0", protocol }) =>
      hostPort ? [`${protocol}/${hostIP}:${hostPort}`] : [],
    ),
  );

const isByClaim = ({ status }: Pod, resource: string): boolean =>
  status.extendedResourceClaimStatus?.requestMappings.some((one) => one.resourceName === resource) ?? false;
