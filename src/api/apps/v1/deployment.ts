import { ageColumn, nameColumn } from "#schema/columns.ts";
import {
  bool,
  forbidden,
  type Infer,
  int32,
  int64,
  intOrString,
  invalid,
  list,
  notSupported,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { selectorText } from "../../label-selection.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import {
  checkAtMost100Percent,
  checkAtMostReplicas,
  checkCollisionCount,
  checkCountOrPercent,
  checkRunsForever,
  checkSelector,
  isNone,
} from "./checks.ts";
import { containerColumns } from "./columns.ts";

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

function* checkRolling({ maxUnavailable, maxSurge }: RollingUpdateDeployment): Iterable<Problem> {
  yield* checkCountOrPercent("rollingUpdate.maxUnavailable", maxUnavailable);
  yield* checkCountOrPercent("rollingUpdate.maxSurge", maxSurge);
  if (isNone(maxUnavailable) && isNone(maxSurge))
    yield invalid("rollingUpdate.maxUnavailable", "may not be 0 when `maxSurge` is 0", maxUnavailable ?? 0);
  yield* checkAtMost100Percent("rollingUpdate.maxUnavailable", maxUnavailable);
}

export const DeploymentStrategy = struct(
  "apps/v1.DeploymentStrategy",
  {
    type: string(
      1,
      "Replace pods a few at a time (RollingUpdate), or all at once after the old ones are gone (Recreate).",
    )
      .known("Recreate", "RollingUpdate")
      .default("RollingUpdate"),
    rollingUpdate: ref(2, RollingUpdateDeployment, "The pace of a rolling update."),
  },
  {
    complete(strategy) {
      if (strategy.type !== "RollingUpdate") return;
      strategy.rollingUpdate ??= {};
      strategy.rollingUpdate.maxUnavailable ??= "25%";
      strategy.rollingUpdate.maxSurge ??= "25%";
    },
    *check({ type, rollingUpdate }) {
      if (type === "Recreate") {
        if (rollingUpdate) yield forbidden("rollingUpdate", "may not be specified when strategy `type` is 'Recreate'");
      } else if (type !== "RollingUpdate") yield notSupported("", ["Recreate", "RollingUpdate"]);
      else if (!rollingUpdate) yield required("rollingUpdate", "this should be defaulted and never be nil");
      else yield* checkRolling(rollingUpdate);
    },
  },
);
export interface DeploymentStrategy extends Infer<typeof DeploymentStrategy> {}

export const DeploymentSpec = struct(
  "apps/v1.DeploymentSpec",
  {
    replicas: int32(1, "How many pods should run.").min(0).pointer().default(1),
    selector: ref(
      2,
      LabelSelector,
      "Which pods belong to the deployment; must match the labels of the template and cannot change.",
    )
      .immutable("last")
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
  },
  {
    problemOrder:
      "replicas selector template.metadata.labels template strategy minReadySeconds revisionHistoryLimit progressDeadlineSeconds",
    *check(spec) {
      yield* checkSelector(spec, "deployment", "invalid label selector");
      yield* checkRunsForever(spec, "ReplicaSet");
      if (spec.progressDeadlineSeconds <= (spec.minReadySeconds ?? 0))
        yield invalid("progressDeadlineSeconds", "must be greater than minReadySeconds");
    },
  },
);
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
  columns: [
    nameColumn,
    {
      name: "Ready",
      doc: "Pods that are ready, of those that should run.",
      cell: ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas}`,
    },
    {
      name: "Up-to-date",
      doc: "Pods made from the present template.",
      cell: ({ status }) => status.updatedReplicas ?? 0,
    },
    {
      name: "Available",
      doc: "Pods that have been ready for long enough.",
      cell: ({ status }) => status.availableReplicas ?? 0,
    },
    ageColumn,
    ...containerColumns,
    {
      name: "Selector",
      doc: "Which pods belong to it.",
      wide: true,
      cell: ({ spec }) => selectorText(spec.selector) ?? "<invalid>",
    },
  ],
  *checkStatus({ status }, old) {
    yield* checkAtMostReplicas(status, "updatedReplicas", "readyReplicas", "availableReplicas");
    if ((status.availableReplicas ?? 0) > (status.readyReplicas ?? 0))
      yield invalid("status.availableReplicas", "cannot be greater than readyReplicas");
    yield* checkCollisionCount(status, old.status);
  },
});
export interface Deployment extends Infer<typeof Deployment> {}
