import { ageColumn, nameColumn } from "#schema/columns.ts";
import { longName } from "#schema/formats.ts";
import {
  type Infer,
  int32,
  int64,
  list,
  map,
  type Problem,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { formatLabels } from "../../label-selection.ts";
import { checkReplicationController, checkReplicationStatus } from "./checks/replication-controller.ts";
import { PodTemplateSpec } from "./pod-spec.ts";

export const ReplicationControllerCondition = struct(
  "core/v1.ReplicationControllerCondition",
  {
    type: string(1, "What it is about, such as ReplicaFailure.").required(),
    status: string(2, "Whether it holds: True, False or Unknown.").required(),
    lastTransitionTime: time(3, "When the status last changed."),
    reason: string(4, "Why, in one CamelCase word."),
    message: string(5, "Why, in words."),
  },
  { doc: "One thing that is known about a replication controller." },
);
export interface ReplicationControllerCondition extends Infer<typeof ReplicationControllerCondition> {}

export const ReplicationControllerSpec = struct(
  "core/v1.ReplicationControllerSpec",
  {
    replicas: int32(1, "Number of pods that should run.").min(0).pointer().default(1),
    minReadySeconds: int32(4, "Seconds a pod must stay ready to count as available.").min(0),
    selector: map(2, "string", "Labels of the pods that belong here; those of the template when left out.").atomic(),
    template: ref(3, PodTemplateSpec, "The pod to create when one is missing."),
  },
  {
    doc: "What a replication controller should do.",
    problemOrder: "minReadySeconds selector replicas template.metadata.labels template",
    check: (spec): Iterable<Problem> => checkReplicationController(spec),
  },
);
export interface ReplicationControllerSpec extends Infer<typeof ReplicationControllerSpec> {}

export const ReplicationControllerStatus = struct(
  "core/v1.ReplicationControllerStatus",
  {
    replicas: int32(1, "Pods that exist.").min(0).required(),
    fullyLabeledReplicas: int32(2, "Pods that have all labels of the template.").min(0),
    readyReplicas: int32(4, "Pods that are ready.").min(0),
    availableReplicas: int32(5, "Pods that have been ready for minReadySeconds.").min(0),
    observedGeneration: int64(3, "Generation of the spec this status describes.").min(0),
    conditions: list(6, ReplicationControllerCondition, "What the controller has to report.").keyedBy("type"),
  },
  {
    doc: "What a replication controller has done.",
    check: (status): Iterable<Problem> => checkReplicationStatus(status),
  },
);
export interface ReplicationControllerStatus extends Infer<typeof ReplicationControllerStatus> {}

export const ReplicationController = resource({
  group: "",
  version: "v1",
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  shortNames: ["rc"],
  categories: ["all"],
  scope: "Namespaced",
  nameFormat: longName,
  doc: "Keeps a number of identical pods running. Deployments do this better.",
  fields: {
    spec: ref(2, ReplicationControllerSpec, "What is wanted.").default({}),
    status: ref(3, ReplicationControllerStatus, "What there is.").default({}),
  },
  subresources: {
    scale: { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" },
    status: true,
  },
  columns: [
    nameColumn,
    { name: "Desired", type: "integer", doc: "Pods that should run.", cell: ({ spec }) => spec.replicas },
    { name: "Current", type: "integer", doc: "Pods that exist.", cell: ({ status }) => status.replicas },
    { name: "Ready", type: "integer", doc: "Pods that are ready.", cell: ({ status }) => status.readyReplicas ?? 0 },
    ageColumn,
    {
      name: "Containers",
      wide: true,
      doc: "Names of the containers.",
      cell: ({ spec }) => (spec.template?.spec.containers ?? []).map(({ name }) => name).join(","),
    },
    {
      name: "Images",
      wide: true,
      doc: "Images of the containers.",
      cell: ({ spec }) => (spec.template?.spec.containers ?? []).map(({ image }) => image ?? "").join(","),
    },
    { name: "Selector", wide: true, doc: "Labels of its pods.", cell: ({ spec }) => formatLabels(spec.selector) },
  ],
  selectableFields: { "status.replicas": ({ status }) => String(status.replicas) },
  complete({ metadata, spec }): void {
    const labels = spec.template?.metadata?.labels;
    if (!labels) return;
    if (!Object.keys(spec.selector ?? {}).length) spec.selector = { ...labels };
    if (!Object.keys(metadata.labels ?? {}).length) metadata.labels = { ...labels };
  },
});
export interface ReplicationController extends Infer<typeof ReplicationController> {}
