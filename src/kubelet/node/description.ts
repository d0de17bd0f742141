// The Node object that a kubelet registers, and its status.
// Upstream: pkg/kubelet/nodestatus/setters.go.
import type { Amounts } from "#api/core/v1/amounts.ts";
import type {
  ContainerImage,
  Node,
  NodeCondition,
  NodeFeatures,
  NodeStatus,
  NodeSystemInfo,
  Taint,
} from "#api/core/v1/node.ts";
import type { Draft } from "#schema/infer.ts";
import { timeOf } from "#schema/time.ts";

export interface NodeDescription {
  readonly name: string;
  /** Besides those every node has. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of a node that registers for the first time. */
  readonly taints?: readonly Taint[];
  readonly capacity: Amounts;
  /** Defaults to the capacity. */
  readonly allocatable?: Amounts;
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
  readonly system: NodeSystemInfo;
  /** Networks of the pods, where the node itself knows them. */
  readonly podCidrs?: readonly string[];
  readonly port: number;
  readonly features?: NodeFeatures;
  /** Whether the kernel has AppArmor; defaults to true. */
  readonly hasAppArmor?: boolean;
}

/** The health of a node. An empty object is a healthy node. */
export interface NodeHealth {
  /** Why the node is not ready. */
  readonly notReady?: string;
  readonly memoryPressure?: boolean;
  readonly diskPressure?: boolean;
  readonly pidPressure?: boolean;
  readonly images?: readonly ContainerImage[];
  /** Devices of plugins, by resource: how many there are, and how many work. */
  readonly devices?: Readonly<Record<string, { readonly capacity: number; readonly allocatable: number }>>;
}

export function nodeObject(description: NodeDescription, health: NodeHealth, now: number): Draft<Node> {
  const { name, labels, annotations, taints, podCidrs } = description;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { ...standardLabels(description), ...labels },
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true", ...annotations },
    },
    spec: {
      ...(podCidrs && { podCIDR: podCidrs[0], podCIDRs: [...podCidrs] }),
      ...(taints && taints.length > 0 && { taints: [...taints] }),
    },
    status: nodeStatus(description, health, [], now),
  };
}

export const standardLabels = ({ name, system }: NodeDescription): Readonly<Record<string, string>> => ({
  "beta.kubernetes.io/arch": system.architecture,
  "beta.kubernetes.io/os": system.operatingSystem,
  "kubernetes.io/arch": system.architecture,
  "kubernetes.io/hostname": name,
  "kubernetes.io/os": system.operatingSystem,
});

/** Of those that upstream's kubelets may declare: WebSockets need not be translated for this one. */
const declaredFeatures = ["ExtendWebSocketsToKubelet"];

export function nodeStatus(
  description: NodeDescription,
  health: NodeHealth,
  before: readonly NodeCondition[],
  now: number,
): Draft<NodeStatus> {
  const { capacity, allocatable = capacity, addresses, system, port, features } = description;
  const devices = Object.entries(health.devices ?? {});
  return {
    capacity: { ...capacity, ...Object.fromEntries(devices.map(([name, one]) => [name, String(one.capacity)])) },
    allocatable: {
      ...allocatable,
      ...Object.fromEntries(devices.map(([name, one]) => [name, String(one.allocatable)])),
    },
    conditions: nodeConditions(health, before, now),
    addresses: [...addresses],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    nodeInfo: system,
    ...(health.images && { images: [...health.images] }),
    ...(features && { features }),
    declaredFeatures: [...declaredFeatures],
  };
}

/** When a condition last changed is kept from before. */
export function nodeConditions(
  { notReady, memoryPressure = false, diskPressure = false, pidPressure = false }: NodeHealth,
  before: readonly NodeCondition[],
  now: number,
): NodeCondition[] {
  const at = timeOf(now);
  const condition = (type: string, isTrue: boolean, reason: string, message: string): NodeCondition => {
    const status = isTrue ? "True" : "False";
    const old = before.find((one) => one.type === type);
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : at;
    return { type, status, lastHeartbeatTime: at, lastTransitionTime, reason, message };
  };
  return [
    memoryPressure
      ? condition("MemoryPressure", true, "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")
      : condition("MemoryPressure", false, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    diskPressure
      ? condition("DiskPressure", true, "KubeletHasDiskPressure", "kubelet has disk pressure")
      : condition("DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    pidPressure
      ? condition("PIDPressure", true, "KubeletHasInsufficientPID", "kubelet has insufficient PID available")
      : condition("PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    notReady === undefined
      ? condition("Ready", true, "KubeletReady", "kubelet is posting ready status")
      : condition("Ready", false, "KubeletNotReady", notReady),
  ];
}
