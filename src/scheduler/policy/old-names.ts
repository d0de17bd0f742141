// The plugins that predicates and priorities of old stand for, by name.
// Upstream: pkg/scheduler/framework/plugins/legacy_registry.go, of v1.22.

export const predicates: Readonly<Record<string, readonly string[]>> = {
  CheckNodeUnschedulable: ["NodeUnschedulable"],
  GeneralPredicates: ["NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"],
  HostName: ["NodeName"],
  PodFitsHostPorts: ["NodePorts"],
  PodFitsPorts: ["NodePorts"],
  MatchNodeSelector: ["NodeAffinity"],
  PodFitsResources: ["NodeResourcesFit"],
  NoDiskConflict: ["VolumeRestrictions"],
  PodToleratesNodeTaints: ["TaintToleration"],
  PodToleratesNodeNoExecuteTaints: ["TaintToleration"],
  MaxEBSVolumeCount: ["NodeVolumeLimits"],
  MaxGCEPDVolumeCount: ["NodeVolumeLimits"],
  MaxAzureDiskVolumeCount: ["NodeVolumeLimits"],
  MaxCinderVolumeCount: ["NodeVolumeLimits"],
  MaxCSIVolumeCountPred: ["NodeVolumeLimits"],
  NoVolumeZoneConflict: ["VolumeZone"],
  CheckVolumeBinding: ["VolumeBinding"],
  MatchInterPodAffinity: ["InterPodAffinity"],
  EvenPodsSpread: ["PodTopologySpread"],
  // What these looked for in conditions is on nodes as taints since v1.12.
  CheckNodeCondition: ["TaintToleration"],
  CheckNodeMemoryPressure: ["TaintToleration"],
  CheckNodeDiskPressure: ["TaintToleration"],
  CheckNodePIDPressure: ["TaintToleration"],
};

/** Empty where a priority says nothing that tells nodes apart. */
export const priorities: Readonly<Record<string, string>> = {
  EqualPriority: "",
  ResourceLimitsPriority: "",
  LeastRequestedPriority: "NodeResourcesLeastAllocated",
  MostRequestedPriority: "NodeResourcesMostAllocated",
  BalancedResourceAllocation: "NodeResourcesBalancedAllocation",
  // Since v1.19 the spreading of the pods of a service is a default constraint of topology spread.
  SelectorSpreadPriority: "PodTopologySpread",
  ServiceSpreadingPriority: "PodTopologySpread",
  EvenPodsSpreadPriority: "PodTopologySpread",
  InterPodAffinityPriority: "InterPodAffinity",
  NodeAffinityPriority: "NodeAffinity",
  TaintTolerationPriority: "TaintToleration",
  ImageLocalityPriority: "ImageLocality",
  NodePreferAvoidPodsPriority: "NodePreferAvoidPods",
};

export const defaultPredicates: readonly string[] = [
  "NoVolumeZoneConflict",
  "MaxEBSVolumeCount",
  "MaxGCEPDVolumeCount",
  "MaxAzureDiskVolumeCount",
  "MaxCSIVolumeCountPred",
  "MatchInterPodAffinity",
  "NoDiskConflict",
  "GeneralPredicates",
  "PodToleratesNodeTaints",
  "CheckVolumeBinding",
  "CheckNodeUnschedulable",
  "EvenPodsSpread",
];

export const defaultPriorities: readonly { readonly name: string; readonly weight: number }[] = [
  { name: "SelectorSpreadPriority", weight: 1 },
  { name: "InterPodAffinityPriority", weight: 1 },
  { name: "LeastRequestedPriority", weight: 1 },
  { name: "BalancedResourceAllocation", weight: 1 },
  { name: "NodePreferAvoidPodsPriority", weight: 10000 },
  { name: "NodeAffinityPriority", weight: 1 },
  { name: "TaintTolerationPriority", weight: 1 },
  { name: "ImageLocalityPriority", weight: 1 },
  { name: "EvenPodsSpreadPriority", weight: 2 },
];
