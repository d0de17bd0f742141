import { type Infer, int32, int64, list, ref, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const NodeSelectorRequirement = struct("core/v1.NodeSelectorRequirement", {
  key: string(1).required(),
  operator: string(2).oneOf("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn").required(),
  values: list(3, "string"),
});
export interface NodeSelectorRequirement extends Infer<typeof NodeSelectorRequirement> {}

export const NodeSelectorTerm = struct(
  "core/v1.NodeSelectorTerm",
  {
    matchExpressions: list(1, NodeSelectorRequirement),
    matchFields: list(2, NodeSelectorRequirement),
  },
  { atomic: true },
);
export interface NodeSelectorTerm extends Infer<typeof NodeSelectorTerm> {}

export const NodeSelector = struct(
  "core/v1.NodeSelector",
  {
    nodeSelectorTerms: list(1, NodeSelectorTerm).required(),
  },
  { atomic: true },
);
export interface NodeSelector extends Infer<typeof NodeSelector> {}

export const PreferredSchedulingTerm = struct("core/v1.PreferredSchedulingTerm", {
  weight: int32(1).required(),
  preference: ref(2, NodeSelectorTerm).required(),
});
export interface PreferredSchedulingTerm extends Infer<typeof PreferredSchedulingTerm> {}

export const NodeAffinity = struct("core/v1.NodeAffinity", {
  requiredDuringSchedulingIgnoredDuringExecution: ref(1, NodeSelector),
  preferredDuringSchedulingIgnoredDuringExecution: list(2, PreferredSchedulingTerm),
});
export interface NodeAffinity extends Infer<typeof NodeAffinity> {}

export const PodAffinityTerm = struct("core/v1.PodAffinityTerm", {
  labelSelector: ref(1, LabelSelector),
  namespaces: list(2, "string"),
  topologyKey: string(3).required(),
  namespaceSelector: ref(4, LabelSelector),
  matchLabelKeys: list(5, "string"),
  mismatchLabelKeys: list(6, "string"),
});
export interface PodAffinityTerm extends Infer<typeof PodAffinityTerm> {}

export const WeightedPodAffinityTerm = struct("core/v1.WeightedPodAffinityTerm", {
  weight: int32(1).required(),
  podAffinityTerm: ref(2, PodAffinityTerm).required(),
});
export interface WeightedPodAffinityTerm extends Infer<typeof WeightedPodAffinityTerm> {}

export const PodAffinity = struct("core/v1.PodAffinity", {
  requiredDuringSchedulingIgnoredDuringExecution: list(1, PodAffinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(2, WeightedPodAffinityTerm),
});
export interface PodAffinity extends Infer<typeof PodAffinity> {}

export const PodAntiAffinity = struct("core/v1.PodAntiAffinity", {
  requiredDuringSchedulingIgnoredDuringExecution: list(1, PodAffinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(2, WeightedPodAffinityTerm),
});
export interface PodAntiAffinity extends Infer<typeof PodAntiAffinity> {}

export const Affinity = struct("core/v1.Affinity", {
  nodeAffinity: ref(1, NodeAffinity),
  podAffinity: ref(2, PodAffinity),
  podAntiAffinity: ref(3, PodAntiAffinity),
});
export interface Affinity extends Infer<typeof Affinity> {}

export const Toleration = struct("core/v1.Toleration", {
  key: string(1),
  operator: string(2).oneOf("Equal", "Exists", "Gt", "Lt"),
  value: string(3),
  effect: string(4).oneOf("NoExecute", "NoSchedule", "PreferNoSchedule"),
  tolerationSeconds: int64(5).pointer(),
});
export interface Toleration extends Infer<typeof Toleration> {}

export const TopologySelectorLabelRequirement = struct("core/v1.TopologySelectorLabelRequirement", {
  key: string(1).required(),
  values: list(2, "string").required(),
});
export interface TopologySelectorLabelRequirement extends Infer<typeof TopologySelectorLabelRequirement> {}

export const TopologySelectorTerm = struct(
  "core/v1.TopologySelectorTerm",
  {
    matchLabelExpressions: list(1, TopologySelectorLabelRequirement),
  },
  { atomic: true },
);
export interface TopologySelectorTerm extends Infer<typeof TopologySelectorTerm> {}

export const TopologySpreadConstraint = struct("core/v1.TopologySpreadConstraint", {
  maxSkew: int32(1).required(),
  topologyKey: string(2).required(),
  whenUnsatisfiable: string(3).oneOf("DoNotSchedule", "ScheduleAnyway").required(),
  labelSelector: ref(4, LabelSelector),
  minDomains: int32(5).pointer(),
  nodeAffinityPolicy: string(6).oneOf("Honor", "Ignore").pointer(),
  nodeTaintsPolicy: string(7).oneOf("Honor", "Ignore").pointer(),
  matchLabelKeys: list(8, "string"),
});
export interface TopologySpreadConstraint extends Infer<typeof TopologySpreadConstraint> {}
