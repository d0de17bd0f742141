import { type Infer, int32, int64, list, quantity, ref, resource, string, struct, time } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const MetricTarget = struct("autoscaling/v2.MetricTarget", {
  type: string(1).required(),
  value: quantity(2).pointer(),
  averageValue: quantity(3).pointer(),
  averageUtilization: int32(4).pointer(),
});
export interface MetricTarget extends Infer<typeof MetricTarget> {}

export const ContainerResourceMetricSource = struct("autoscaling/v2.ContainerResourceMetricSource", {
  name: string(1).required(),
  target: ref(2, MetricTarget).required(),
  container: string(3).required(),
});
export interface ContainerResourceMetricSource extends Infer<typeof ContainerResourceMetricSource> {}

export const MetricValueStatus = struct("autoscaling/v2.MetricValueStatus", {
  value: quantity(1).pointer(),
  averageValue: quantity(2).pointer(),
  averageUtilization: int32(3).pointer(),
});
export interface MetricValueStatus extends Infer<typeof MetricValueStatus> {}

export const ContainerResourceMetricStatus = struct("autoscaling/v2.ContainerResourceMetricStatus", {
  name: string(1).required(),
  current: ref(2, MetricValueStatus).required(),
  container: string(3).required(),
});
export interface ContainerResourceMetricStatus extends Infer<typeof ContainerResourceMetricStatus> {}

export const CrossVersionObjectReference = struct("autoscaling/v2.CrossVersionObjectReference", {
  kind: string(1).required(),
  name: string(2).required(),
  apiVersion: string(3),
});
export interface CrossVersionObjectReference extends Infer<typeof CrossVersionObjectReference> {}

export const MetricIdentifier = struct("autoscaling/v2.MetricIdentifier", {
  name: string(1).required(),
  selector: ref(2, LabelSelector),
});
export interface MetricIdentifier extends Infer<typeof MetricIdentifier> {}

export const ExternalMetricSource = struct("autoscaling/v2.ExternalMetricSource", {
  metric: ref(1, MetricIdentifier).required(),
  target: ref(2, MetricTarget).required(),
});
export interface ExternalMetricSource extends Infer<typeof ExternalMetricSource> {}

export const ExternalMetricStatus = struct("autoscaling/v2.ExternalMetricStatus", {
  metric: ref(1, MetricIdentifier).required(),
  current: ref(2, MetricValueStatus).required(),
});
export interface ExternalMetricStatus extends Infer<typeof ExternalMetricStatus> {}

export const HPAScalingPolicy = struct("autoscaling/v2.HPAScalingPolicy", {
  type: string(1).required(),
  value: int32(2).required(),
  periodSeconds: int32(3).required(),
});
export interface HPAScalingPolicy extends Infer<typeof HPAScalingPolicy> {}

export const HPAScalingRules = struct("autoscaling/v2.HPAScalingRules", {
  stabilizationWindowSeconds: int32(3).pointer(),
  selectPolicy: string(1).pointer(),
  policies: list(2, HPAScalingPolicy),
  tolerance: quantity(4).pointer(),
});
export interface HPAScalingRules extends Infer<typeof HPAScalingRules> {}

export const HorizontalPodAutoscalerBehavior = struct("autoscaling/v2.HorizontalPodAutoscalerBehavior", {
  scaleUp: ref(1, HPAScalingRules),
  scaleDown: ref(2, HPAScalingRules),
});
export interface HorizontalPodAutoscalerBehavior extends Infer<typeof HorizontalPodAutoscalerBehavior> {}

export const HorizontalPodAutoscalerCondition = struct("autoscaling/v2.HorizontalPodAutoscalerCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface HorizontalPodAutoscalerCondition extends Infer<typeof HorizontalPodAutoscalerCondition> {}

export const ObjectMetricSource = struct("autoscaling/v2.ObjectMetricSource", {
  describedObject: ref(1, CrossVersionObjectReference).required(),
  target: ref(2, MetricTarget).required(),
  metric: ref(3, MetricIdentifier).required(),
});
export interface ObjectMetricSource extends Infer<typeof ObjectMetricSource> {}

export const PodsMetricSource = struct("autoscaling/v2.PodsMetricSource", {
  metric: ref(1, MetricIdentifier).required(),
  target: ref(2, MetricTarget).required(),
});
export interface PodsMetricSource extends Infer<typeof PodsMetricSource> {}

export const ResourceMetricSource = struct("autoscaling/v2.ResourceMetricSource", {
  name: string(1).required(),
  target: ref(2, MetricTarget).required(),
});
export interface ResourceMetricSource extends Infer<typeof ResourceMetricSource> {}

export const MetricSpec = struct("autoscaling/v2.MetricSpec", {
  type: string(1).required(),
  object: ref(2, ObjectMetricSource),
  pods: ref(3, PodsMetricSource),
  resource: ref(4, ResourceMetricSource),
  containerResource: ref(7, ContainerResourceMetricSource),
  external: ref(5, ExternalMetricSource),
});
export interface MetricSpec extends Infer<typeof MetricSpec> {}

export const HorizontalPodAutoscalerSpec = struct("autoscaling/v2.HorizontalPodAutoscalerSpec", {
  scaleTargetRef: ref(1, CrossVersionObjectReference).required(),
  minReplicas: int32(2).pointer().default(1),
  maxReplicas: int32(3).required(),
  metrics: list(4, MetricSpec),
  behavior: ref(5, HorizontalPodAutoscalerBehavior),
});
export interface HorizontalPodAutoscalerSpec extends Infer<typeof HorizontalPodAutoscalerSpec> {}

export const ObjectMetricStatus = struct("autoscaling/v2.ObjectMetricStatus", {
  metric: ref(1, MetricIdentifier).required(),
  current: ref(2, MetricValueStatus).required(),
  describedObject: ref(3, CrossVersionObjectReference).required(),
});
export interface ObjectMetricStatus extends Infer<typeof ObjectMetricStatus> {}

export const PodsMetricStatus = struct("autoscaling/v2.PodsMetricStatus", {
  metric: ref(1, MetricIdentifier).required(),
  current: ref(2, MetricValueStatus).required(),
});
export interface PodsMetricStatus extends Infer<typeof PodsMetricStatus> {}

export const ResourceMetricStatus = struct("autoscaling/v2.ResourceMetricStatus", {
  name: string(1).required(),
  current: ref(2, MetricValueStatus).required(),
});
export interface ResourceMetricStatus extends Infer<typeof ResourceMetricStatus> {}

export const MetricStatus = struct("autoscaling/v2.MetricStatus", {
  type: string(1).required(),
  object: ref(2, ObjectMetricStatus),
  pods: ref(3, PodsMetricStatus),
  resource: ref(4, ResourceMetricStatus),
  containerResource: ref(7, ContainerResourceMetricStatus),
  external: ref(5, ExternalMetricStatus),
});
export interface MetricStatus extends Infer<typeof MetricStatus> {}

export const HorizontalPodAutoscalerStatus = struct("autoscaling/v2.HorizontalPodAutoscalerStatus", {
  observedGeneration: int64(1).pointer(),
  lastScaleTime: time(2).pointer(),
  currentReplicas: int32(3),
  desiredReplicas: int32(4).required(),
  currentMetrics: list(5, MetricStatus).always(),
  conditions: list(6, HorizontalPodAutoscalerCondition).keyedBy("type"),
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
  doc: "",
  fields: {
    spec: ref(2, HorizontalPodAutoscalerSpec).required(),
    status: ref(3, HorizontalPodAutoscalerStatus).default({}),
  },
  subresources: { status: true },
});
export interface HorizontalPodAutoscaler extends Infer<typeof HorizontalPodAutoscaler> {}
