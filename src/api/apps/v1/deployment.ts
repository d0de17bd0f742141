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
  type: string(1, "What the condition is about: Available, Progressing or ReplicaFailure.").required(),
  status: string(2, "True, False or Unknown.").required(),
  lastUpdateTime: time(6, "When the condition was last confirmed."),
  lastTransitionTime: time(7, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface DeploymentCondition extends Infer<typeof DeploymentCondition> {}

export const RollingUpdateDeployment = struct("apps/v1.RollingUpdateDeployment", {
  maxUnavailable: intOrString(
    1,
    "How many pods may be missing during the update, as a number or a percentage of replicas.",
  ).pointer(),
  maxSurge: intOrString(
    2,
    "How many pods may exist beyond replicas during the update, as a number or a percentage.",
  ).pointer(),
});
export interface RollingUpdateDeployment extends Infer<typeof RollingUpdateDeployment> {}

export const DeploymentStrategy = struct("apps/v1.DeploymentStrategy", {
  type: string(
    1,
    "Replace pods a few at a time (RollingUpdate), or all at once after the old ones are gone (Recreate).",
  )
    .oneOf("Recreate", "RollingUpdate")
    .default("RollingUpdate"),
  rollingUpdate: ref(2, RollingUpdateDeployment, "The pace of a rolling update."),
});
export interface DeploymentStrategy extends Infer<typeof DeploymentStrategy> {}

export const DeploymentSpec = struct("apps/v1.DeploymentSpec", {
  replicas: int32(1, "How many pods should run.").min(0).pointer().default(1),
  selector: ref(
    2,
    LabelSelector,
    "Which pods belong to the deployment; must match the labels of the template and cannot change.",
  )
    .immutable()
    .required()
    .pointer(),
  template: ref(
    3,
    PodTemplateSpec,
    "The pod to run; changing it starts a rollout. Its restartPolicy can only be Always.",
  ).required(),
  strategy: ref(4, DeploymentStrategy, "How old pods give way to new ones.").patch("retainKeys").default({}),
  minReadySeconds: int32(5, "Seconds a new pod must stay ready before it counts as available.").min(0),
  revisionHistoryLimit: int32(6, "How many old ReplicaSets to keep for rolling back.").min(0).pointer().default(10),
  paused: bool(7, "While true, changes of the template do not start a rollout."),
  progressDeadlineSeconds: int32(9, "Seconds without progress after which a rollout is reported as failed.")
    .min(0)
    .pointer()
    .default(600),
});
export interface DeploymentSpec extends Infer<typeof DeploymentSpec> {}

export const DeploymentStatus = struct("apps/v1.DeploymentStatus", {
  observedGeneration: int64(1, "Generation of the spec that this status describes.").min(0),
  replicas: int32(2, "Pods that exist, old and new.").min(0),
  updatedReplicas: int32(3, "Pods made from the present template.").min(0),
  readyReplicas: int32(7, "Pods that are ready.").min(0),
  availableReplicas: int32(4, "Pods that have been ready for minReadySeconds.").min(0),
  unavailableReplicas: int32(5, "Pods that are still missing for the deployment to be fully available.").min(0),
  terminatingReplicas: int32(9, "Pods that are shutting down.").min(0).pointer(),
  conditions: list(6, DeploymentCondition, "How the rollout is doing.").keyedBy("type"),
  collisionCount: int32(8, "How often the name of a new ReplicaSet was taken already; part of the next name.")
    .min(0)
    .pointer(),
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
  doc: "Runs a number of identical pods and replaces them step by step when their template changes.",
  fields: {
    spec: ref(2, DeploymentSpec, "What is wanted.").default({}),
    status: ref(3, DeploymentStatus, "What is there.").default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
});
export interface Deployment extends Infer<typeof Deployment> {}
