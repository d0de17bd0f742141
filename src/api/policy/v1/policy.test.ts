import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, ruleTests } from "../../testing/rules.ts";
import { PodDisruptionBudget } from "./pod-disruption-budget.ts";

ruleTests(
  PodDisruptionBudget,
  { spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } } },
  {
    "both limits": [
      { "spec.maxUnavailable": "10%" },
      'spec: Invalid value: {"minAvailable":1,"selector":{"matchLabels":{"app":"web"}},"maxUnavailable":"10%"}: minAvailable and maxUnavailable cannot be both set',
    ],
    "more than all": [
      { "spec.minAvailable": "101%" },
      'spec.minAvailable: Invalid value: "101%": must not be greater than 100%',
    ],
    "fewer than none": [
      { "spec.minAvailable": -1 },
      "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
    ],
    "an unknown policy": [
      { "spec.unhealthyPodEvictionPolicy": "Sometimes" },
      'spec.unhealthyPodEvictionPolicy: Unsupported value: "Sometimes": supported values: "AlwaysAllow", "IfHealthyBudget"',
    ],
  },
);

test("a row of a budget", () => {
  assert.deepEqual(cellsOf(PodDisruptionBudget, { spec: { maxUnavailable: "10%" } }), [
    "example",
    "N/A",
    "10%",
    0,
    "60s",
  ]);
});
