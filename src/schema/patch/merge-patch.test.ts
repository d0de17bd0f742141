import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze } from "#base/collections.ts";
import { PatchError } from "./error.ts";
import { applyMergePatch, createMergePatch, createThreeWayMergePatch } from "./merge-patch.ts";

test("merging does what RFC 7386 says", () => {
  const table: [object, object, object][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 1 }, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
    [{}, { a: [{ b: null, c: 1 }, null] }, { a: [{ c: 1 }, null] }],
  ];
  for (const [document, patch, expected] of table)
    assert.deepEqual(applyMergePatch({ ...document }, patch), expected, JSON.stringify(patch));
});

test("a patch that is no object is refused", () => {
  const table: [unknown, string][] = [
    [null, "Invalid JSON Patch"],
    [[], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"],
    ["x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"],
  ];
  for (const [patch, message] of table)
    assert.throws(() => applyMergePatch({}, patch), { name: "PatchError", code: 400, message });
});

test("the patch between two documents names only what differs", () => {
  const table: [object, object, object][] = [
    [{ a: 1 }, { a: 1 }, {}],
    [{ a: 1, b: 2 }, { a: 1 }, { b: null }],
    [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
    [{ a: [1, 2] }, { a: [2] }, { a: [2] }],
    [{}, { a: {} }, { a: {} }],
    [{ a: 1 }, { a: "1" }, { a: "1" }],
  ];
  for (const [original, modified, patch] of table)
    assert.deepEqual(createMergePatch({ ...original }, { ...modified }), patch);
});

test("three ways: own removals and changes are made, what others added stays", () => {
  const original = { a: 1, b: 2, list: [1], deep: { x: 1, y: 1 } };
  const modified = { a: 3, list: [1], deep: { x: 1 }, empty: {} };
  const current = { a: 1, b: 2, list: [1, 2], deep: { x: 1, y: 1, z: 1 }, other: 1 };
  const patch = createThreeWayMergePatch(original, modified, current);
  assert.deepEqual(patch, { a: 3, b: null, list: [1], deep: { y: null }, empty: {} });
  assert.deepEqual(applyMergePatch(current, patch), { a: 3, list: [1], deep: { x: 1, z: 1 }, empty: {}, other: 1 });
  assert.deepEqual(createThreeWayMergePatch(modified, modified, { ...modified, other: 1 }), {});
  assert.deepEqual(createThreeWayMergePatch({ a: { b: 1 } }, { a: {} }, {}), { a: { b: null } });
});

const key = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
const objectOf = (item: fc.Arbitrary<unknown>) =>
  fc
    .array(fc.tuple(key, item), { maxLength: 4 })
    .map((entries) =>
      JSON.parse(`{${entries.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(",")}}`),
    );
const json = (leaf: fc.Arbitrary<unknown>) =>
  fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie("value"), { maxLength: 3 }), tie("object")),
    object: objectOf(tie("value")),
  }));
const { object: plain } = json(fc.constantFrom(true, 1, "x"));
const { object: withNulls, value: anyValue } = json(fc.constantFrom(null, true, 1, "x"));

test("the patch between two documents leads from one to the other", () => {
  fc.assert(
    fc.property(plain, plain, (a: any, b: any) => {
      deepFreeze([a, b]);
      assert.equal(canonical(applyMergePatch(a, createMergePatch(a, b))), canonical(b));
    }),
    { numRuns: 3000 },
  );
});

test("any patch applies or is refused, and changes nothing that it was given", () => {
  fc.assert(
    fc.property(withNulls, fc.oneof(anyValue, withNulls), (document: any, patch) => {
      deepFreeze([document, patch]);
      try {
        applyMergePatch(document, patch);
      } catch (error) {
        assert.ok(error instanceof PatchError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.deepEqual(Object.keys(Object.prototype), []);
  let deep: unknown = {};
  for (let i = 0; i < 100_000; i++) deep = { deep };
  assert.throws(() => applyMergePatch({}, deep), { name: "PatchError", message: "exceeded max depth" });
});

/** JSON with sorted keys: tells `__proto__` as data from a prototype, which deepEqual does not. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`);
  return `{${entries.sort().join(",")}}`;
}
