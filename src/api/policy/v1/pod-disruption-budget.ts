import { type Infer, int32, int64, intOrString, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { Condition } from "../../meta/condition.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const PodDisruptionBudgetSpec = struct("policy/v1.PodDisruptionBudgetSpec", {
  minAvailable: intOrString(1).pointer(),
  selector: ref(2, LabelSelector).patch("replace"),
  maxUnavailable: intOrString(3).pointer(),
  unhealthyPodEvictionPolicy: string(4).oneOf("AlwaysAllow", "IfHealthyBudget").pointer(),
});
export interface PodDisruptionBudgetSpec extends Infer<typeof PodDisruptionBudgetSpec> {}

export const PodDisruptionBudgetStatus = struct("policy/v1.PodDisruptionBudgetStatus", {
  observedGeneration: int64(1),
  disruptedPods: map(2, "time"),
  disruptionsAllowed: int32(3).always(),
  currentHealthy: int32(4).always(),
  desiredHealthy: int32(5).always(),
  expectedPods: int32(6).always(),
  conditions: list(7, Condition).keyedBy("type"),
});
export interface PodDisruptionBudgetStatus extends Infer<typeof PodDisruptionBudgetStatus> {}

export const PodDisruptionBudget = resource({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  shortNames: ["pdb"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, PodDisruptionBudgetSpec).default({}),
    status: ref(3, PodDisruptionBudgetStatus).default({}),
  },
  subresources: { status: true },
});
export interface PodDisruptionBudget extends Infer<typeof PodDisruptionBudget> {}
