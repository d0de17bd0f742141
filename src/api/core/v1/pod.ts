import { type Infer, int64, list, map, ref, resource, string, struct, time } from "#schema/index.ts";
import { Eviction } from "../../policy/v1/eviction.ts";
import { Binding } from "./binding.ts";
import { ContainerStatus } from "./container-status.ts";
import { PodAttachOptions, PodExecOptions, PodLogOptions, PodPortForwardOptions, PodProxyOptions } from "./options.ts";
import { PodSpec } from "./pod-spec.ts";
import { ResourceRequirements } from "./resources.ts";

export const ContainerExtendedResourceRequest = struct("core/v1.ContainerExtendedResourceRequest", {
  containerName: string(1).required(),
  resourceName: string(2).required(),
  requestName: string(3).required(),
});
export interface ContainerExtendedResourceRequest extends Infer<typeof ContainerExtendedResourceRequest> {}

export const HostIP = struct("core/v1.HostIP", {
  ip: string(1).required(),
});
export interface HostIP extends Infer<typeof HostIP> {}

export const NodeAllocatableResourceClaimStatus = struct("core/v1.NodeAllocatableResourceClaimStatus", {
  resourceClaimName: string(1).required(),
  containers: list(2, "string").asSet(),
  resources: map(3, "quantity").required(),
});
export interface NodeAllocatableResourceClaimStatus extends Infer<typeof NodeAllocatableResourceClaimStatus> {}

export const PodCondition = struct("core/v1.PodCondition", {
  type: string(1).required(),
  observedGeneration: int64(7),
  status: string(2).required(),
  lastProbeTime: time(3),
  lastTransitionTime: time(4),
  reason: string(5),
  message: string(6),
});
export interface PodCondition extends Infer<typeof PodCondition> {}

export const PodExtendedResourceClaimStatus = struct("core/v1.PodExtendedResourceClaimStatus", {
  requestMappings: list(1, ContainerExtendedResourceRequest).required(),
  resourceClaimName: string(2).required(),
});
export interface PodExtendedResourceClaimStatus extends Infer<typeof PodExtendedResourceClaimStatus> {}

export const PodIP = struct("core/v1.PodIP", {
  ip: string(1).required(),
});
export interface PodIP extends Infer<typeof PodIP> {}

export const PodResourceClaimStatus = struct("core/v1.PodResourceClaimStatus", {
  name: string(1).required(),
  resourceClaimName: string(2).pointer(),
});
export interface PodResourceClaimStatus extends Infer<typeof PodResourceClaimStatus> {}

export const PodStatus = struct("core/v1.PodStatus", {
  observedGeneration: int64(17),
  phase: string(1).oneOf("Failed", "Pending", "Running", "Succeeded", "Unknown"),
  conditions: list(2, PodCondition).keyedBy("type"),
  message: string(3),
  reason: string(4),
  nominatedNodeName: string(11),
  hostIP: string(5),
  hostIPs: list(16, HostIP).patch("merge", "ip"),
  podIP: string(6),
  podIPs: list(12, PodIP).keyedBy("ip"),
  startTime: time(7).pointer(),
  initContainerStatuses: list(10, ContainerStatus),
  containerStatuses: list(8, ContainerStatus),
  qosClass: string(9).oneOf("BestEffort", "Burstable", "Guaranteed"),
  ephemeralContainerStatuses: list(13, ContainerStatus),
  resize: string(14),
  resourceClaimStatuses: list(15, PodResourceClaimStatus).keyedBy("name").patch("merge,retainKeys"),
  extendedResourceClaimStatus: ref(18, PodExtendedResourceClaimStatus),
  allocatedResources: map(19, "quantity"),
  resources: ref(20, ResourceRequirements),
  nodeAllocatableResourceClaimStatuses: list(21, NodeAllocatableResourceClaimStatus).off("DRANodeAllocatableResources"),
});
export interface PodStatus extends Infer<typeof PodStatus> {}

export const Pod = resource({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  returnsDeleted: true,
  shortNames: ["po"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, PodSpec).default({}),
    status: ref(3, PodStatus).default({}),
  },
  subresources: {
    attach: { kindName: "PodAttachOptions", options: () => PodAttachOptions, verbs: ["create", "get"] },
    binding: { kind: () => Binding, verbs: ["create"] },
    ephemeralcontainers: { verbs: ["get", "patch", "update"] },
    eviction: { kind: () => Eviction, verbs: ["create"] },
    exec: { kindName: "PodExecOptions", options: () => PodExecOptions, verbs: ["create", "get"] },
    log: { options: () => PodLogOptions, verbs: ["get"] },
    portforward: { kindName: "PodPortForwardOptions", options: () => PodPortForwardOptions, verbs: ["create", "get"] },
    proxy: {
      kindName: "PodProxyOptions",
      options: () => PodProxyOptions,
      path: true,
      verbs: ["create", "delete", "get", "patch", "update"],
    },
    resize: { verbs: ["get", "patch", "update"] },
    status: true,
  },
});
export interface Pod extends Infer<typeof Pod> {}
