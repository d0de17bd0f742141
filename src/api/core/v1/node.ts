import { bool, type Infer, int32, int64, list, map, ref, resource, string, struct, time } from "#schema/index.ts";
import { NodeProxyOptions } from "./options.ts";

export const AttachedVolume = struct("core/v1.AttachedVolume", {
  name: string(1).required(),
  devicePath: string(2).required(),
});
export interface AttachedVolume extends Infer<typeof AttachedVolume> {}

export const ConfigMapNodeConfigSource = struct("core/v1.ConfigMapNodeConfigSource", {
  namespace: string(1).required(),
  name: string(2).required(),
  uid: string(3),
  resourceVersion: string(4),
  kubeletConfigKey: string(5).required(),
});
export interface ConfigMapNodeConfigSource extends Infer<typeof ConfigMapNodeConfigSource> {}

export const ContainerImage = struct("core/v1.ContainerImage", {
  names: list(1, "string").always(),
  sizeBytes: int64(2),
});
export interface ContainerImage extends Infer<typeof ContainerImage> {}

export const DaemonEndpoint = struct("core/v1.DaemonEndpoint", {
  Port: int32(1).required(),
});
export interface DaemonEndpoint extends Infer<typeof DaemonEndpoint> {}

export const NodeAddress = struct("core/v1.NodeAddress", {
  type: string(1).required(),
  address: string(2).required(),
});
export interface NodeAddress extends Infer<typeof NodeAddress> {}

export const NodeCondition = struct("core/v1.NodeCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastHeartbeatTime: time(3),
  lastTransitionTime: time(4),
  reason: string(5),
  message: string(6),
});
export interface NodeCondition extends Infer<typeof NodeCondition> {}

export const NodeConfigSource = struct("core/v1.NodeConfigSource", {
  configMap: ref(2, ConfigMapNodeConfigSource),
});
export interface NodeConfigSource extends Infer<typeof NodeConfigSource> {}

export const NodeConfigStatus = struct("core/v1.NodeConfigStatus", {
  assigned: ref(1, NodeConfigSource),
  active: ref(2, NodeConfigSource),
  lastKnownGood: ref(3, NodeConfigSource),
  error: string(4),
});
export interface NodeConfigStatus extends Infer<typeof NodeConfigStatus> {}

export const NodeDaemonEndpoints = struct("core/v1.NodeDaemonEndpoints", {
  kubeletEndpoint: ref(1, DaemonEndpoint).default({}),
});
export interface NodeDaemonEndpoints extends Infer<typeof NodeDaemonEndpoints> {}

export const NodeFeatures = struct("core/v1.NodeFeatures", {
  supplementalGroupsPolicy: bool(1).pointer(),
});
export interface NodeFeatures extends Infer<typeof NodeFeatures> {}

export const NodeRuntimeHandlerFeatures = struct("core/v1.NodeRuntimeHandlerFeatures", {
  recursiveReadOnlyMounts: bool(1).pointer(),
  userNamespaces: bool(2).pointer(),
});
export interface NodeRuntimeHandlerFeatures extends Infer<typeof NodeRuntimeHandlerFeatures> {}

export const NodeRuntimeHandler = struct("core/v1.NodeRuntimeHandler", {
  name: string(1).always(),
  features: ref(2, NodeRuntimeHandlerFeatures),
});
export interface NodeRuntimeHandler extends Infer<typeof NodeRuntimeHandler> {}

export const Taint = struct("core/v1.Taint", {
  key: string(1).required(),
  value: string(2),
  effect: string(3).oneOf("NoExecute", "NoSchedule", "PreferNoSchedule").required(),
  timeAdded: time(4).pointer(),
});
export interface Taint extends Infer<typeof Taint> {}

export const NodeSpec = struct("core/v1.NodeSpec", {
  podCIDR: string(1),
  podCIDRs: list(7, "string").asSet().patch("merge"),
  providerID: string(3),
  unschedulable: bool(4),
  taints: list(5, Taint),
  configSource: ref(6, NodeConfigSource),
  externalID: string(2),
});
export interface NodeSpec extends Infer<typeof NodeSpec> {}

export const NodeSwapStatus = struct("core/v1.NodeSwapStatus", {
  capacity: int64(1).pointer(),
});
export interface NodeSwapStatus extends Infer<typeof NodeSwapStatus> {}

export const NodeSystemInfo = struct("core/v1.NodeSystemInfo", {
  machineID: string(1).required(),
  systemUUID: string(2).required(),
  bootID: string(3).required(),
  kernelVersion: string(4).required(),
  osImage: string(5).required(),
  containerRuntimeVersion: string(6).required(),
  kubeletVersion: string(7).required(),
  kubeProxyVersion: string(8).required(),
  operatingSystem: string(9).required(),
  architecture: string(10).required(),
  swap: ref(11, NodeSwapStatus),
});
export interface NodeSystemInfo extends Infer<typeof NodeSystemInfo> {}

export const NodeStatus = struct("core/v1.NodeStatus", {
  capacity: map(1, "quantity"),
  allocatable: map(2, "quantity"),
  phase: string(3).oneOf("Pending", "Running", "Terminated"),
  conditions: list(4, NodeCondition).keyedBy("type"),
  addresses: list(5, NodeAddress).keyedBy("type"),
  daemonEndpoints: ref(6, NodeDaemonEndpoints).default({}),
  nodeInfo: ref(7, NodeSystemInfo).default({}),
  images: list(8, ContainerImage),
  volumesInUse: list(9, "string"),
  volumesAttached: list(10, AttachedVolume),
  config: ref(11, NodeConfigStatus),
  runtimeHandlers: list(12, NodeRuntimeHandler),
  features: ref(13, NodeFeatures),
  declaredFeatures: list(14, "string"),
});
export interface NodeStatus extends Infer<typeof NodeStatus> {}

export const Node = resource({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  shortNames: ["no"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, NodeSpec).default({}),
    status: ref(3, NodeStatus).default({}),
  },
  subresources: {
    proxy: {
      kindName: "NodeProxyOptions",
      options: () => NodeProxyOptions,
      path: true,
      verbs: ["create", "delete", "get", "patch", "update"],
    },
    status: true,
  },
});
export interface Node extends Infer<typeof Node> {}
