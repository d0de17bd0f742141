// Where a pod may, should and should not run.
import { type Infer, int32, int64, list, type Problem, ref, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import {
  checkNodeAffinity,
  checkNodeSelector,
  checkPodAffinityTerm,
  checkSpread,
  checkTopologyTerm,
  checkWeight,
} from "./checks/affinity.ts";

export const NodeSelectorRequirement = struct(
  "core/v1.NodeSelectorRequirement",
  {
    key: string(1, "Label (or field) to look at.").required(),
    operator: string(2, "How it is compared with the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.")
      .known("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
      .required(),
    values: list(3, "string", "Values to compare with; one number for Gt and Lt, none for Exists and DoesNotExist."),
  },
  { doc: "A condition on one label or field of a node." },
);
export interface NodeSelectorRequirement extends Infer<typeof NodeSelectorRequirement> {}

export const NodeSelectorTerm = struct(
  "core/v1.NodeSelectorTerm",
  {
    matchExpressions: list(1, NodeSelectorRequirement, "Conditions on labels; all must hold."),
    matchFields: list(2, NodeSelectorRequirement, "Conditions on fields; only metadata.name is known."),
  },
  { doc: "Conditions that must all hold; a term without any matches nothing.", atomic: true },
);
export interface NodeSelectorTerm extends Infer<typeof NodeSelectorTerm> {}

export const NodeSelector = struct(
  "core/v1.NodeSelector",
  {
    nodeSelectorTerms: list(1, NodeSelectorTerm, "Terms of which one must match.").required(),
  },
  { doc: "Chooses nodes.", atomic: true, check: (selector): Iterable<Problem> => checkNodeSelector(selector) },
);
export interface NodeSelector extends Infer<typeof NodeSelector> {}

export const PreferredSchedulingTerm = struct(
  "core/v1.PreferredSchedulingTerm",
  {
    weight: int32(1, "How much it counts, from 1 to 100.").required(),
    preference: ref(2, NodeSelectorTerm, "The nodes that are liked better.").required(),
  },
  { doc: "Nodes that are liked better.", check: (term): Iterable<Problem> => checkWeight(term) },
);
export interface PreferredSchedulingTerm extends Infer<typeof PreferredSchedulingTerm> {}

export const NodeAffinity = struct(
  "core/v1.NodeAffinity",
  {
    requiredDuringSchedulingIgnoredDuringExecution: ref(
      1,
      NodeSelector,
      "Nodes the pod may be put on; later changes of labels do not move it.",
    ),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      2,
      PreferredSchedulingTerm,
      "Nodes the pod should rather be put on.",
    ),
  },
  { doc: "Which nodes suit a pod.", check: (affinity): Iterable<Problem> => checkNodeAffinity(affinity) },
);
export interface NodeAffinity extends Infer<typeof NodeAffinity> {}

export const PodAffinityTerm = struct(
  "core/v1.PodAffinityTerm",
  {
    labelSelector: ref(1, LabelSelector, "The other pods that count."),
    namespaces: list(2, "string", "Namespaces to look for them in; the pod's own when nothing is said."),
    topologyKey: string(3, "Label of nodes: those with the same value are one place.").required(),
    namespaceSelector: ref(4, LabelSelector, "More namespaces, by their labels; an empty selector means all."),
    matchLabelKeys: list(5, "string", "Labels the other pods must have in common with this one."),
    mismatchLabelKeys: list(6, "string", "Labels in which the other pods must differ from this one."),
  },
  { doc: "Pods, and how near is near.", check: (term): Iterable<Problem> => checkPodAffinityTerm(term) },
);
export interface PodAffinityTerm extends Infer<typeof PodAffinityTerm> {}

export const WeightedPodAffinityTerm = struct(
  "core/v1.WeightedPodAffinityTerm",
  {
    weight: int32(1, "How much it counts, from 1 to 100.").required(),
    podAffinityTerm: ref(2, PodAffinityTerm, "The pods, and how near is near.").required(),
  },
  {
    doc: "A wish about other pods.",
    problemOrder: "weight podAffinityTerm",
    check: (term): Iterable<Problem> => checkWeight(term),
  },
);
export interface WeightedPodAffinityTerm extends Infer<typeof WeightedPodAffinityTerm> {}

export const PodAffinity = struct(
  "core/v1.PodAffinity",
  {
    requiredDuringSchedulingIgnoredDuringExecution: list(1, PodAffinityTerm, "Pods that must be near; all terms hold."),
    preferredDuringSchedulingIgnoredDuringExecution: list(2, WeightedPodAffinityTerm, "Pods that should be near."),
  },
  { doc: "Pods to run near to." },
);
export interface PodAffinity extends Infer<typeof PodAffinity> {}

export const PodAntiAffinity = struct(
  "core/v1.PodAntiAffinity",
  {
    requiredDuringSchedulingIgnoredDuringExecution: list(
      1,
      PodAffinityTerm,
      "Pods that must not be near; all terms hold.",
    ),
    preferredDuringSchedulingIgnoredDuringExecution: list(2, WeightedPodAffinityTerm, "Pods that should not be near."),
  },
  { doc: "Pods to keep away from." },
);
export interface PodAntiAffinity extends Infer<typeof PodAntiAffinity> {}

export const Affinity = struct(
  "core/v1.Affinity",
  {
    nodeAffinity: ref(1, NodeAffinity, "Which nodes suit."),
    podAffinity: ref(2, PodAffinity, "Which pods to run near to."),
    podAntiAffinity: ref(3, PodAntiAffinity, "Which pods to keep away from."),
  },
  { doc: "What the scheduler considers besides resources." },
);
export interface Affinity extends Infer<typeof Affinity> {}

export const Toleration = struct(
  "core/v1.Toleration",
  {
    key: string(1, "Key of the taints it is about; all when left out, with operator Exists."),
    operator: string(2, "Equal compares values, Exists takes any; Equal when left out.").known(
      "Equal",
      "Exists",
      "Gt",
      "Lt",
    ),
    value: string(3, "Value of the taints it is about."),
    effect: string(4, "Effect of the taints it is about; all when left out.").known(
      "NoExecute",
      "NoSchedule",
      "PreferNoSchedule",
    ),
    tolerationSeconds: int64(5, "Seconds a NoExecute taint is borne; for ever when left out.").pointer(),
  },
  { doc: "Taints of nodes that do not keep the pod away." },
);
export interface Toleration extends Infer<typeof Toleration> {}

export const TopologySelectorLabelRequirement = struct(
  "core/v1.TopologySelectorLabelRequirement",
  {
    key: string(1, "Label of nodes.").required(),
    values: list(2, "string", "Values of which the node must have one.").required(),
  },
  { doc: "A condition on a label of nodes." },
);
export interface TopologySelectorLabelRequirement extends Infer<typeof TopologySelectorLabelRequirement> {}

export const TopologySelectorTerm = struct(
  "core/v1.TopologySelectorTerm",
  {
    matchLabelExpressions: list(1, TopologySelectorLabelRequirement, "Conditions that must all hold."),
  },
  {
    doc: "Places, by the labels of their nodes.",
    atomic: true,
    check: (term): Iterable<Problem> => checkTopologyTerm(term),
  },
);
export interface TopologySelectorTerm extends Infer<typeof TopologySelectorTerm> {}

export const TopologySpreadConstraint = struct(
  "core/v1.TopologySpreadConstraint",
  {
    maxSkew: int32(1, "By how many pods two places may differ.").required(),
    topologyKey: string(2, "Label of nodes: those with the same value are one place.").required(),
    whenUnsatisfiable: string(3, "Whether the pod waits or is put somewhere all the same.")
      .oneOf("DoNotSchedule", "ScheduleAnyway")
      .required(),
    labelSelector: ref(4, LabelSelector, "The pods that are counted."),
    minDomains: int32(5, "With fewer places than this, the emptiest counts as having none.").pointer(),
    nodeAffinityPolicy: string(6, "Whether nodes the pod does not select count; Honor leaves them out.")
      .oneOf("Honor", "Ignore")
      .pointer(),
    nodeTaintsPolicy: string(7, "Whether tainted nodes count; Honor leaves out those not tolerated.")
      .oneOf("Honor", "Ignore")
      .pointer(),
    matchLabelKeys: list(8, "string", "Labels that counted pods have in common with this one."),
  },
  {
    doc: "How evenly pods are spread over places.",
    problemOrder:
      "maxSkew topologyKey whenUnsatisfiable minDomains nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys labelSelector",
    check: (constraint): Iterable<Problem> => checkSpread(constraint),
  },
);
export interface TopologySpreadConstraint extends Infer<typeof TopologySpreadConstraint> {}
