import { ageColumn, nameColumn } from "#schema/columns.ts";
import {
  type Infer,
  int64,
  list,
  map,
  type Problem,
  type RowCondition,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { Eviction } from "../../policy/v1/eviction.ts";
import { Binding } from "./binding.ts";
import { checkPod } from "./checks/pod.ts";
import { checkPodStatus } from "./checks/pod-status.ts";
import { completed, readinessGates, restartsCell, summarize } from "./columns/pod.ts";
import { ContainerStatus } from "./container-status.ts";
import { completePod, roundUpAmounts } from "./defaults.ts";
import { PodAttachOptions, PodExecOptions, PodLogOptions, PodPortForwardOptions, PodProxyOptions } from "./options.ts";
import { PodSpec } from "./pod-spec.ts";
import { ResourceRequirements } from "./resources.ts";

export const ContainerExtendedResourceRequest = struct(
  "core/v1.ContainerExtendedResourceRequest",
  {
    containerName: string(1, "The container that asked.").required(),
    resourceName: string(2, "The extended resource it asked for.").required(),
    requestName: string(3, "The request of the claim that stands for it.").required(),
  },
  { doc: "An extended resource of a container, as part of a claim." },
);
export interface ContainerExtendedResourceRequest extends Infer<typeof ContainerExtendedResourceRequest> {}

export const HostIP = struct(
  "core/v1.HostIP",
  { ip: string(1, "The address.").required() },
  { doc: "An address of the node." },
);
export interface HostIP extends Infer<typeof HostIP> {}

export const NodeAllocatableResourceClaimStatus = struct(
  "core/v1.NodeAllocatableResourceClaimStatus",
  {
    resourceClaimName: string(1, "Name of the claim.").required(),
    containers: list(2, "string", "Containers that use it.").asSet(),
    resources: map(3, "quantity", "How much it takes of the node.").required(),
  },
  { doc: "What a claim takes of the node's own resources." },
);
export interface NodeAllocatableResourceClaimStatus extends Infer<typeof NodeAllocatableResourceClaimStatus> {}

export const PodCondition = struct(
  "core/v1.PodCondition",
  {
    type: string(1, "What it is about, such as Ready.").required(),
    observedGeneration: int64(7, "Generation of the pod it was found for."),
    status: string(2, "Whether it holds: True, False or Unknown.").required(),
    lastProbeTime: time(3, "When it was last looked at."),
    lastTransitionTime: time(4, "When the status last changed."),
    reason: string(5, "Why, in one CamelCase word."),
    message: string(6, "Why, in words."),
  },
  { doc: "One thing that is known about a pod at present." },
);
export interface PodCondition extends Infer<typeof PodCondition> {}

export const PodExtendedResourceClaimStatus = struct(
  "core/v1.PodExtendedResourceClaimStatus",
  {
    requestMappings: list(1, ContainerExtendedResourceRequest, "Which request stands for which resource.").required(),
    resourceClaimName: string(2, "Name of the claim.").required(),
  },
  { doc: "The claim that was made for the pod's extended resources." },
);
export interface PodExtendedResourceClaimStatus extends Infer<typeof PodExtendedResourceClaimStatus> {}

export const PodIP = struct(
  "core/v1.PodIP",
  { ip: string(1, "The address.").required() },
  { doc: "An address of the pod." },
);
export interface PodIP extends Infer<typeof PodIP> {}

export const PodResourceClaimStatus = struct(
  "core/v1.PodResourceClaimStatus",
  {
    name: string(1, "Name of an entry in spec.resourceClaims.").required(),
    resourceClaimName: string(2, "The claim that was made for it; none if none was needed.").pointer(),
  },
  { doc: "What became of a template of claims." },
);
export interface PodResourceClaimStatus extends Infer<typeof PodResourceClaimStatus> {}

export const PodStatus = struct(
  "core/v1.PodStatus",
  {
    observedGeneration: int64(17, "Generation of the spec this status describes."),
    phase: string(1, "Where the pod is in its life.").known("Failed", "Pending", "Running", "Succeeded", "Unknown"),
    conditions: list(2, PodCondition, "What is known about the pod.").keyedBy("type"),
    message: string(3, "Why the pod is in this state, in words."),
    reason: string(4, "Why the pod is in this state, in one CamelCase word."),
    nominatedNodeName: string(11, "The node on which room is being made for the pod."),
    hostIP: string(5, "Address of the node."),
    hostIPs: list(16, HostIP, "All addresses of the node; the first is hostIP.").patch("merge", "ip"),
    podIP: string(6, "Address of the pod."),
    podIPs: list(12, PodIP, "All addresses of the pod; the first is podIP.").keyedBy("ip"),
    startTime: time(7, "When the kubelet took the pod on.").pointer(),
    initContainerStatuses: list(10, ContainerStatus, "What is known about the init containers."),
    containerStatuses: list(8, ContainerStatus, "What is known about the containers."),
    qosClass: string(9, "How early the pod goes when the node runs out of memory.").known(
      "BestEffort",
      "Burstable",
      "Guaranteed",
    ),
    ephemeralContainerStatuses: list(13, ContainerStatus, "What is known about the ephemeral containers."),
    resize: string(14, "No longer used; see the conditions PodResizePending and PodResizeInProgress."),
    resourceClaimStatuses: list(15, PodResourceClaimStatus, "The claims that were made of templates.")
      .keyedBy("name")
      .patch("merge,retainKeys"),
    extendedResourceClaimStatus: ref(18, PodExtendedResourceClaimStatus, "The claim made for extended resources."),
    allocatedResources: map(19, "quantity", "What the node has set aside for the pod as a whole."),
    resources: ref(20, ResourceRequirements, "Requests and limits of the pod as a whole that are in force."),
    nodeAllocatableResourceClaimStatuses: list(
      21,
      NodeAllocatableResourceClaimStatus,
      "What claims take of the node's own resources.",
    ).off("DRANodeAllocatableResources"),
  },
  {
    doc: "What a pod is.",
    complete(status): void {
      // Old kubelets write the one address, new ones the list; where they differ the one is right.
      if (status.podIP && status.podIP !== status.podIPs?.[0]?.ip) status.podIPs = [{ ip: status.podIP }];
      else if (!status.podIP && status.podIPs?.[0]) status.podIP = status.podIPs[0].ip;
      roundUpAmounts(status.allocatedResources);
    },
  },
);
export interface PodStatus extends Infer<typeof PodStatus> {}

export const Pod = resource({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  shortNames: ["po"],
  categories: ["all"],
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "Containers that run together on one node and share its network address and volumes.",
  fields: {
    spec: ref(2, PodSpec, "What the pod should be.").default({}),
    status: ref(3, PodStatus, "What the pod is; kept by the kubelet.").default({}),
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
  columns: [
    nameColumn,
    {
      name: "Ready",
      doc: "Containers that are ready, of all that should be.",
      cell: (pod): string => {
        const { ready, total } = summarize(pod);
        return `${ready}/${total}`;
      },
    },
    {
      name: "Status",
      doc: "Where the pod is in its life, or what keeps it from running.",
      cell: (pod): string => summarize(pod).status,
    },
    {
      name: "Restarts",
      doc: "How often containers were restarted, and when last.",
      cell: (pod, now): string => restartsCell(summarize(pod), now),
    },
    ageColumn,
    { name: "IP", wide: true, doc: "Address of the pod.", cell: ({ status }) => status.podIPs?.[0]?.ip || "<none>" },
    { name: "Node", wide: true, doc: "The node it runs on.", cell: ({ spec }) => spec.nodeName || "<none>" },
    {
      name: "Nominated Node",
      wide: true,
      doc: "The node on which room is being made for it.",
      cell: ({ status }) => status.nominatedNodeName || "<none>",
    },
    {
      name: "Readiness Gates",
      wide: true,
      doc: "Conditions that are met, of all that must be.",
      cell: (pod): string => readinessGates(pod),
    },
  ],
  rowConditions: (pod): readonly RowCondition[] => completed(pod),
  selectableFields: {
    "spec.nodeName": ({ spec }) => spec.nodeName ?? "",
    /** The name very old clients use. */
    "spec.host": ({ spec }) => spec.nodeName ?? "",
    "spec.restartPolicy": ({ spec }) => spec.restartPolicy,
    "spec.schedulerName": ({ spec }) => spec.schedulerName,
    "spec.serviceAccountName": ({ spec }) => spec.serviceAccountName ?? "",
    "spec.hostNetwork": ({ spec }) => String(spec.hostNetwork ?? false),
    "status.phase": ({ status }) => status.phase ?? "",
    "status.podIP": ({ status }) => status.podIPs?.[0]?.ip ?? "",
    /** Accepted by upstream, where it is always empty. */
    "status.podIPs": () => "",
    "status.nominatedNodeName": ({ status }) => status.nominatedNodeName ?? "",
  },
  complete(pod): void {
    completePod(pod.spec);
  },
  check: (pod, old): Iterable<Problem> => checkPod(pod, old),
  checkStatus: (pod, old): Iterable<Problem> => checkPodStatus(pod, old),
});
export interface Pod extends Infer<typeof Pod> {}
