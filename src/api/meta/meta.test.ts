import assert from "node:assert/strict";
import { test } from "node:test";
import { type AnyStruct, problemText } from "#schema/index.ts";
import { validateObject } from "#schema/validate.ts";
import { Condition } from "./condition.ts";
import { LabelSelector } from "./label-selector.ts";

const condition = {
  type: "Ready",
  status: "True",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  reason: "AllWell",
  message: "",
};
const reason =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

const cases: [struct: AnyStruct, value: Record<string, unknown>, ...problems: string[]][] = [
  [Condition, condition],
  [
    Condition,
    { ...condition, status: "Maybe", observedGeneration: -1, lastTransitionTime: undefined, reason: "" },
    'status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    "observedGeneration: Invalid value: -1: must be greater than or equal to zero",
    "lastTransitionTime: Required value",
    "reason: Required value",
  ],
  [Condition, { ...condition, reason: "not well" }, `reason: Invalid value: "not well": ${reason}`],
  [Condition, { ...condition, reason: "x".repeat(1025) }, "reason: Too long: may not be more than 1024 bytes"],
  [Condition, { ...condition, message: "x".repeat(32769) }, "message: Too long: may not be more than 32768 bytes"],
  [
    LabelSelector,
    { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }] },
  ],
  [
    LabelSelector,
    {
      matchExpressions: [
        { key: "a", operator: "In" },
        { key: "b", operator: "Exists", values: ["x"] },
        { key: "c", operator: "Gt", values: ["1"] },
      ],
    },
    "matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    "matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    'matchExpressions[2].operator: Invalid value: "Gt": not a valid selector operator',
  ],
];

for (const [struct, value, ...problems] of cases)
  test(`${struct.name} ${JSON.stringify(value).slice(0, 100)} has ${problems.length} problems`, () =>
    assert.deepEqual(validateObject(struct, value).map(problemText), problems));
