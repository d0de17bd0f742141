import { type Infer, int32, int64, ref, resource, string, struct, time } from "#schema/index.ts";

export const CrossVersionObjectReference = struct(
  "autoscaling/v1.CrossVersionObjectReference",
  {
    kind: string(1).required(),
    name: string(2).required(),
    apiVersion: string(3),
  },
  { atomic: true },
);
export interface CrossVersionObjectReference extends Infer<typeof CrossVersionObjectReference> {}

export const HorizontalPodAutoscalerSpec = struct("autoscaling/v1.HorizontalPodAutoscalerSpec", {
  scaleTargetRef: ref(1, CrossVersionObjectReference).required(),
  minReplicas: int32(2).pointer().default(1),
  maxReplicas: int32(3).required(),
  targetCPUUtilizationPercentage: int32(4).pointer(),
});
export interface HorizontalPodAutoscalerSpec extends Infer<typeof HorizontalPodAutoscalerSpec> {}

export const HorizontalPodAutoscalerStatus = struct("autoscaling/v1.HorizontalPodAutoscalerStatus", {
  observedGeneration: int64(1).pointer(),
  lastScaleTime: time(2).pointer(),
  currentReplicas: int32(3).required(),
  desiredReplicas: int32(4).required(),
  currentCPUUtilizationPercentage: int32(5).pointer(),
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
  doc: "",
  fields: {
    spec: ref(2, HorizontalPodAutoscalerSpec).required(),
    status: ref(3, HorizontalPodAutoscalerStatus).default({}),
  },
  subresources: { status: true },
});
export interface HorizontalPodAutoscaler extends Infer<typeof HorizontalPodAutoscaler> {}
