import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze } from "#base/collections.ts";
import { PatchError } from "./error.ts";
import { applyJsonPatch, unknownOperationFields } from "./json-patch.ts";

test("operations do what RFC 6902 says", () => {
  const table: [string, unknown, unknown[], unknown][] = [
    ["add a key", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["add in front", { a: [1, 2] }, [{ op: "add", path: "/a/0", value: 0 }], { a: [0, 1, 2] }],
    ["add at the end", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    ["add one behind the last", { a: [1] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2] }],
    ["remove a key", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
    ["remove an item", { a: [1, 2, 3] }, [{ op: "remove", path: "/a/1" }], { a: [1, 3] }],
    ["replace", { a: { b: 1 } }, [{ op: "replace", path: "/a/b", value: [] }], { a: { b: [] } }],
    ["replace all", { a: 1 }, [{ op: "replace", path: "", value: { b: 1 } }], { b: 1 }],
    ["move", { a: { b: 1 }, c: {} }, [{ op: "move", from: "/a/b", path: "/c/d" }], { a: {}, c: { d: 1 } }],
    ["copy", { a: [{ b: 1 }] }, [{ op: "copy", from: "/a/0", path: "/a/-" }], { a: [{ b: 1 }, { b: 1 }] }],
    ["test", { a: { b: [1, null] } }, [{ op: "test", path: "/a", value: { b: [1, null] } }], { a: { b: [1, null] } }],
    [
      "escapes",
      { "a/b": 1, "m~n": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "remove", path: "/m~0n" },
      ],
      {},
    ],
    ["escape of an escape", { "~1": 1 }, [{ op: "remove", path: "/~01" }], {}],
  ];
  for (const [what, document, patch, expected] of table)
    assert.deepEqual(applyJsonPatch(document, patch), expected, what);
});

test("departures of upstream's library are kept", () => {
  const table: [string, unknown, unknown[], unknown][] = [
    ["replace adds what is missing", {}, [{ op: "replace", path: "/a", value: 1 }], { a: 1 }],
    ["add without a value adds null", {}, [{ op: "add", path: "/a" }], { a: null }],
    ["copy of nothing copies null", {}, [{ op: "copy", from: "/a", path: "/b" }], { b: null }],
    ["indexes count from the end", { a: [1, 2] }, [{ op: "replace", path: "/a/-1", value: 3 }], { a: [1, 3] }],
    ["nothing is null", { a: 1 }, [{ op: "test", path: "/b", value: null }], { a: 1 }],
    ["the slash in front may be missing", {}, [{ op: "add", path: "x/a", value: 1 }], { a: 1 }],
  ];
  for (const [what, document, patch, expected] of table)
    assert.deepEqual(applyJsonPatch(document, patch), expected, what);
});

test("what does not apply is refused in upstream's words", () => {
  const document = { a: [1], b: { c: 1 } };
  const table: [unknown, number, string][] = [
    [{}, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"],
    ["x", 400, "json: cannot unmarshal string into Go value of type jsonpatch.Patch"],
    [["x"], 400, "json: cannot unmarshal string into Go value of type jsonpatch.Operation"],
    [[null], 422, "Unexpected kind: unknown"],
    [[{ op: "zap", path: "/a" }], 422, "Unexpected kind: zap"],
    [[{ op: "add" }], 422, "add operation failed to decode path: missing value"],
    [
      [{ op: "add", path: "/x/y", value: 1 }],
      422,
      'add operation does not apply: doc is missing path: "/x/y": missing value',
    ],
    [[{ op: "add", path: "", value: 1 }], 422, 'add operation does not apply: doc is missing path: "": missing value'],
    [
      [{ op: "add", path: "/a/7", value: 1 }],
      422,
      "error in add for path: '/a/7': Unable to access invalid index: 7: invalid index referenced",
    ],
    [
      [{ op: "add", path: "/a/x", value: 1 }],
      422,
      `error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [
      [{ op: "remove", path: "/b/x" }],
      422,
      "error in remove for path: '/b/x': Unable to remove nonexistent key: x: missing value",
    ],
    [
      [{ op: "replace", path: "/a/9", value: 1 }],
      422,
      "replace operation does not apply: doc is missing key: /a/9: missing value",
    ],
    [
      [{ op: "replace", value: 1 }],
      422,
      "replace operation failed to decode path: operation missing path field: missing value",
    ],
    [
      [{ op: "move", path: "/a" }],
      422,
      "move operation failed to decode from: operation, missing from field: missing value",
    ],
    [
      [{ op: "move", from: "/b", path: "/b/c" }],
      422,
      "move operation does not apply: doc is missing destination path: /b/c: missing value",
    ],
    [[{ op: "test", path: "/b/c", value: 2 }], 422, "testing value /b/c failed: test failed"],
    [
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "", value: document })),
      413,
      "The allowed maximum operations in a JSON patch is 10000, got 10001",
    ],
  ];
  for (const [patch, code, message] of table)
    assert.throws(() => applyJsonPatch(document, patch), { name: "PatchError", code, message });
});

test("a strict reading names keys that no operation has", () => {
  assert.deepEqual(unknownOperationFields([{ op: "add", path: "/a", value: { x: 1 } }, { op: "test", foo: 1 }, null]), [
    'json patch unknown field "[1].foo"',
  ]);
  assert.deepEqual(unknownOperationFields({}), []);
  assert.equal(unknownOperationFields(Array(1000).fill({ foo: 1 })).length, 100);
});

test("copies grow a document only so far", () => {
  const double = { op: "copy", from: "/a", path: "/a/-" };
  assert.throws(() => applyJsonPatch({ a: ["x".repeat(1000)] }, Array(30).fill(double)), {
    code: 422,
    message: /^Unable to complete the copy, the accumulated size increase of copy is \d+, exceeding the limit 3145728$/,
  });
});

test("a copy and its origin do not change together", () => {
  const patch = [
    { op: "add", path: "/a/x", value: { deep: {} } },
    { op: "copy", from: "/a", path: "/b" },
    { op: "add", path: "/a/x/deep/y", value: 1 },
  ];
  assert.deepEqual(applyJsonPatch({ a: {} }, patch), { a: { x: { deep: { y: 1 } } }, b: { x: { deep: {} } } });
  assert.deepEqual(patch[0]?.value, { deep: {} });
});

test("a patch made to keep the server busy ends soon", () => {
  const huge = Array.from({ length: 500_000 }, () => 0);
  const insert = { op: "add", path: "/a/0", value: 0 };
  assert.throws(() => applyJsonPatch({}, [{ op: "add", path: "/a", value: huge }, ...Array(9999).fill(insert)]), {
    code: 413,
  });
  let deep: unknown = {};
  for (let i = 0; i < 100_000; i++) deep = [deep];
  assert.throws(() => applyJsonPatch({}, [{ op: "add", path: "/a", value: deep }]), { code: 400 });
  assert.throws(() => applyJsonPatch({}, [{ op: "add", path: "/a".repeat(100_000), value: 1 }]), { code: 422 });
  assert.throws(
    () => applyJsonPatch({ a: [] }, [{ op: "add", path: `/a/${"9".repeat(100_000)}`, value: 1 }]),
    PatchError,
  );
});

test("odd keys are data", () => {
  const result = applyJsonPatch({}, [
    { op: "add", path: "/__proto__", value: { polluted: true } },
    { op: "add", path: "/__proto__/more", value: 1 },
    { op: "add", path: "/constructor", value: 2 },
  ]);
  assert.equal(JSON.stringify(result), '{"__proto__":{"polluted":true,"more":1},"constructor":2}');
  assert.throws(
    () => applyJsonPatch({}, [{ op: "add", path: "/constructor/prototype/polluted", value: 1 }]),
    PatchError,
  );
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
});

const key = fc.constantFrom("a", "b", "__proto__", "constructor", "", "0");
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 1, "x"),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc
    .array(fc.tuple(key, tie("value")), { maxLength: 3 })
    .map((entries) =>
      JSON.parse(`{${entries.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`).join(",")}}`),
    ),
}));
const pointer = fc
  .array(fc.constantFrom("a", "b", "__proto__", "constructor", "prototype", "", "0", "1", "-", "-1", "~1", "length"), {
    maxLength: 3,
  })
  .map((parts) => parts.map((part) => `/${part}`).join(""));
const operation = fc.record(
  {
    op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test", "other"),
    path: pointer,
    from: pointer,
    value,
  },
  { requiredKeys: ["op"] },
);

test("any patch applies or is refused, and changes nothing that it was given", () => {
  fc.assert(
    fc.property(value, fc.oneof(fc.array(operation, { maxLength: 5 }), value), (document, patch) => {
      deepFreeze([document, patch]);
      try {
        applyJsonPatch(document, patch);
      } catch (error) {
        assert.ok(error instanceof PatchError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.equal(({} as Record<string, unknown>).a, undefined);
});
