import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze } from "#base/collections.ts";
import { type AnyStruct, int64, json, lazy, list, map, ref, string, struct } from "../index.ts";
import { PatchConflictError, PatchError } from "./error.ts";
import { createStrategicPatch, createThreeWayStrategicPatch, requireUnchanged } from "./strategic-diff.ts";
import { applyStrategicPatch } from "./strategic-merge.ts";

const Item: AnyStruct = struct("test/v1.Item", {
  name: string(1),
  value: string(2),
  other: int64(3),
  merging: list(
    4,
    lazy<any>(() => Item),
  ).patch("merge", "name"),
  replacing: list(
    5,
    lazy<any>(() => Item),
  ),
  tags: list(6, "string").patch("merge"),
  words: list(7, "string"),
  map: map(8, "string"),
  lists: map(9, { listOf: "string" }),
  inner: ref(
    10,
    lazy<any>(() => Item),
  ),
  retain: ref(
    11,
    lazy<any>(() => Item),
  ).patch("retainKeys"),
  volumes: list(
    12,
    lazy<any>(() => Item),
  ).patch("merge,retainKeys", "name"),
  replaced: ref(
    13,
    lazy<any>(() => Item),
  ).patch("replace"),
  keyless: list(
    14,
    lazy<any>(() => Item),
  ).patch("merge"),
  raw: json(15),
});
const apply = (object: object, patch: unknown) => applyStrategicPatch(Item, { ...object }, patch);
const named = (...names: string[]) => names.map((name) => ({ name }));

test("objects are merged, lists are replaced unless they are declared otherwise", () => {
  const table: [string, object, object, object][] = [
    ["set", { value: "a", other: 1 }, { value: "b" }, { value: "b", other: 1 }],
    ["remove", { value: "a", other: 1 }, { value: null }, { other: 1 }],
    ["remove what is not there", {}, { value: null }, {}],
    ["nested", { inner: { value: "a", other: 1 } }, { inner: { value: "b" } }, { inner: { value: "b", other: 1 } }],
    ["map", { map: { a: "1", b: "2" } }, { map: { a: null, c: "3" } }, { map: { b: "2", c: "3" } }],
    ["replacing list", { replacing: named("a", "b") }, { replacing: named("c") }, { replacing: named("c") }],
    ["replacing values", { words: ["a"] }, { words: ["b"] }, { words: ["b"] }],
    ["replacing object", { replaced: { value: "a" } }, { replaced: { other: 1 } }, { replaced: { other: 1 } }],
    ["merging values", { tags: ["a", "b"] }, { tags: ["c", "a"] }, { tags: ["c", "a", "b"] }],
    [
      "merging list",
      { merging: [{ name: "a", value: "1" }, { name: "b" }] },
      { merging: [{ name: "b", value: "2" }, { name: "c" }] },
      { merging: [{ name: "a", value: "1" }, { name: "b", value: "2" }, { name: "c" }] },
    ],
    ["new objects lose their nulls", {}, { inner: { value: null, map: { a: null } } }, { inner: { map: {} } }],
    ["another type replaces", { raw: { a: 1 } }, { raw: [1] }, { raw: [1] }],
    ["nothing", { value: "a" }, {}, { value: "a" }],
  ];
  for (const [what, object, patch, expected] of table) assert.deepEqual(apply(object, patch), expected, what);
  assert.deepEqual(apply({ value: "a" }, null), { value: "a" });
});

test("directives replace and delete", () => {
  const table: [string, object, object, object][] = [
    [
      "replace",
      { inner: { value: "a", other: 1 } },
      { inner: { $patch: "replace", value: "b" } },
      { inner: { value: "b" } },
    ],
    ["delete", { inner: { value: "a" } }, { inner: { $patch: "delete" } }, { inner: {} }],
    ["delete of nothing", {}, { inner: { $patch: "delete" } }, {}],
    [
      "delete an item",
      { merging: named("a", "b") },
      { merging: [{ name: "a", $patch: "delete" }] },
      { merging: named("b") },
    ],
    [
      "replace a list",
      { merging: named("a", "b") },
      { merging: [{ name: "c" }, { $patch: "replace" }] },
      { merging: named("c") },
    ],
    ["empty a list", { merging: named("a") }, { merging: [{ $patch: "replace" }] }, { merging: [] }],
    ["in what is new", {}, { merging: [{ name: "a", $patch: "delete" }, { name: "b" }] }, { merging: named("b") }],
    ["delete values", { tags: ["a", "b", "c"] }, { "$deleteFromPrimitiveList/tags": ["b", "x"] }, { tags: ["a", "c"] }],
    [
      "delete and add values",
      { tags: ["a"] },
      { "$deleteFromPrimitiveList/tags": ["a"], tags: ["b"] },
      { tags: ["b"] },
    ],
    ["delete values of nothing", {}, { "$deleteFromPrimitiveList/tags": ["b"] }, {}],
    [
      "retain keys",
      { retain: { name: "a", value: "b", other: 1 } },
      { retain: { $retainKeys: ["value"], value: "c" } },
      { retain: { value: "c" } },
    ],
    [
      "retain keys of an item",
      { volumes: [{ name: "v", value: "x", inner: { other: 1 } }] },
      { volumes: [{ name: "v", $retainKeys: ["name", "other"], other: 2 }] },
      { volumes: [{ name: "v", other: 2 }] },
    ],
  ];
  for (const [what, object, patch, expected] of table) assert.deepEqual(apply(object, patch), expected, what);
});

test("the order of a list can be set", () => {
  const order = (...names: string[]) => ({ "$setElementOrder/merging": named(...names) });
  const names = (object: any) => object.merging.map((item: any) => item.name).join("");
  const table: [string, string, object, string][] = [
    ["order alone", "abc", order("c", "b", "a"), "cba"],
    ["what the patch does not name stays where it was", "axbc", order("c", "b", "a"), "xcba"],
    ["add in the middle", "ac", { ...order("a", "b", "c"), merging: named("b") }, "abc"],
    ["add between what others have", "axc", { ...order("a", "b", "c"), merging: named("b") }, "abxc"],
    ["delete and order", "abc", { ...order("c", "a"), merging: [{ name: "b", $patch: "delete" }] }, "ca"],
    ["no order: those of the patch follow each other", "abc", { merging: named("c", "a") }, "bca"],
    [
      "new items take the places of deleted ones",
      "ad",
      { ...order("e"), merging: [{ name: "a", $patch: "delete" }, { name: "e" }] },
      "de",
    ],
  ];
  for (const [what, before, patch, expected] of table)
    assert.equal(names(apply({ merging: named(...before) }, patch)), expected, what);
  assert.deepEqual(apply({ tags: ["a", "b", "x"] }, { "$setElementOrder/tags": ["c", "b", "a"], tags: ["c"] }), {
    tags: ["c", "b", "a", "x"],
  });
  assert.deepEqual(apply({}, { "$setElementOrder/merging": named("a") }), {});
  assert.deepEqual(apply({}, { ...order("b", "a"), merging: named("b", "a") }), { merging: named("b", "a") });
});

test("patches that cannot be understood are refused in upstream's words", () => {
  const object = {
    merging: named("a"),
    tags: ["a"],
    map: { a: "1" },
    inner: {},
    lists: { a: ["x"] },
    retain: {},
    keyless: [{}],
    raw: { a: { b: 1 } },
  };
  const table: [unknown, number, string][] = [
    [[], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"],
    ["x", 400, "json: cannot unmarshal string into Go value of type map[string]interface {}"],
    [{ inner: { $patch: "zap" } }, 422, "unknown patch type: zap in map: map[$patch:zap]"],
    [{ merging: [{ name: "a", $patch: "zap" }] }, 422, "unknown patch type: zap in map: map[$patch:zap name:a]"],
    [{ merging: [{ $patch: "merge" }] }, 422, "merging lists cannot yet be specified in the patch"],
    [{ merging: [{ value: "x" }] }, 422, "map: map[value:x] does not contain declared merge key: name"],
    [{ merging: [{ $patch: "delete" }] }, 422, "map: map[$patch:delete] does not contain declared merge key: name"],
    [{ merging: [1] }, 422, "list element types are not identical: [[map[name:a]] [1]]"],
    [{ tags: [["a"]] }, 422, "list element types are not identical: [[a] [[a]]]"],
    [{ tags: [null] }, 422, "list element types are not identical: [[a] [<nil>]]"],
    [{ keyless: [{}] }, 422, "cannot merge lists without merge key for struct"],
    [{ $deleteFromPrimitiveList: ["a"] }, 400, "invalid patch format of primitive list"],
    [{ "$setElementOrder/merging": "a" }, 422, "expected a []interface {}, but received a string"],
    [{ $setElementOrder: [] }, 400, "invalid patch format of setElementOrder list"],
    [{ retain: { $retainKeys: "a" } }, 400, "invalid patch format of retainKeys"],
    [{ retain: { $retainKeys: ["name"], value: "x" } }, 400, "invalid patch format of retainKeys"],
    [
      { "$setElementOrder/merging": named("b", "a"), merging: named("a", "b") },
      422,
      "The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:b] map[name:a]]\n",
    ],
    [{ lists: { a: ["y"] } }, 422, "merging an object in json but data type is not struct, instead is: map"],
    [{ raw: { a: { b: 2 } } }, 422, 'unable to find api field in struct JSON for the json field "a"'],
    [{ "$setElementOrder/zap": [] }, 422, 'unable to find api field in struct Item for the json field "zap"'],
    [{ "$setElementOrder/inner": [] }, 422, "expected a []interface {}, but received a map[string]interface {}"],
  ];
  for (const [patch, code, message] of table)
    assert.throws(() => apply(object, patch), { name: "PatchError", code, message }, JSON.stringify(patch));
});

test("the patch between two objects names what differs, and the order of lists that changed", () => {
  const table: [string, object, object, object][] = [
    [
      "equal",
      { merging: named("a"), tags: ["b", "a"], replaced: {} },
      { merging: named("a"), tags: ["b", "a"], replaced: {} },
      {},
    ],
    ["set and remove", { value: "a", other: 1 }, { value: "b" }, { value: "b", other: null }],
    [
      "change an item",
      { merging: [{ name: "a" }, { name: "b", value: "1" }] },
      { merging: [{ name: "a" }, { name: "b", value: "2" }] },
      { merging: [{ value: "2", name: "b" }], "$setElementOrder/merging": named("a", "b") },
    ],
    [
      "delete an item",
      { merging: named("a", "b") },
      { merging: named("b") },
      { merging: [{ name: "a", $patch: "delete" }], "$setElementOrder/merging": named("b") },
    ],
    [
      "only the order",
      { merging: named("a", "b") },
      { merging: named("b", "a") },
      { "$setElementOrder/merging": named("b", "a") },
    ],
    [
      "values",
      { tags: ["a", "b"] },
      { tags: ["c", "b"] },
      { tags: ["c"], "$deleteFromPrimitiveList/tags": ["a"], "$setElementOrder/tags": ["c", "b"] },
    ],
    ["the first items", { merging: [] }, { merging: named("a") }, { merging: named("a") }],
    ["replacing list", { replacing: named("a") }, { replacing: named("b") }, { replacing: named("b") }],
    [
      "retained keys",
      { retain: { value: "a", other: 1 } },
      { retain: { value: "b" } },
      { retain: { value: "b", other: null, $retainKeys: ["value"] } },
    ],
    [
      "retained keys of an item",
      { volumes: [{ name: "v", inner: {} }] },
      { volumes: [{ name: "v", other: 1 }] },
      {
        volumes: [{ other: 1, inner: null, $retainKeys: ["name", "other"], name: "v" }],
        "$setElementOrder/volumes": named("v"),
      },
    ],
  ];
  for (const [what, before, after, patch] of table)
    assert.deepEqual(createStrategicPatch(Item, { ...before }, { ...after }), patch, what);
});

test("three ways: own changes and removals are carried over, what others did stays", () => {
  const original = {
    value: "a",
    map: { gone: "1", kept: "1" },
    merging: [{ name: "a" }, { name: "gone" }],
    tags: ["t", "gone"],
  };
  const modified = { value: "b", map: { kept: "1" }, merging: [{ name: "a", value: "new" }], tags: ["t"] };
  const current = {
    value: "a",
    other: 7,
    map: { gone: "1", kept: "1", theirs: "1" },
    merging: [{ name: "theirs" }, { name: "a" }, { name: "gone" }],
    tags: ["t", "gone", "theirs"],
  };
  const patch = createThreeWayStrategicPatch(Item, { original, modified, current }, false);
  assert.deepEqual(apply(current, patch), {
    value: "b",
    other: 7,
    map: { kept: "1", theirs: "1" },
    merging: [{ name: "theirs" }, { name: "a", value: "new" }],
    tags: ["t", "theirs"],
  });
  assert.deepEqual(
    createThreeWayStrategicPatch(Item, { original: modified, modified, current: { ...modified, other: 1 } }, false),
    {},
  );
});

test("three ways: a field that others changed too is a conflict, unless it is to be overwritten", () => {
  const states = { original: { value: "a" }, modified: { value: "b" }, current: { value: "c" } };
  assert.throws(() => createThreeWayStrategicPatch(Item, states, false), PatchConflictError);
  assert.deepEqual(createThreeWayStrategicPatch(Item, states, true), { value: "b" });
  const removed = {
    original: { merging: named("a") },
    modified: { merging: [] },
    current: { merging: [{ name: "a", value: "theirs" }] },
  };
  assert.throws(() => createThreeWayStrategicPatch(Item, removed, false), PatchConflictError);
  const apart = {
    original: { merging: named("a", "b") },
    modified: { merging: [{ name: "a", value: "x" }, { name: "b" }] },
    current: { merging: [{ name: "a" }, { name: "b", value: "y" }] },
  };
  assert.deepEqual(apply(apart.current, createThreeWayStrategicPatch(Item, apart, false)), {
    merging: [
      { name: "a", value: "x" },
      { name: "b", value: "y" },
    ],
  });
});

test("a patch that touches what makes an object this object is refused", () => {
  requireUnchanged({ metadata: { labels: {} } }, "apiVersion", "kind", "metadata.name");
  assert.throws(() => requireUnchanged({ metadata: { name: "x" } }, "kind", "metadata.name"), {
    message: "precondition failed for: map[metadata:map[name:x]]",
  });
  assert.throws(() => requireUnchanged({ kind: null }, "kind"), PatchError);
});

test("odd keys are data", () => {
  const patch = JSON.parse('{"map":{"__proto__":"x","constructor":"y"},"__proto__":{"polluted":true}}');
  const result = apply({ map: { a: "1" } }, patch);
  assert.equal(
    JSON.stringify(result),
    '{"map":{"a":"1","__proto__":"x","constructor":"y"},"__proto__":{"polluted":true}}',
  );
  assert.throws(() => apply({ inner: {} }, { inner: JSON.parse('{"$setElementOrder/constructor":[]}') }), PatchError);
  assert.equal(({} as any).polluted, undefined);
});

const name = fc.constantFrom("a", "b", "c");
const items = (item: fc.Arbitrary<any>) =>
  fc
    .uniqueArray(fc.tuple(name, item), { selector: ([key]) => key, maxLength: 3 })
    .map((all) => all.map(([key, one]) => ({ ...one, name: key })));
const itemOf = (depth: number): fc.Arbitrary<any> => {
  const plain = { value: name, other: fc.nat(2), tags: fc.uniqueArray(name), words: fc.uniqueArray(name) };
  if (depth === 0) return fc.record(plain, { requiredKeys: [], noNullPrototype: true });
  const inner = itemOf(depth - 1);
  const lists = { merging: items(inner), replacing: items(inner), volumes: items(inner) };
  const objects = { inner, retain: inner, replaced: inner, map: fc.dictionary(name, name, { noNullPrototype: true }) };
  return fc.record({ ...plain, ...lists, ...objects }, { requiredKeys: [], noNullPrototype: true });
};
const item = itemOf(2);

test("the patch between two objects leads from one to the other", () => {
  fc.assert(
    fc.property(item, item, (before, after) => {
      deepFreeze([before, after]);
      assert.deepEqual(apply(before, createStrategicPatch(Item, before, after)), after);
    }),
    { numRuns: 500 },
  );
});

const keys = [
  ...Object.keys(Item.fields),
  "$patch",
  "$retainKeys",
  "$deleteFromPrimitiveList/tags",
  "$setElementOrder/merging",
  "$setElementOrder/tags",
  "$setElementOrder",
  "__proto__",
  "constructor",
];
const { hostile } = fc.letrec((tie) => ({
  hostile: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, "a", "b", "delete", "replace", "merge", 1, true),
    fc.array(tie("hostile"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie("hostile"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

test("any patch applies or is refused, and changes nothing that it was given", () => {
  fc.assert(
    fc.property(hostile, hostile, (object: any, patch: any) => {
      const before = typeof object === "object" && object !== null && !Array.isArray(object) ? object : {};
      deepFreeze([before, patch]);
      try {
        apply(before, patch);
        if (typeof patch === "object" && patch !== null && !Array.isArray(patch))
          createThreeWayStrategicPatch(Item, { original: before, modified: patch, current: {} }, false);
      } catch (error) {
        assert.ok(error instanceof PatchError || error instanceof PatchConflictError, String((error as Error).stack));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.deepEqual(Object.keys(Object.prototype), []);
  let deep: unknown = {};
  for (let i = 0; i < 100_000; i++) deep = { inner: deep };
  assert.throws(() => apply({}, deep), { code: 400, message: "exceeded max depth" });
});

test("long lists are merged in time that grows with their length", () => {
  const many = Array.from({ length: 100_000 }, (_, i) => ({ name: `n${i}` }));
  const patch = {
    merging: many.toReversed().map((one) => ({ ...one, value: "x" })),
    "$setElementOrder/merging": many.toReversed(),
  };
  const merged = apply({ merging: many }, patch).merging as any[];
  assert.equal(merged.length, 100_000);
  assert.deepEqual(merged[0], { name: "n99999", value: "x" });
});
