import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, int32, int64, invalid, list, ref, resource, string, struct, time } from "#schema/index.ts";
import { PodTemplateSpec } from "../../core/v1/pod-spec.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkAtMostReplicas, checkRunsForever, checkSelector } from "./checks.ts";
import { containerColumns, selectorColumn } from "./columns.ts";

export const ReplicaSetCondition = struct("apps/v1.ReplicaSetCondition", {
  type: string(1, "What the condition is about, such as ReplicaFailure.").required(),
  status: string(2, "True, False or Unknown.").required(),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface ReplicaSetCondition extends Infer<typeof ReplicaSetCondition> {}

export const ReplicaSetSpec = struct(
  "apps/v1.ReplicaSetSpec",
  {
    replicas: int32(1, "How many pods should run.").min(0).pointer().default(1),
    minReadySeconds: int32(4, "Seconds a new pod must stay ready before it counts as available.").min(0),
    selector: ref(
      2,
      LabelSelector,
      "Which pods belong to the set; must match the labels of the template and cannot change.",
    )
      .immutable("last")
      .required()
      .pointer(),
    template: ref(3, PodTemplateSpec, "The pod to create when one is missing.").default({}),
  },
  {
    problemOrder: "replicas minReadySeconds selector template.metadata.labels template",
    *check(spec) {
      yield* checkSelector(spec, "deployment", "invalid label selector");
      yield* checkRunsForever(spec, "ReplicaSet");
    },
  },
);
export interface ReplicaSetSpec extends Infer<typeof ReplicaSetSpec> {}

export const ReplicaSetStatus = struct("apps/v1.ReplicaSetStatus", {
  replicas: int32(1, "Pods that exist.").min(0).required(),
  fullyLabeledReplicas: int32(2, "Pods that carry all labels of the template.").min(0),
  readyReplicas: int32(4, "Pods that are ready.").min(0),
  availableReplicas: int32(5, "Pods that have been ready for minReadySeconds.").min(0),
  terminatingReplicas: int32(7, "Pods that are shutting down.").min(0).pointer(),
  observedGeneration: int64(3, "Generation of the spec that this status describes.").min(0),
  conditions: list(6, ReplicaSetCondition, "What the controller has to report.").keyedBy("type"),
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
  doc: "Keeps a number of identical pods running. Deployments make these; few people write one by hand.",
  fields: {
    spec: ref(2, ReplicaSetSpec, "What is wanted.").default({}),
    status: ref(3, ReplicaSetStatus, "What is there.").default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
  columns: [
    nameColumn,
    { name: "Desired", type: "integer", doc: "Pods that should run.", cell: ({ spec }) => spec.replicas },
    { name: "Current", type: "integer", doc: "Pods that exist.", cell: ({ status }) => status.replicas },
    { name: "Ready", type: "integer", doc: "Pods that are ready.", cell: ({ status }) => status.readyReplicas },
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  *checkStatus({ status }) {
    yield* checkAtMostReplicas(status, "fullyLabeledReplicas", "readyReplicas", "availableReplicas");
    if ((status.availableReplicas ?? 0) > (status.readyReplicas ?? 0))
      yield invalid("status.availableReplicas", "cannot be greater than readyReplicas");
  },
});
export interface ReplicaSet extends Infer<typeof ReplicaSet> {}
