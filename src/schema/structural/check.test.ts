import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "../problem.ts";
import { checkValue } from "./check.ts";
import "./exact-integers.ts"; // says how a bigint is written
import { readSchema } from "./schema.ts";

const told = (schema: object, value: unknown): readonly string[] =>
  checkValue(readSchema({ type: "object", properties: { x: schema } }), { x: value }, "").map(problemText);

const ofType = (wanted: string, is: string) =>
  `x: Invalid value: "${is}": x in body must be of type ${wanted}: "${is}"`;
const integer = { type: "integer" };
const required = (...names: readonly string[]) => ({ required: names });
const object = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } };

/** A schema, and each value with what is said of it. The words are those of kube-apiserver v1.36. */
const table: readonly (readonly [schema: object, ...values: readonly (readonly [unknown, ...string[]])[]])[] = [
  [
    { type: "string" },
    [""],
    ["a"],
    [1, ofType("string", "integer")],
    [1.5, ofType("string", "number")],
    [true, ofType("string", "boolean")],
    [[], ofType("string", "array")],
    [{}, ofType("string", "object")],
    [null, ofType("string", "null")],
    [2n ** 60n, ofType("string", "integer")],
  ],
  [{ type: "string", nullable: true }, [null]],
  [{}, [null], [1], ["a"], [{ a: 1 }]],
  [{ type: "boolean" }, [false], ["false", ofType("boolean", "string")]],
  [{ type: "number" }, [1], [1.5], [2n ** 62n], ["1", ofType("number", "string")]],
  [
    integer,
    [1],
    [2n ** 62n],
    [1.0000000001, '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x'],
    [
      1.5,
      ofType("integer", "number"),
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
    ],
    [
      2 ** 63,
      ofType("integer", "number"),
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
    ],
  ],
  [
    { type: "integer", format: "int32" },
    [2 ** 31 - 1],
    [-(2 ** 31) - 1, '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x'],
  ],
  [
    { type: "number", format: "float" },
    [1.5],
    [1e300, '<nil>: Invalid value: "": Checked value must be of type number with format float in x'],
  ],
  [
    { "x-kubernetes-int-or-string": true },
    [1],
    ["50%"],
    [1.5, ofType("integer,string", "number")],
    [true, ofType("integer,string", "boolean")],
  ],
  [
    { type: "integer", minimum: 3, maximum: 9 },
    [3],
    [9],
    [2, "x: Invalid value: 2: x in body should be greater than or equal to 3"],
    [10, "x: Invalid value: 10: x in body should be less than or equal to 9"],
    [2n ** 60n, "x: Invalid value: 1152921504606846976: x in body should be less than or equal to 9"],
  ],
  [
    { type: "integer", minimum: 3, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true },
    [4],
    [3, "x: Invalid value: 3: x in body should be greater than 3"],
    [9, "x: Invalid value: 9: x in body should be less than 9"],
  ],
  [
    { type: "integer", minimum: 1.5 },
    [2, '<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in x'],
  ],
  [
    { type: "number", minimum: 0.00001 },
    [0, "x: Invalid value: 0: x in body should be greater than or equal to 1e-05"],
  ],
  [
    { type: "integer", multipleOf: 5 },
    [10],
    [11, "x: Invalid value: 11: x in body should be a multiple of 5"],
    [5n * 2n ** 58n],
    [5n * 2n ** 58n + 1n, "x: Invalid value: 1441151880758558721: x in body should be a multiple of 5"],
  ],
  [{ type: "number", multipleOf: 0.1 }, [0.3], [0.35, "x: Invalid value: 0.35: x in body should be a multiple of 0.1"]],
  [
    { type: "string", minLength: 2, maxLength: 4 },
    ["äöü"],
    ["😀😀😀😀"],
    ["a", 'x: Invalid value: "a": x in body should be at least 2 chars long'],
    ["abcde", "x: Too long: may not be more than 4 bytes"],
  ],
  [
    { type: "string", pattern: "^[a-z]+$" },
    ["abc"],
    ["ABC", "x: Invalid value: \"ABC\": x in body should match '^[a-z]+$'"],
    ["", "x: Invalid value: \"\": x in body should match '^[a-z]+$'"],
  ],
  [
    { type: "string", pattern: "(" },
    [
      "a",
      "x: Invalid value: \"a\": x in body should match '(, but pattern is invalid: error parsing regexp: missing closing ): `(`'",
    ],
  ],
  [
    { type: "string", format: "date" },
    ["2020-02-29"],
    ["2020-02-30", 'x: Invalid value: "2020-02-30": x in body must be of type date: "2020-02-30"'],
    [1, 'x: Invalid value: "int64": x in body must be of type date: "int64"'],
    [true, 'x: Invalid value: "": x in body must be of type date: ""'],
  ],
  [{ type: "string", format: "of no kind" }, ["anything"]],
  [
    { type: "string", enum: ["a", "b"] },
    ["a"],
    ["c", 'x: Unsupported value: "c": supported values: "a", "b"'],
    [1, ofType("string", "integer"), 'x: Unsupported value: 1: supported values: "a", "b"'],
  ],
  [{ enum: [1, { a: 2 }] }, [1], [{ a: 2 }], [2, 'x: Unsupported value: 2: supported values: "1", "{\\"a\\":2}"']],
  [
    { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2 },
    [["a"]],
    [[], "x: Invalid value: 0: x in body should have at least 1 items"],
    [["a", "b", "c"], "x: Too many: 3: must have at most 2 items"],
    [["a", null], 'x[1]: Invalid value: "null": x[1] in body must be of type string: "null"'],
  ],
  [
    { type: "array", uniqueItems: true },
    [[{ a: 1, b: 2 }, { a: 2 }]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'x: Invalid value: "": x in body shouldn\'t contain duplicates',
    ],
  ],
  [
    { type: "object", additionalProperties: integer, minProperties: 1, maxProperties: 2 },
    [{ a: 1 }],
    [{}, "x: Invalid value: 0: x in body should have at least 1 properties"],
    [{ a: 1, b: 2, c: 3 }, "x: Too many: 3: must have at most 2 items"],
    [{ a: "b" }, 'x.a: Invalid value: "string": x.a in body must be of type integer: "string"'],
  ],
  [
    { ...object, additionalProperties: false },
    [{ a: "1" }],
    [{ a: "1", c: 2 }, 'x: Invalid value: "c": x.c in body is a forbidden property'],
  ],
  [{ ...object, required: ["a", "b"] }, [{ a: "", b: "" }], [{ a: "" }, "x.b: Required value"]],
  [
    { ...object, oneOf: [required("a"), required("b")] },
    [{ a: "" }],
    [
      { a: "", b: "" },
      '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    [
      {},
      '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
      "x.a: Required value",
    ],
  ],
  [
    { ...object, anyOf: [required("a"), required("b")] },
    [{ b: "" }],
    [{ a: "", b: "" }],
    [{}, '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)', "x.a: Required value"],
  ],
  [
    {
      ...object,
      anyOf: [
        { required: ["a"], properties: { b: { enum: ["1"] } } },
        { required: ["a"], properties: { b: { maxLength: 5 } } },
      ],
    },
    [
      { b: "2" },
      '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
      'x.b: Unsupported value: "2": supported values: "1"',
      "x.a: Required value",
    ],
  ],
  [
    { ...object, allOf: [required("a"), { properties: { a: { minLength: 2 } } }] },
    [{ a: "ab" }],
    [
      { a: "x" },
      'x.a: Invalid value: "x": x.a in body should be at least 2 chars long',
      '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)',
    ],
    [{}, "x.a: Required value", '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)'],
  ],
  [
    { ...object, allOf: [required("a")] },
    [{}, "x.a: Required value", '<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated'],
  ],
  [
    { ...object, not: required("a") },
    [{}],
    [{ a: "" }, '<nil>: Invalid value: "": "x" must not validate the schema (not)'],
  ],
];

const shown = (value: unknown): string => JSON.stringify(value);
for (const [schema, ...values] of table)
  test(`${shown(schema)} takes what a real server takes, and refuses in its words`, () => {
    for (const [value, ...problems] of values) assert.deepEqual(told(schema, value), problems, shown(value));
  });

test("what is wrong with a part is told by its place", () => {
  const node = readSchema({ type: "array", items: integer });
  assert.deepEqual(checkValue(node, ["a"], "spec.default").map(problemText), [
    'spec.default.[0]: Invalid value: "string": [0] in body must be of type integer: "string"',
  ]);
  assert.deepEqual(checkValue(node, 1, "").map(problemText), [
    '<nil>: Invalid value: "integer":  in body must be of type array: "integer"',
  ]);
});

test("fields that every object inherits are no fields of a value", () => {
  const node = readSchema({ type: "object", required: ["constructor"], properties: { toString: { type: "string" } } });
  assert.deepEqual(checkValue(node, {}, "").map(problemText), ["constructor: Required value"]);
});

test("a pattern that would take a backtracking engine for ever is answered", () => {
  const node = readSchema({ type: "string", pattern: "^(a+)+$" });
  assert.equal(checkValue(node, `${"a".repeat(5_000)}!`, "").length, 1);
});

test("a long key that stands in the path of many problems is not told a thousand times", () => {
  const node = readSchema({ type: "object", additionalProperties: { type: "array", items: integer } });
  const problems = checkValue(node, { ["k".repeat(500_000)]: Array(1_000).fill("a") }, "");
  assert.equal(problems.length, 2);
});

test("no more problems are told than anyone reads", () => {
  const node = readSchema({ type: "array", items: integer });
  assert.equal(checkValue(node, Array(5_000).fill("a"), "").length, 1000);
});
