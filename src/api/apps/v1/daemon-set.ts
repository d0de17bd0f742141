import { ageColumn, nameColumn } from "#schema/columns.ts";
import {
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
import { formatLabels, isEmptySelector, isValidSelector, selects } from "../../label-selection.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import {
  checkAtMost100Percent,
  checkCollisionCount,
  checkCountOrPercent,
  checkRunsForever,
  isNone,
  unselected,
} from "./checks.ts";
import { containerColumns, selectorColumn } from "./columns.ts";

export const DaemonSetCondition = struct("apps/v1.DaemonSetCondition", {
  type: string(1, "What the condition is about.").required(),
  status: string(2, "True, False or Unknown.").required(),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface DaemonSetCondition extends Infer<typeof DaemonSetCondition> {}

export const RollingUpdateDaemonSet = struct("apps/v1.RollingUpdateDaemonSet", {
  maxUnavailable: intOrString(
    1,
    "How many nodes may be without a working pod during the update, as a number or a percentage.",
  ).pointer(),
  maxSurge: intOrString(
    2,
    "How many nodes may run an old and a new pod at once during the update, as a number or a percentage.",
  ).pointer(),
});
export interface RollingUpdateDaemonSet extends Infer<typeof RollingUpdateDaemonSet> {}

function* checkRolling({ maxUnavailable, maxSurge }: RollingUpdateDaemonSet): Iterable<Problem> {
  yield* checkCountOrPercent("rollingUpdate.maxUnavailable", maxUnavailable);
  yield* checkCountOrPercent("rollingUpdate.maxSurge", maxSurge);
  yield* checkAtMost100Percent("rollingUpdate.maxUnavailable", maxUnavailable);
  yield* checkAtMost100Percent("rollingUpdate.maxSurge", maxSurge);
  if (!isNone(maxUnavailable) && !isNone(maxSurge))
    yield invalid("rollingUpdate.maxSurge", "may not be set when maxUnavailable is non-zero");
  if (isNone(maxUnavailable) && isNone(maxSurge))
    yield required("rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0");
}

export const DaemonSetUpdateStrategy = struct(
  "apps/v1.DaemonSetUpdateStrategy",
  {
    type: string(1, "Replace pods a few at a time (RollingUpdate), or only as somebody deletes them (OnDelete).")
      .known("OnDelete", "RollingUpdate")
      .default("RollingUpdate"),
    rollingUpdate: ref(2, RollingUpdateDaemonSet, "The pace of a rolling update."),
  },
  {
    complete(strategy) {
      if (strategy.type !== "RollingUpdate") return;
      strategy.rollingUpdate ??= {};
      strategy.rollingUpdate.maxUnavailable ??= 1;
      strategy.rollingUpdate.maxSurge ??= 0;
    },
    *check({ type, rollingUpdate }) {
      if (type !== "OnDelete" && type !== "RollingUpdate") yield notSupported("", ["RollingUpdate", "OnDelete"]);
      else if (type === "RollingUpdate" && !rollingUpdate) yield required("rollingUpdate");
      else if (type === "RollingUpdate" && rollingUpdate) yield* checkRolling(rollingUpdate);
    },
  },
);
export interface DaemonSetUpdateStrategy extends Infer<typeof DaemonSetUpdateStrategy> {}

export const DaemonSetSpec = struct(
  "apps/v1.DaemonSetSpec",
  {
    selector: ref(
      1,
      LabelSelector,
      "Which pods belong to the set; must match the labels of the template and cannot change.",
    )
      .immutable()
      .required()
      .mayBeMissing()
      .pointer(),
    template: ref(
      2,
      PodTemplateSpec,
      "The pod to run on every node that it fits. Its restartPolicy can only be Always.",
    ).required(),
    updateStrategy: ref(3, DaemonSetUpdateStrategy, "How old pods give way to new ones.").default({}),
    minReadySeconds: int32(4, "Seconds a new pod must stay ready before it counts as available.").min(0),
    revisionHistoryLimit: int32(6, "How many old revisions to keep for rolling back.").min(0).pointer().default(10),
  },
  {
    problemOrder: "selector template.metadata.labels template minReadySeconds updateStrategy revisionHistoryLimit",
    *check(spec) {
      const { selector, template } = spec;
      if (isValidSelector(selector) && !selects(selector, template.metadata.labels)) yield unselected;
      if (selector && isEmptySelector(selector)) yield invalid("selector", "empty selector is invalid for daemonset");
      yield* checkRunsForever(spec, "DaemonSet");
    },
  },
);
export interface DaemonSetSpec extends Infer<typeof DaemonSetSpec> {}

export const DaemonSetStatus = struct("apps/v1.DaemonSetStatus", {
  currentNumberScheduled: int32(1, "Nodes that run the pod and should.").min(0).required(),
  numberMisscheduled: int32(2, "Nodes that run the pod and should not.").min(0).required(),
  desiredNumberScheduled: int32(3, "Nodes that should run the pod.").min(0).required(),
  numberReady: int32(4, "Nodes on which the pod is ready.").min(0).required(),
  observedGeneration: int64(5, "Generation of the spec that this status describes.").min(0),
  updatedNumberScheduled: int32(6, "Nodes that run the pod of the present template.").min(0),
  numberAvailable: int32(7, "Nodes on which the pod has been ready for minReadySeconds.").min(0),
  numberUnavailable: int32(8, "Nodes that should run the pod and have none available.").min(0),
  collisionCount: int32(9, "How often the name of a new revision was taken already; part of the next name.")
    .min(0)
    .pointer(),
  conditions: list(10, DaemonSetCondition, "What the controller has to report.").keyedBy("type"),
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
  doc: "Runs one copy of a pod on every node, or on every node that its template selects.",
  fields: {
    spec: ref(2, DaemonSetSpec, "What is wanted.").default({}),
    status: ref(3, DaemonSetStatus, "What is there.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    {
      name: "Desired",
      type: "integer",
      doc: "Nodes that should run the pod.",
      cell: ({ status }) => status.desiredNumberScheduled,
    },
    {
      name: "Current",
      type: "integer",
      doc: "Nodes that run the pod and should.",
      cell: ({ status }) => status.currentNumberScheduled,
    },
    {
      name: "Ready",
      type: "integer",
      doc: "Nodes on which the pod is ready.",
      cell: ({ status }) => status.numberReady,
    },
    {
      name: "Up-to-date",
      type: "integer",
      doc: "Nodes that run the present template.",
      cell: ({ status }) => status.updatedNumberScheduled,
    },
    {
      name: "Available",
      type: "integer",
      doc: "Nodes on which the pod is available.",
      cell: ({ status }) => status.numberAvailable,
    },
    {
      name: "Node Selector",
      doc: "Which nodes the template asks for.",
      cell: ({ spec }) => formatLabels(spec.template.spec.nodeSelector),
    },
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  *checkStatus({ status }, old) {
    yield* checkCollisionCount(status, old.status);
  },
});
export interface DaemonSet extends Infer<typeof DaemonSet> {}
