import { ageColumn, nameColumn } from "#schema/columns.ts";
import {
  bool,
  type Infer,
  int32,
  int64,
  list,
  map,
  type Problem,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { checkNode, checkNodeUpdate } from "./checks/node.ts";
import { addressOf, kernelOf, nodeRoles, nodeStatus } from "./columns/node.ts";
import { roundUpAmounts } from "./defaults.ts";
import { NodeProxyOptions } from "./options.ts";

export const AttachedVolume = struct(
  "core/v1.AttachedVolume",
  {
    name: string(1, "Name of the volume.").required(),
    devicePath: string(2, "Where the device is.").required(),
  },
  { doc: "A volume that is attached to the node." },
);
export interface AttachedVolume extends Infer<typeof AttachedVolume> {}

export const ConfigMapNodeConfigSource = struct(
  "core/v1.ConfigMapNodeConfigSource",
  {
    namespace: string(1, "Namespace of the config map.").required(),
    name: string(2, "Name of the config map.").required(),
    uid: string(3, "Its uid; for the status only."),
    resourceVersion: string(4, "Its revision; for the status only."),
    kubeletConfigKey: string(5, "The key with the settings.").required(),
  },
  { doc: "A config map with settings of the kubelet; no longer used." },
);
export interface ConfigMapNodeConfigSource extends Infer<typeof ConfigMapNodeConfigSource> {}

export const ContainerImage = struct(
  "core/v1.ContainerImage",
  {
    names: list(1, "string", "Names it is known by.").always(),
    sizeBytes: int64(2, "Its size."),
  },
  { doc: "An image on the node." },
);
export interface ContainerImage extends Infer<typeof ContainerImage> {}

export const DaemonEndpoint = struct(
  "core/v1.DaemonEndpoint",
  {
    Port: int32(1, "Number of the port.").required(),
  },
  { doc: "A port of a daemon." },
);
export interface DaemonEndpoint extends Infer<typeof DaemonEndpoint> {}

export const NodeAddress = struct(
  "core/v1.NodeAddress",
  {
    type: string(1, "InternalIP, ExternalIP, Hostname, InternalDNS or ExternalDNS.").required(),
    address: string(2, "The address.").required(),
  },
  { doc: "An address of the node." },
);
export interface NodeAddress extends Infer<typeof NodeAddress> {}

export const NodeCondition = struct(
  "core/v1.NodeCondition",
  {
    type: string(1, "What it is about, such as Ready or MemoryPressure.").required(),
    status: string(2, "Whether it holds: True, False or Unknown.").required(),
    lastHeartbeatTime: time(3, "When it was last told."),
    lastTransitionTime: time(4, "When the status last changed."),
    reason: string(5, "Why, in one CamelCase word."),
    message: string(6, "Why, in words."),
  },
  { doc: "One thing that is known about a node." },
);
export interface NodeCondition extends Infer<typeof NodeCondition> {}

export const NodeConfigSource = struct(
  "core/v1.NodeConfigSource",
  {
    configMap: ref(2, ConfigMapNodeConfigSource, "A config map."),
  },
  { doc: "Where settings of the kubelet come from; no longer used." },
);
export interface NodeConfigSource extends Infer<typeof NodeConfigSource> {}

export const NodeConfigStatus = struct(
  "core/v1.NodeConfigStatus",
  {
    assigned: ref(1, NodeConfigSource, "The ones it was told to use."),
    active: ref(2, NodeConfigSource, "The ones it uses."),
    lastKnownGood: ref(3, NodeConfigSource, "The ones it falls back to."),
    error: string(4, "What is wrong with the assigned ones."),
  },
  { doc: "Which settings the kubelet uses; no longer used." },
);
export interface NodeConfigStatus extends Infer<typeof NodeConfigStatus> {}

export const NodeDaemonEndpoints = struct(
  "core/v1.NodeDaemonEndpoints",
  {
    kubeletEndpoint: ref(1, DaemonEndpoint, "Port of the kubelet.").default({}),
  },
  { doc: "Ports of the daemons on the node." },
);
export interface NodeDaemonEndpoints extends Infer<typeof NodeDaemonEndpoints> {}

export const NodeFeatures = struct(
  "core/v1.NodeFeatures",
  {
    supplementalGroupsPolicy: bool(1, "Whether it knows the policy for supplemental groups.").pointer(),
  },
  { doc: "What the node can do." },
);
export interface NodeFeatures extends Infer<typeof NodeFeatures> {}

export const NodeRuntimeHandlerFeatures = struct(
  "core/v1.NodeRuntimeHandlerFeatures",
  {
    recursiveReadOnlyMounts: bool(1, "Whether mounts can be read-only all the way down.").pointer(),
    userNamespaces: bool(2, "Whether pods can have user ids of their own.").pointer(),
  },
  { doc: "What a runtime handler can do." },
);
export interface NodeRuntimeHandlerFeatures extends Infer<typeof NodeRuntimeHandlerFeatures> {}

export const NodeRuntimeHandler = struct(
  "core/v1.NodeRuntimeHandler",
  {
    name: string(1, "Name of the handler; empty for the default one.").always(),
    features: ref(2, NodeRuntimeHandlerFeatures, "What it can do."),
  },
  { doc: "A runtime handler of the node." },
);
export interface NodeRuntimeHandler extends Infer<typeof NodeRuntimeHandler> {}

export const Taint = struct(
  "core/v1.Taint",
  {
    key: string(1, "Key of the taint.").required(),
    value: string(2, "Value of the taint."),
    effect: string(3, "Whether pods are kept away, rather kept away, or driven out.")
      .known("NoExecute", "NoSchedule", "PreferNoSchedule")
      .required(),
    timeAdded: time(4, "When it was added.").pointer(),
  },
  { doc: "Keeps pods that do not tolerate it away from the node." },
);
export interface Taint extends Infer<typeof Taint> {}

export const NodeSpec = struct(
  "core/v1.NodeSpec",
  {
    podCIDR: string(1, "Addresses for the pods of the node."),
    podCIDRs: list(7, "string", "Addresses for its pods, one network of each family; the first is podCIDR.")
      .asSet()
      .patch("merge"),
    providerID: string(3, "Id of the machine at its provider."),
    unschedulable: bool(4, "Whether new pods are kept away."),
    taints: list(5, Taint, "What keeps pods away that do not tolerate it."),
    configSource: ref(6, NodeConfigSource, "No longer used."),
    externalID: string(2, "No longer used."),
  },
  {
    doc: "What a node should be.",
    complete(spec): void {
      // Old clients write the one network; where the two differ it is right.
      if (spec.podCIDR && spec.podCIDR !== spec.podCIDRs?.[0]) spec.podCIDRs = [spec.podCIDR];
      else if (spec.podCIDRs?.[0] && !spec.podCIDR) spec.podCIDR = spec.podCIDRs[0];
    },
  },
);
export interface NodeSpec extends Infer<typeof NodeSpec> {}

export const NodeSwapStatus = struct(
  "core/v1.NodeSwapStatus",
  {
    capacity: int64(1, "Its size in bytes.").pointer(),
  },
  { doc: "Swap space of the node." },
);
export interface NodeSwapStatus extends Infer<typeof NodeSwapStatus> {}

export const NodeSystemInfo = struct(
  "core/v1.NodeSystemInfo",
  {
    machineID: string(1, "Id of the machine.").required(),
    systemUUID: string(2, "Id of the system, as its firmware tells it.").required(),
    bootID: string(3, "Id of the present boot.").required(),
    kernelVersion: string(4, "Version of the kernel.").required(),
    osImage: string(5, "Name of the operating system.").required(),
    containerRuntimeVersion: string(6, "Version of the container runtime.").required(),
    kubeletVersion: string(7, "Version of the kubelet.").required(),
    kubeProxyVersion: string(8, "No longer used.").required(),
    operatingSystem: string(9, "linux or windows.").required(),
    architecture: string(10, "Architecture of the machine, such as amd64.").required(),
    swap: ref(11, NodeSwapStatus, "Swap space."),
  },
  { doc: "What the node tells about itself." },
);
export interface NodeSystemInfo extends Infer<typeof NodeSystemInfo> {}

export const NodeStatus = struct(
  "core/v1.NodeStatus",
  {
    capacity: map(1, "quantity", "All that the machine has."),
    allocatable: map(2, "quantity", "What of it is there for pods."),
    phase: string(3, "No longer used.").known("Pending", "Running", "Terminated"),
    conditions: list(4, NodeCondition, "What is known about the node.").keyedBy("type"),
    addresses: list(5, NodeAddress, "Addresses of the node.").keyedBy("type"),
    daemonEndpoints: ref(6, NodeDaemonEndpoints, "Ports of the daemons on the node.").default({}),
    nodeInfo: ref(7, NodeSystemInfo, "What the node tells about itself.").default({}),
    images: list(8, ContainerImage, "Images on the node."),
    volumesInUse: list(9, "string", "Attachable volumes that are mounted."),
    volumesAttached: list(10, AttachedVolume, "Volumes that are attached."),
    config: ref(11, NodeConfigStatus, "No longer used."),
    runtimeHandlers: list(12, NodeRuntimeHandler, "Runtime handlers of the node."),
    features: ref(13, NodeFeatures, "What the node can do."),
    declaredFeatures: list(14, "string", "Features the kubelet says it has, sorted."),
  },
  {
    doc: "What a node is.",
    complete(status): void {
      roundUpAmounts(status.capacity);
      roundUpAmounts(status.allocatable);
      if (status.capacity) status.allocatable ??= { ...status.capacity };
    },
  },
);
export interface NodeStatus extends Infer<typeof NodeStatus> {}

export const Node = resource({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  shortNames: ["no"],
  scope: "Cluster",
  doc: "A machine that runs pods.",
  fields: {
    spec: ref(2, NodeSpec, "What the node should be.").default({}),
    status: ref(3, NodeStatus, "What the node is; kept by its kubelet.").default({}),
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
  columns: [
    nameColumn,
    { name: "Status", doc: "Whether it is ready and takes pods.", cell: (node): string => nodeStatus(node) },
    { name: "Roles", doc: "What it is for, by its labels.", cell: (node): string => nodeRoles(node) },
    ageColumn,
    { name: "Version", doc: "Version of its kubelet.", cell: ({ status }) => status.nodeInfo.kubeletVersion },
    {
      name: "Internal-IP",
      wide: true,
      doc: "Address inside the cluster.",
      cell: (node): string => addressOf(node, "InternalIP"),
    },
    {
      name: "External-IP",
      wide: true,
      doc: "Address outside of the cluster.",
      cell: (node): string => addressOf(node, "ExternalIP"),
    },
    {
      name: "OS-Image",
      wide: true,
      doc: "Name of its operating system.",
      cell: ({ status }) => status.nodeInfo.osImage || "<unknown>",
    },
    {
      name: "Kernel-Version",
      wide: true,
      doc: "Version of its kernel.",
      cell: ({ status }): string => kernelOf(status.nodeInfo),
    },
    {
      name: "Container-Runtime",
      wide: true,
      doc: "Version of its container runtime.",
      cell: ({ status }) => status.nodeInfo.containerRuntimeVersion || "<unknown>",
    },
  ],
  selectableFields: { "spec.unschedulable": ({ spec }) => String(spec.unschedulable ?? false) },
  *check(node, old): Iterable<Problem> {
    yield* checkNode(node, old);
    if (old) yield* checkNodeUpdate(node, old);
  },
  *checkStatus(node, old): Iterable<Problem> {
    yield* checkNode(node, old);
    yield* checkNodeUpdate(node, old);
  },
});
export interface Node extends Infer<typeof Node> {}
