import { type Infer, int32, int64, intOrString, list, ref, resource, string, struct, time } from "#schema/index.ts";
import { PersistentVolumeClaim } from "../../core/v1/persistent-volume-claim.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const RollingUpdateStatefulSetStrategy = struct("apps/v1.RollingUpdateStatefulSetStrategy", {
  partition: int32(1).pointer(),
  maxUnavailable: intOrString(2).off("MaxUnavailableStatefulSet").pointer(),
});
export interface RollingUpdateStatefulSetStrategy extends Infer<typeof RollingUpdateStatefulSetStrategy> {}

export const StatefulSetCondition = struct("apps/v1.StatefulSetCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface StatefulSetCondition extends Infer<typeof StatefulSetCondition> {}

export const StatefulSetOrdinals = struct("apps/v1.StatefulSetOrdinals", {
  start: int32(1).always(),
});
export interface StatefulSetOrdinals extends Infer<typeof StatefulSetOrdinals> {}

export const StatefulSetPersistentVolumeClaimRetentionPolicy = struct(
  "apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
  {
    whenDeleted: string(1).default("Retain"),
    whenScaled: string(2).default("Retain"),
  },
);
export interface StatefulSetPersistentVolumeClaimRetentionPolicy
  extends Infer<typeof StatefulSetPersistentVolumeClaimRetentionPolicy> {}

export const StatefulSetUpdateStrategy = struct("apps/v1.StatefulSetUpdateStrategy", {
  type: string(1).oneOf("OnDelete", "RollingUpdate").default("RollingUpdate"),
  rollingUpdate: ref(2, RollingUpdateStatefulSetStrategy),
});
export interface StatefulSetUpdateStrategy extends Infer<typeof StatefulSetUpdateStrategy> {}

export const StatefulSetSpec = struct("apps/v1.StatefulSetSpec", {
  replicas: int32(1).pointer().default(1),
  selector: ref(2, LabelSelector).required().pointer(),
  template: ref(3, PodTemplateSpec).required(),
  volumeClaimTemplates: list(4, PersistentVolumeClaim.struct),
  serviceName: string(5).always(),
  podManagementPolicy: string(6).oneOf("OrderedReady", "Parallel").default("OrderedReady"),
  updateStrategy: ref(7, StatefulSetUpdateStrategy).default({}),
  revisionHistoryLimit: int32(8).pointer().default(10),
  minReadySeconds: int32(9),
  persistentVolumeClaimRetentionPolicy: ref(10, StatefulSetPersistentVolumeClaimRetentionPolicy),
  ordinals: ref(11, StatefulSetOrdinals),
});
export interface StatefulSetSpec extends Infer<typeof StatefulSetSpec> {}

export const StatefulSetStatus = struct("apps/v1.StatefulSetStatus", {
  observedGeneration: int64(1),
  replicas: int32(2).required(),
  readyReplicas: int32(3),
  currentReplicas: int32(4),
  updatedReplicas: int32(5),
  currentRevision: string(6),
  updateRevision: string(7),
  collisionCount: int32(9).pointer(),
  conditions: list(10, StatefulSetCondition).keyedBy("type"),
  availableReplicas: int32(11).always(),
});
export interface StatefulSetStatus extends Infer<typeof StatefulSetStatus> {}

export const StatefulSet = resource({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  shortNames: ["sts"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, StatefulSetSpec).default({}),
    status: ref(3, StatefulSetStatus).default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
});
export interface StatefulSet extends Infer<typeof StatefulSet> {}
