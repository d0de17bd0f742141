import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label, pathSegment } from "#schema/formats.ts";
import {
  forbidden,
  type Infer,
  int32,
  int64,
  invalid,
  list,
  notSupported,
  type Problem,
  quantity,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { parseQuantity } from "#schema/quantity.ts";
import { containerResourceName } from "../../core/v1/checks/resources.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkMetric, checkObjectVersions, checkScaleTarget, checkTarget } from "./checks.ts";
import { formatTargets } from "./targets.ts";

export const MetricTarget = struct(
  "autoscaling/v2.MetricTarget",
  {
    type: string(1, "What the target is measured in: Utilization, Value or AverageValue.").required(),
    value: quantity(2, "The value the metric should have.").pointer(),
    averageValue: quantity(3, "The value the metric should have on average over all pods.").pointer(),
    averageUtilization: int32(4, "The share of their requests that pods should use on average, in percent.").pointer(),
  },
  {
    *check(target): Iterable<Problem> {
      yield* checkTarget(target);
    },
  },
);
export interface MetricTarget extends Infer<typeof MetricTarget> {}

export const ContainerResourceMetricSource = struct(
  "autoscaling/v2.ContainerResourceMetricSource",
  {
    name: string(1, "The resource, such as cpu.").required(),
    target: ref(2, MetricTarget, "What it should be.").required(),
    container: string(3, "The container of each pod to measure.").required(),
  },
  {
    problemOrder: "name container target",
    *check({ name, container }) {
      if (name === "") yield required("name", "must specify a resource name");
      else yield* containerResourceName("name", name);
      if (container === "") yield required("container", "must specify a container");
      else for (const detail of dns1123Label(container)) yield invalid("container", detail);
    },
  },
);
export interface ContainerResourceMetricSource extends Infer<typeof ContainerResourceMetricSource> {}

export const MetricValueStatus = struct("autoscaling/v2.MetricValueStatus", {
  value: quantity(1, "The value of the metric.").pointer(),
  averageValue: quantity(2, "The value on average over all pods.").pointer(),
  averageUtilization: int32(3, "The share of their requests that pods use on average, in percent.").pointer(),
});
export interface MetricValueStatus extends Infer<typeof MetricValueStatus> {}

export const ContainerResourceMetricStatus = struct("autoscaling/v2.ContainerResourceMetricStatus", {
  name: string(1, "The resource.").required(),
  current: ref(2, MetricValueStatus, "What it is.").required(),
  container: string(3, "The container of each pod that is measured.").required(),
});
export interface ContainerResourceMetricStatus extends Infer<typeof ContainerResourceMetricStatus> {}

export const CrossVersionObjectReference = struct("autoscaling/v2.CrossVersionObjectReference", {
  kind: string(1, "Kind of the object.").nonEmpty().is(pathSegment).required(),
  name: string(2, "Name of the object.").nonEmpty().is(pathSegment).required(),
  apiVersion: string(3, "Group and version of the object."),
});
export interface CrossVersionObjectReference extends Infer<typeof CrossVersionObjectReference> {}

export const MetricIdentifier = struct(
  "autoscaling/v2.MetricIdentifier",
  {
    name: string(1, "Name of the metric.").required(),
    selector: ref(2, LabelSelector, "Narrows the metric down by its labels.").unchecked(),
  },
  {
    *check({ name }) {
      if (name === "") yield required("name", "must specify a metric name");
      else for (const detail of pathSegment(name)) yield invalid("name", detail);
    },
  },
);
export interface MetricIdentifier extends Infer<typeof MetricIdentifier> {}

export const ExternalMetricSource = struct("autoscaling/v2.ExternalMetricSource", {
  metric: ref(1, MetricIdentifier, "Which metric.").required(),
  target: ref(2, MetricTarget, "What it should be.").required(),
});
export interface ExternalMetricSource extends Infer<typeof ExternalMetricSource> {}

export const ExternalMetricStatus = struct("autoscaling/v2.ExternalMetricStatus", {
  metric: ref(1, MetricIdentifier, "Which metric.").required(),
  current: ref(2, MetricValueStatus, "What it is.").required(),
});
export interface ExternalMetricStatus extends Infer<typeof ExternalMetricStatus> {}

export const HPAScalingPolicy = struct(
  "autoscaling/v2.HPAScalingPolicy",
  {
    type: string(1, "Whether value counts Pods or Percent of the present pods.")
      .oneOf("Percent", "Pods")
      .publishedAs()
      .required(),
    value: int32(2, "How many may be added or removed within the period.").required(),
    periodSeconds: int32(3, "The length of the period; at most half an hour.").required(),
  },
  {
    *check({ type, value, periodSeconds }) {
      if ((type as string) === "") yield notSupported("type", ["Percent", "Pods"]);
      if (value <= 0) yield invalid("value", "must be greater than zero");
      if (periodSeconds <= 0) yield invalid("periodSeconds", "must be greater than zero");
      if (periodSeconds > 1800) yield invalid("periodSeconds", "must be less than or equal to 1800");
    },
  },
);
export interface HPAScalingPolicy extends Infer<typeof HPAScalingPolicy> {}

export const HPAScalingRules = struct(
  "autoscaling/v2.HPAScalingRules",
  {
    stabilizationWindowSeconds: int32(
      3,
      "Seconds of the past whose advice is taken into account; at most an hour.",
    ).pointer(),
    selectPolicy: string(1, "Which policy decides: Max, Min, or Disabled to not scale this way.")
      .oneOf("Disabled", "Max", "Min")
      .publishedAs()
      .pointer(),
    policies: list(2, HPAScalingPolicy, "How fast the number of pods may change.").keepsEmpty(),
    tolerance: quantity(4, "The share by which a metric may miss its target before anything happens.").pointer(),
  },
  {
    problemOrder: "stabilizationWindowSeconds selectPolicy policies tolerance",
    *check({ stabilizationWindowSeconds: window = 0, policies = [], tolerance }) {
      if (window < 0) yield invalid("stabilizationWindowSeconds", "must be greater than or equal to zero");
      if (window > 3600) yield invalid("stabilizationWindowSeconds", "must be less than or equal to 3600");
      if (policies.length === 0) yield required("policies", "must specify at least one Policy");
      if (tolerance !== undefined && parseQuantity(tolerance).unscaled < 0n)
        yield invalid("tolerance", "must be greater than or equal to 0");
    },
  },
);
export interface HPAScalingRules extends Infer<typeof HPAScalingRules> {}

export const HorizontalPodAutoscalerBehavior = struct(
  "autoscaling/v2.HorizontalPodAutoscalerBehavior",
  {
    scaleUp: ref(1, HPAScalingRules, "How to add pods."),
    scaleDown: ref(2, HPAScalingRules, "How to remove pods."),
  },
  {
    complete(behavior) {
      behavior.scaleUp ??= {};
      behavior.scaleUp.stabilizationWindowSeconds ??= 0;
      behavior.scaleUp.selectPolicy ??= "Max";
      behavior.scaleUp.policies ??= [
        { type: "Pods", value: 4, periodSeconds: 15 },
        { type: "Percent", value: 100, periodSeconds: 15 },
      ];
      behavior.scaleDown ??= {};
      behavior.scaleDown.selectPolicy ??= "Max";
      behavior.scaleDown.policies ??= [{ type: "Percent", value: 100, periodSeconds: 15 }];
    },
  },
);
export interface HorizontalPodAutoscalerBehavior extends Infer<typeof HorizontalPodAutoscalerBehavior> {}

export const HorizontalPodAutoscalerCondition = struct("autoscaling/v2.HorizontalPodAutoscalerCondition", {
  type: string(1, "What the condition is about: AbleToScale, ScalingActive or ScalingLimited.").required(),
  status: string(2, "True, False or Unknown.").required(),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface HorizontalPodAutoscalerCondition extends Infer<typeof HorizontalPodAutoscalerCondition> {}

export const ObjectMetricSource = struct(
  "autoscaling/v2.ObjectMetricSource",
  {
    describedObject: ref(1, CrossVersionObjectReference, "The object that the metric is about.").required(),
    target: ref(2, MetricTarget, "What it should be.").required(),
    metric: ref(3, MetricIdentifier, "Which metric.").required(),
  },
  { problemOrder: "describedObject metric target" },
);
export interface ObjectMetricSource extends Infer<typeof ObjectMetricSource> {}

export const PodsMetricSource = struct("autoscaling/v2.PodsMetricSource", {
  metric: ref(1, MetricIdentifier, "Which metric.").required(),
  target: ref(2, MetricTarget, "What it should be, on average over all pods.").required(),
});
export interface PodsMetricSource extends Infer<typeof PodsMetricSource> {}

export const ResourceMetricSource = struct("autoscaling/v2.ResourceMetricSource", {
  name: string(1, "The resource, such as cpu.").required().nonEmpty("must specify a resource name"),
  target: ref(2, MetricTarget, "What it should be.").required(),
});
export interface ResourceMetricSource extends Infer<typeof ResourceMetricSource> {}

export const MetricSpec = struct(
  "autoscaling/v2.MetricSpec",
  {
    type: string(1, "Which of the fields below is set.").required(),
    object: ref(2, ObjectMetricSource, "A metric of one other object, such as the requests an Ingress gets."),
    pods: ref(3, PodsMetricSource, "A metric of each pod, averaged."),
    resource: ref(4, ResourceMetricSource, "The use of a resource by the pods, as their requests have it."),
    containerResource: ref(7, ContainerResourceMetricSource, "The use of a resource by one container of each pod."),
    external: ref(5, ExternalMetricSource, "A metric of something outside the cluster."),
  },
  {
    *check(metric): Iterable<Problem> {
      yield* checkMetric(metric);
    },
  },
);
export interface MetricSpec extends Infer<typeof MetricSpec> {}

export const HorizontalPodAutoscalerSpec = struct(
  "autoscaling/v2.HorizontalPodAutoscalerSpec",
  {
    scaleTargetRef: ref(1, CrossVersionObjectReference, "What to scale.").required(),
    minReplicas: int32(2, "The fewest pods to run.").pointer().default(1),
    maxReplicas: int32(3, "The most pods to run.").required(),
    metrics: list(4, MetricSpec, "What the number of pods follows; the metric that asks for most pods decides."),
    behavior: ref(5, HorizontalPodAutoscalerBehavior, "How fast pods are added and removed."),
  },
  {
    complete(spec) {
      if ((spec.metrics ?? []).length === 0)
        spec.metrics = [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
        ];
    },
    problemOrder: "minReplicas maxReplicas scaleTargetRef metrics behavior",
    *check(spec, old): Iterable<Problem> {
      const { minReplicas, maxReplicas, metrics = [] } = spec;
      const least = old?.minReplicas === 0 ? 0 : 1;
      if (minReplicas < least) yield invalid("minReplicas", `must be greater than or equal to ${least}`);
      if (maxReplicas === 0) yield required("maxReplicas", "must be set and greater than 0");
      else if (maxReplicas < 0) yield invalid("maxReplicas", "must be greater than or equal to 1");
      if (maxReplicas < minReplicas) yield invalid("maxReplicas", "must be greater than or equal to `minReplicas`");
      yield* checkScaleTarget(spec, old?.scaleTargetRef);
      yield* checkObjectVersions(spec, old);
      if (minReplicas === 0 && !metrics.some(({ type }) => type === "Object" || type === "External"))
        yield forbidden(
          "metrics",
          "must specify at least one Object or External metric to support scaling to zero replicas",
        );
    },
  },
);
export interface HorizontalPodAutoscalerSpec extends Infer<typeof HorizontalPodAutoscalerSpec> {}

export const ObjectMetricStatus = struct("autoscaling/v2.ObjectMetricStatus", {
  metric: ref(1, MetricIdentifier, "Which metric.").required(),
  current: ref(2, MetricValueStatus, "What it is.").required(),
  describedObject: ref(3, CrossVersionObjectReference, "The object that the metric is about.").required(),
});
export interface ObjectMetricStatus extends Infer<typeof ObjectMetricStatus> {}

export const PodsMetricStatus = struct("autoscaling/v2.PodsMetricStatus", {
  metric: ref(1, MetricIdentifier, "Which metric.").required(),
  current: ref(2, MetricValueStatus, "What it is.").required(),
});
export interface PodsMetricStatus extends Infer<typeof PodsMetricStatus> {}

export const ResourceMetricStatus = struct("autoscaling/v2.ResourceMetricStatus", {
  name: string(1, "The resource.").required(),
  current: ref(2, MetricValueStatus, "What it is.").required(),
});
export interface ResourceMetricStatus extends Infer<typeof ResourceMetricStatus> {}

export const MetricStatus = struct("autoscaling/v2.MetricStatus", {
  type: string(1, "Which of the fields below is set.").required(),
  object: ref(2, ObjectMetricStatus, "A metric of one other object."),
  pods: ref(3, PodsMetricStatus, "A metric of each pod, averaged."),
  resource: ref(4, ResourceMetricStatus, "The use of a resource by the pods."),
  containerResource: ref(7, ContainerResourceMetricStatus, "The use of a resource by one container of each pod."),
  external: ref(5, ExternalMetricStatus, "A metric of something outside the cluster."),
});
export interface MetricStatus extends Infer<typeof MetricStatus> {}

export const HorizontalPodAutoscalerStatus = struct("autoscaling/v2.HorizontalPodAutoscalerStatus", {
  observedGeneration: int64(1, "Generation of the spec that this status describes.").pointer(),
  lastScaleTime: time(2, "When the number of pods was last changed.").pointer(),
  currentReplicas: int32(3, "Pods that exist.").min(0),
  desiredReplicas: int32(4, "Pods that should exist.").min(0).required(),
  currentMetrics: list(5, MetricStatus, "The metrics as last read.").unchecked().always(),
  conditions: list(6, HorizontalPodAutoscalerCondition, "Whether scaling works, and what limits it.").keyedBy("type"),
});
export interface HorizontalPodAutoscalerStatus extends Infer<typeof HorizontalPodAutoscalerStatus> {}

export const HorizontalPodAutoscaler = resource({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  shortNames: ["hpa"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "Changes the number of pods of a Deployment or the like, so that metrics stay at their targets.",
  fields: {
    spec: ref(2, HorizontalPodAutoscalerSpec, "What is wanted.").required(),
    status: ref(3, HorizontalPodAutoscalerStatus, "What is there.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    {
      name: "Reference",
      doc: "What is scaled.",
      cell: ({ spec: { scaleTargetRef } }) => `${scaleTargetRef.kind}/${scaleTargetRef.name}`,
    },
    {
      name: "Targets",
      doc: "Each metric as it is and as it should be.",
      cell: ({ spec, status }) => formatTargets(spec.metrics, status.currentMetrics),
    },
    { name: "MinPods", doc: "The fewest pods to run.", cell: ({ spec }) => String(spec.minReplicas) },
    { name: "MaxPods", doc: "The most pods to run.", cell: ({ spec }) => spec.maxReplicas },
    { name: "Replicas", doc: "Pods that exist.", cell: ({ status }) => status.currentReplicas ?? 0 },
    ageColumn,
  ],
});
export interface HorizontalPodAutoscaler extends Infer<typeof HorizontalPodAutoscaler> {}
