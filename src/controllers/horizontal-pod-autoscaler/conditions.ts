// Upstream: pkg/controller/podautoscaler/horizontal.go.
import type { HorizontalPodAutoscalerCondition } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { timeOf } from "#schema/time.ts";

export type AutoscalerConditionType = "AbleToScale" | "ScalingActive" | "ScalingLimited";

/** The conditions of an autoscaler while it is looked at. */
export class AutoscalerConditions {
  readonly #now: number;
  #all: readonly HorizontalPodAutoscalerCondition[];

  constructor(present: readonly HorizontalPodAutoscalerCondition[] | undefined, now: number) {
    this.#all = present ?? [];
    this.#now = now;
  }

  get all(): readonly HorizontalPodAutoscalerCondition[] {
    return this.#all;
  }

  /** The time of a condition is that of the last change of its status. */
  set(type: AutoscalerConditionType, status: "True" | "False", reason: string, message: string): void {
    const before = this.#all.find((one) => one.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : timeOf(this.#now);
    const condition: HorizontalPodAutoscalerCondition = { type, status, lastTransitionTime, reason, message };
    this.#all = before ? this.#all.map((one) => (one === before ? condition : one)) : [...this.#all, condition];
  }
}
