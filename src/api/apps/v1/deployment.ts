import {
  bool,
  type Infer,
  int32,
  int64,
  intOrString,
  list,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const DeploymentCondition = struct("apps/v1.DeploymentCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastUpdateTime: time(6),
  lastTransitionTime: time(7),
  reason: string(4),
  message: string(5),
});
export interface DeploymentCondition extends Infer<typeof DeploymentCondition> {}

export const RollingUpdateDeployment = struct("apps/v1.RollingUpdateDeployment", {
  maxUnavailable: intOrString(1).pointer(),
  maxSurge: intOrString(2).pointer(),
});
export interface RollingUpdateDeployment extends Infer<typeof RollingUpdateDeployment> {}

export const DeploymentStrategy = struct("apps/v1.DeploymentStrategy", {
  type: string(1).oneOf("Recreate", "RollingUpdate").default("RollingUpdate"),
  rollingUpdate: ref(2, RollingUpdateDeployment),
});
export interface DeploymentStrategy extends Infer<typeof DeploymentStrategy> {}

export const DeploymentSpec = struct("apps/v1.DeploymentSpec", {
  replicas: int32(1).pointer().default(1),
  selector: ref(2, LabelSelector).required().pointer(),
  template: ref(3, PodTemplateSpec).required(),
  strategy: ref(4, DeploymentStrategy).patch("retainKeys").default({}),
  minReadySeconds: int32(5),
  revisionHistoryLimit: int32(6).pointer().default(10),
  paused: bool(7),
  progressDeadlineSeconds: int32(9).pointer().default(600),
});
export interface DeploymentSpec extends Infer<typeof DeploymentSpec> {}

export const DeploymentStatus = struct("apps/v1.DeploymentStatus", {
  observedGeneration: int64(1),
  replicas: int32(2),
  updatedReplicas: int32(3),
  readyReplicas: int32(7),
  availableReplicas: int32(4),
  unavailableReplicas: int32(5),
  terminatingReplicas: int32(9).pointer(),
  conditions: list(6, DeploymentCondition).keyedBy("type"),
  collisionCount: int32(8).pointer(),
});
export interface DeploymentStatus extends Infer<typeof DeploymentStatus> {}

export const Deployment = resource({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  shortNames: ["deploy"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, DeploymentSpec).default({}),
    status: ref(3, DeploymentStatus).default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
});
export interface Deployment extends Infer<typeof Deployment> {}
