import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "#schema/problem.ts";
import { checkDefaults } from "./default-checks.ts";
import type { JSONSchemaProps } from "./json-schema.ts";

const size = { type: "integer", minimum: 1, maximum: 5 };
const object = { type: "object", properties: { size, name: { type: "string", maxLength: 3 } } };

const cases: readonly [schema: object, ...problems: readonly string[]][] = [
  [{ ...size, default: 2 }],
  [{ ...size, default: -1 }, "s.default: Invalid value: -1:  in body should be greater than or equal to 1"],
  [{ ...size, default: 9 }, "s.default: Invalid value: 9:  in body should be less than or equal to 5"],
  [
    { type: "integer", minimum: 1, exclusiveMinimum: true, default: 1 },
    "s.default: Invalid value: 1:  in body should be greater than 1",
  ],
  [
    { ...size, default: 1.5 },
    's.default: Invalid value: "number":  in body must be of type integer: "number"',
    's.default: Invalid value: "": Checked value must be of type integer (default format) in ',
  ],
  [
    { type: "integer", minimum: 1.5, default: 2 },
    's.default: Invalid value: "": Minimum boundary value must be of type integer (default format) in ',
  ],
  [{ type: "number", default: 2 }],
  [
    { type: "boolean", default: "yes" },
    's.default: Invalid value: "string":  in body must be of type boolean: "string"',
  ],
  [{ type: "string", nullable: true, default: null }],
  [{ "x-kubernetes-int-or-string": true, default: "5%" }],
  [{ type: "string", enum: ["a"], default: "b" }, 's.default: Unsupported value: "b": supported values: "a"'],
  [{ type: "string", maxLength: 1, default: "ab" }, "s.default: Too long: may not be more than 1 byte"],
  [
    { type: "array", items: size, maxItems: 1, default: [1, 9] },
    "s.default.[1]: Invalid value: 9: [1] in body should be less than or equal to 5",
    "s.default: Too many: 2: must have at most 1 item",
  ],
  [{ ...object, default: { size: 1, name: "abc" } }],
  [
    { ...object, default: { size: 9 } },
    "s.default.size: Invalid value: 9: size in body should be less than or equal to 5",
  ],
  [{ ...object, required: ["name"], default: {} }, "s.default.name: Required value"],
  [{ ...object, default: { other: 1 } }, 's.default: Invalid value: {"other":1}: must not have unknown fields'],
  [{ ...object, "x-kubernetes-preserve-unknown-fields": true, default: { other: 1 } }],
  [
    { type: "object", properties: { size: { ...size, default: 9 } } },
    "s.properties[size].default: Invalid value: 9:  in body should be less than or equal to 5",
  ],
  [
    { type: "array", items: { ...size, default: 9 } },
    "s.items.default: Invalid value: 9:  in body should be less than or equal to 5",
  ],
];
test("a default of the whole object says what the object is", () => {
  const schema = { ...object, default: {} } as JSONSchemaProps;
  assert.deepEqual([...checkDefaults(schema, "s", true)].map(problemText), [
    "s.default.apiVersion: Required value",
    "s.default.kind: Required value",
  ]);
});

for (const [schema, ...problems] of cases)
  test(`the defaults of ${JSON.stringify(schema)} have ${problems.length} problems`, () =>
    assert.deepEqual([...checkDefaults(schema as JSONSchemaProps, "s")].map(problemText), problems));
