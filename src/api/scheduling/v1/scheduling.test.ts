import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, defaulted, problemsOf, ruleTests, updateTests } from "../../testing/rules.ts";
import { PriorityClass } from "./priority-class.ts";

test("a priority may displace others by default", () => {
  assert.equal(defaulted(PriorityClass, {}).preemptionPolicy, "PreemptLowerPriority");
});

ruleTests(
  PriorityClass,
  { value: 1000 },
  {
    "a value kept for the system": [
      { value: 1_000_000_001 },
      "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ],
    "an unknown preemption": [
      { preemptionPolicy: "Always" },
      'preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"',
    ],
    "a name kept for the system": [
      { "metadata.name": "system-mine" },
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
  },
);
updateTests(
  PriorityClass,
  { value: 1 },
  {
    "another value": [{ value: 2 }, "value: Forbidden: may not be changed in an update."],
    "another preemption": [
      { preemptionPolicy: "Never" },
      'preemptionPolicy: Invalid value: "Never": field is immutable',
    ],
  },
);

test("the two classes of the system are accepted as they are", () => {
  assert.deepEqual(problemsOf(PriorityClass, { metadata: { name: "system-node-critical" }, value: 2_000_001_000 }), []);
  assert.deepEqual(cellsOf(PriorityClass, { value: 5 }), ["example", 5, false, "60s", "PreemptLowerPriority"]);
});
