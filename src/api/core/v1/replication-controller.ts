import { type Infer, int32, int64, list, map, ref, resource, string, struct, time } from "#schema/index.ts";
import { PodTemplateSpec } from "./pod-spec.ts";

export const ReplicationControllerCondition = struct("core/v1.ReplicationControllerCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface ReplicationControllerCondition extends Infer<typeof ReplicationControllerCondition> {}

export const ReplicationControllerSpec = struct("core/v1.ReplicationControllerSpec", {
  replicas: int32(1).pointer().default(1),
  minReadySeconds: int32(4).default(0),
  selector: map(2, "string").atomic(),
  template: ref(3, PodTemplateSpec),
});
export interface ReplicationControllerSpec extends Infer<typeof ReplicationControllerSpec> {}

export const ReplicationControllerStatus = struct("core/v1.ReplicationControllerStatus", {
  replicas: int32(1).required(),
  fullyLabeledReplicas: int32(2),
  readyReplicas: int32(4),
  availableReplicas: int32(5),
  observedGeneration: int64(3),
  conditions: list(6, ReplicationControllerCondition).keyedBy("type"),
});
export interface ReplicationControllerStatus extends Infer<typeof ReplicationControllerStatus> {}

export const ReplicationController = resource({
  group: "",
  version: "v1",
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  shortNames: ["rc"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, ReplicationControllerSpec).default({}),
    status: ref(3, ReplicationControllerStatus).default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
});
export interface ReplicationController extends Infer<typeof ReplicationController> {}
