import { applyDefaults } from "#schema/defaults.ts";
import { type Infer, int32, int64, type ObjectMeta, ref, resource, struct, time } from "#schema/index.ts";
import { HorizontalPodAutoscaler as HorizontalPodAutoscalerV2 } from "../v2/horizontal-pod-autoscaler.ts";
import { compact, fromAnnotations, isCpuUtilization, orNone, toAnnotations, withoutRoundTrip } from "./conversion.ts";
import { CrossVersionObjectReference } from "./reference.ts";

type Json = Readonly<Record<string, unknown>>;

export const HorizontalPodAutoscalerSpec = struct("autoscaling/v1.HorizontalPodAutoscalerSpec", {
  scaleTargetRef: ref(1, CrossVersionObjectReference, "What to scale.").required(),
  minReplicas: int32(2, "The fewest pods to run.").pointer().default(1),
  maxReplicas: int32(3, "The most pods to run.").required(),
  targetCPUUtilizationPercentage: int32(
    4,
    "The share of their CPU requests that pods should use on average.",
  ).pointer(),
});
export interface HorizontalPodAutoscalerSpec extends Infer<typeof HorizontalPodAutoscalerSpec> {}

export const HorizontalPodAutoscalerStatus = struct("autoscaling/v1.HorizontalPodAutoscalerStatus", {
  observedGeneration: int64(1, "Generation of the spec that this status describes.").pointer(),
  lastScaleTime: time(2, "When the number of pods was last changed.").pointer(),
  currentReplicas: int32(3, "Pods that exist.").required(),
  desiredReplicas: int32(4, "Pods that should exist.").required(),
  currentCPUUtilizationPercentage: int32(5, "The share of their CPU requests that pods use on average.").pointer(),
});
export interface HorizontalPodAutoscalerStatus extends Infer<typeof HorizontalPodAutoscalerStatus> {}

export const HorizontalPodAutoscaler = resource({
  group: "autoscaling",
  version: "v1",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  shortNames: ["hpa"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "Changes the number of pods of a Deployment or the like by their use of CPU. Newer: autoscaling/v2.",
  fields: {
    spec: ref(2, HorizontalPodAutoscalerSpec, "What is wanted.").required(),
    status: ref(3, HorizontalPodAutoscalerStatus, "What is there.").default({}),
  },
  subresources: { status: true },
  columns: (HorizontalPodAutoscalerV2.columns ?? []).map((column) => ({
    ...column,
    cell: (object: Autoscaler, now: number): unknown =>
      column.cell(applyDefaults(HorizontalPodAutoscalerV2, toV2(object)) as never, now),
  })),
  convert: {
    to: () => HorizontalPodAutoscalerV2,
    toStored: (object): Json => compact(toV2(object)),
    fromStored: (stored): Json => compact(toV1(stored as HorizontalPodAutoscalerV2)),
  },
});
export interface HorizontalPodAutoscaler extends Infer<typeof HorizontalPodAutoscaler> {}

interface Autoscaler {
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: HorizontalPodAutoscalerSpec;
  readonly status: HorizontalPodAutoscalerStatus;
}

function toV2({ spec, status, metadata, kind }: Autoscaler) {
  const more = fromAnnotations(metadata.annotations);
  const { targetCPUUtilizationPercentage: target, ...scaling } = spec;
  const { currentCPUUtilizationPercentage: current, ...counts } = status;
  const onCpu = (averageUtilization: number) => ({
    type: "Resource",
    resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
  });
  const metrics = [...(more.metrics ?? []), ...(target === undefined ? [] : [onCpu(target)])];
  const cpuNow = { type: "Resource", resource: { name: "cpu", current: { averageUtilization: current } } };
  return {
    apiVersion: HorizontalPodAutoscalerV2.apiVersion,
    kind,
    metadata: { ...metadata, annotations: orNone(withoutRoundTrip(metadata.annotations)) },
    spec: { ...scaling, metrics: metrics.length > 0 ? metrics : [onCpu(80)], behavior: more.behavior },
    status: {
      ...counts,
      currentMetrics: more.currentMetrics ?? (current === undefined ? [] : [cpuNow]),
      conditions: more.conditions,
    },
  };
}

function toV1({ spec, status, metadata, kind }: HorizontalPodAutoscalerV2) {
  const { metrics = [], behavior, ...scaling } = spec;
  const { currentMetrics, conditions, ...counts } = status;
  const ofCpu = currentMetrics
    .filter(({ type, resource }) => type === "Resource" && resource?.name === "cpu")
    .map(({ resource }) => resource?.current.averageUtilization);
  return {
    apiVersion: HorizontalPodAutoscaler.apiVersion,
    kind,
    metadata: {
      ...metadata,
      annotations: toAnnotations(metadata.annotations, { metrics, behavior, currentMetrics, conditions }),
    },
    spec: {
      ...scaling,
      targetCPUUtilizationPercentage: metrics.find(isCpuUtilization)?.resource?.target.averageUtilization,
    },
    status: {
      currentReplicas: 0,
      ...counts,
      currentCPUUtilizationPercentage: ofCpu.findLast((utilization) => utilization !== undefined),
    },
  };
}
