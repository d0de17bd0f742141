import { ageColumn, nameColumn } from "#schema/columns.ts";
import { pathSegment } from "#schema/formats.ts";
import {
  type Infer,
  int32,
  int64,
  intOrString,
  invalid,
  list,
  map,
  type Problem,
  ref,
  resource,
  string,
  struct,
} from "#schema/index.ts";
import { checkAtMost100Percent, checkCountOrPercent } from "../../apps/v1/checks.ts";
import { Condition } from "../../meta/condition.ts";
import { checkRepeatedConditions } from "../../meta/condition-check.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const PodDisruptionBudgetSpec = struct(
  "policy/v1.PodDisruptionBudgetSpec",
  {
    minAvailable: intOrString(1, "How many pods must stay, as a number or a percentage.").pointer(),
    selector: ref(2, LabelSelector, "Which pods are counted; an empty selector counts all of the namespace.").patch(
      "replace",
    ),
    maxUnavailable: intOrString(3, "How many pods may be missing, as a number or a percentage.").pointer(),
    unhealthyPodEvictionPolicy: string(4, "Whether pods that are not ready may be evicted beyond the budget.")
      .oneOf("AlwaysAllow", "IfHealthyBudget")
      .pointer(),
  },
  {
    *check({ minAvailable, maxUnavailable }) {
      if (minAvailable !== undefined && maxUnavailable !== undefined)
        yield invalid("", "minAvailable and maxUnavailable cannot be both set");
      yield* checkCountOrPercent("minAvailable", minAvailable);
      yield* checkAtMost100Percent("minAvailable", minAvailable);
      yield* checkCountOrPercent("maxUnavailable", maxUnavailable);
      yield* checkAtMost100Percent("maxUnavailable", maxUnavailable);
    },
  },
);
export interface PodDisruptionBudgetSpec extends Infer<typeof PodDisruptionBudgetSpec> {}

export const PodDisruptionBudgetStatus = struct("policy/v1.PodDisruptionBudgetStatus", {
  observedGeneration: int64(1, "Generation of the spec that this status describes."),
  disruptedPods: map(2, "time", "Pods that were evicted and are not gone yet, and since when."),
  disruptionsAllowed: int32(3, "How many pods may be evicted now.").min(0).always(),
  currentHealthy: int32(4, "Pods that are healthy.").min(0).always(),
  desiredHealthy: int32(5, "Pods that must stay healthy.").min(0).always(),
  expectedPods: int32(6, "Pods that are counted.").min(0).always(),
  conditions: list(7, Condition, "Whether the budget can be kept, and why not.").keyedBy("type"),
});
export interface PodDisruptionBudgetStatus extends Infer<typeof PodDisruptionBudgetStatus> {}

export const PodDisruptionBudget = resource({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  shortNames: ["pdb"],
  scope: "Namespaced",
  nameFormat: pathSegment,
  doc: "Limits how many pods of a set may be evicted at the same time.",
  fields: {
    spec: ref(2, PodDisruptionBudgetSpec, "What is wanted.").default({}),
    status: ref(3, PodDisruptionBudgetStatus, "What is allowed now.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    { name: "Min Available", doc: "How many pods must stay.", cell: ({ spec }) => String(spec.minAvailable ?? "N/A") },
    {
      name: "Max Unavailable",
      doc: "How many pods may be missing.",
      cell: ({ spec }) => String(spec.maxUnavailable ?? "N/A"),
    },
    {
      name: "Allowed Disruptions",
      type: "integer",
      doc: "How many pods may be evicted now.",
      cell: ({ status }) => status.disruptionsAllowed,
    },
    ageColumn,
  ],
  checkStatus: ({ status }): Iterable<Problem> => checkRepeatedConditions("status.conditions", status.conditions),
});
export interface PodDisruptionBudget extends Infer<typeof PodDisruptionBudget> {}
