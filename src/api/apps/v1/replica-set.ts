import { type Infer, int32, int64, list, ref, resource, string, struct, time } from "#schema/index.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const ReplicaSetCondition = struct("apps/v1.ReplicaSetCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface ReplicaSetCondition extends Infer<typeof ReplicaSetCondition> {}

export const ReplicaSetSpec = struct("apps/v1.ReplicaSetSpec", {
  replicas: int32(1).pointer().default(1),
  minReadySeconds: int32(4),
  selector: ref(2, LabelSelector).required().pointer(),
  template: ref(3, PodTemplateSpec).default({}),
});
export interface ReplicaSetSpec extends Infer<typeof ReplicaSetSpec> {}

export const ReplicaSetStatus = struct("apps/v1.ReplicaSetStatus", {
  replicas: int32(1).required(),
  fullyLabeledReplicas: int32(2),
  readyReplicas: int32(4),
  availableReplicas: int32(5),
  terminatingReplicas: int32(7).pointer(),
  observedGeneration: int64(3),
  conditions: list(6, ReplicaSetCondition).keyedBy("type"),
});
export interface ReplicaSetStatus extends Infer<typeof ReplicaSetStatus> {}

export const ReplicaSet = resource({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  shortNames: ["rs"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, ReplicaSetSpec).default({}),
    status: ref(3, ReplicaSetStatus).default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
});
export interface ReplicaSet extends Infer<typeof ReplicaSet> {}
