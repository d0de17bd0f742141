// Metrics in the form that autoscaling/v1 keeps in annotations, where all but the CPU target has to go.
import { type Infer, int32, list, quantity, ref, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { CrossVersionObjectReference } from "./reference.ts";

const ObjectMetricSource = struct("autoscaling/v1.ObjectMetricSource", {
  target: ref(1, CrossVersionObjectReference).required(),
  metricName: string(2).required(),
  targetValue: quantity(3).required(),
  selector: ref(4, LabelSelector),
  averageValue: quantity(5).pointer(),
});

const PodsMetricSource = struct("autoscaling/v1.PodsMetricSource", {
  metricName: string(1).required(),
  targetAverageValue: quantity(2).required(),
  selector: ref(3, LabelSelector),
});

const ResourceMetricSource = struct("autoscaling/v1.ResourceMetricSource", {
  name: string(1).required(),
  targetAverageUtilization: int32(2).pointer(),
  targetAverageValue: quantity(3).pointer(),
});

const ContainerResourceMetricSource = struct("autoscaling/v1.ContainerResourceMetricSource", {
  name: string(1).required(),
  targetAverageUtilization: int32(2).pointer(),
  targetAverageValue: quantity(3).pointer(),
  container: string(5).required(),
});

const ExternalMetricSource = struct("autoscaling/v1.ExternalMetricSource", {
  metricName: string(1).required(),
  metricSelector: ref(2, LabelSelector),
  targetValue: quantity(3).pointer(),
  targetAverageValue: quantity(4).pointer(),
});

export const MetricSpec = struct("autoscaling/v1.MetricSpec", {
  type: string(1).required(),
  object: ref(2, ObjectMetricSource),
  pods: ref(3, PodsMetricSource),
  resource: ref(4, ResourceMetricSource),
  containerResource: ref(7, ContainerResourceMetricSource),
  external: ref(5, ExternalMetricSource),
});
export interface MetricSpec extends Infer<typeof MetricSpec> {}

const ObjectMetricStatus = struct("autoscaling/v1.ObjectMetricStatus", {
  target: ref(1, CrossVersionObjectReference).required(),
  metricName: string(2).required(),
  currentValue: quantity(3).required(),
  selector: ref(4, LabelSelector),
  averageValue: quantity(5).pointer(),
});

const PodsMetricStatus = struct("autoscaling/v1.PodsMetricStatus", {
  metricName: string(1).required(),
  currentAverageValue: quantity(2).required(),
  selector: ref(3, LabelSelector),
});

const ResourceMetricStatus = struct("autoscaling/v1.ResourceMetricStatus", {
  name: string(1).required(),
  currentAverageUtilization: int32(2).pointer(),
  currentAverageValue: quantity(3).required(),
});

const ContainerResourceMetricStatus = struct("autoscaling/v1.ContainerResourceMetricStatus", {
  name: string(1).required(),
  currentAverageUtilization: int32(2).pointer(),
  currentAverageValue: quantity(3).required(),
  container: string(4).required(),
});

const ExternalMetricStatus = struct("autoscaling/v1.ExternalMetricStatus", {
  metricName: string(1).required(),
  metricSelector: ref(2, LabelSelector),
  currentValue: quantity(3).required(),
  currentAverageValue: quantity(4).pointer(),
});

export const MetricStatus = struct("autoscaling/v1.MetricStatus", {
  type: string(1).required(),
  object: ref(2, ObjectMetricStatus),
  pods: ref(3, PodsMetricStatus),
  resource: ref(4, ResourceMetricStatus),
  containerResource: ref(7, ContainerResourceMetricStatus),
  external: ref(5, ExternalMetricStatus),
});
export interface MetricStatus extends Infer<typeof MetricStatus> {}

/** Annotations hold bare lists; a list is decoded as the field of something. */
export const MetricSpecs = struct("autoscaling/v1.MetricSpecs", { items: list(1, MetricSpec) });
export const MetricStatuses = struct("autoscaling/v1.MetricStatuses", { items: list(1, MetricStatus) });
