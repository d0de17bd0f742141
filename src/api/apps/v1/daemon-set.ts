import { type Infer, int32, int64, intOrString, list, ref, resource, string, struct, time } from "#schema/index.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const DaemonSetCondition = struct("apps/v1.DaemonSetCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface DaemonSetCondition extends Infer<typeof DaemonSetCondition> {}

export const RollingUpdateDaemonSet = struct("apps/v1.RollingUpdateDaemonSet", {
  maxUnavailable: intOrString(1).pointer(),
  maxSurge: intOrString(2).pointer(),
});
export interface RollingUpdateDaemonSet extends Infer<typeof RollingUpdateDaemonSet> {}

export const DaemonSetUpdateStrategy = struct("apps/v1.DaemonSetUpdateStrategy", {
  type: string(1).oneOf("OnDelete", "RollingUpdate").default("RollingUpdate"),
  rollingUpdate: ref(2, RollingUpdateDaemonSet),
});
export interface DaemonSetUpdateStrategy extends Infer<typeof DaemonSetUpdateStrategy> {}

export const DaemonSetSpec = struct("apps/v1.DaemonSetSpec", {
  selector: ref(1, LabelSelector).required().pointer(),
  template: ref(2, PodTemplateSpec).required(),
  updateStrategy: ref(3, DaemonSetUpdateStrategy).default({}),
  minReadySeconds: int32(4),
  revisionHistoryLimit: int32(6).pointer().default(10),
});
export interface DaemonSetSpec extends Infer<typeof DaemonSetSpec> {}

export const DaemonSetStatus = struct("apps/v1.DaemonSetStatus", {
  currentNumberScheduled: int32(1).required(),
  numberMisscheduled: int32(2).required(),
  desiredNumberScheduled: int32(3).required(),
  numberReady: int32(4).required(),
  observedGeneration: int64(5),
  updatedNumberScheduled: int32(6),
  numberAvailable: int32(7),
  numberUnavailable: int32(8),
  collisionCount: int32(9).pointer(),
  conditions: list(10, DaemonSetCondition).keyedBy("type"),
});
export interface DaemonSetStatus extends Infer<typeof DaemonSetStatus> {}

export const DaemonSet = resource({
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  shortNames: ["ds"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, DaemonSetSpec).default({}),
    status: ref(3, DaemonSetStatus).default({}),
  },
  subresources: { status: true },
});
export interface DaemonSet extends Infer<typeof DaemonSet> {}
