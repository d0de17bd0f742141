import assert from "node:assert/strict";
import { test } from "node:test";
import { qualifiedName } from "./formats.ts";
import { int32, list, map, ref, string, struct } from "./index.ts";
import { validateObject } from "./validate.ts";

const Part = struct("test/v1.Part", {
  name: string(1, "Its name.").nonEmpty(),
  size: int32(2, "Its size.").min(0),
});
const Whole = struct("test/v1.Whole", {
  name: string(1, "Its name.").nonEmpty(),
  first: ref(2, Part, "One part."),
  second: ref(3, Part, "Another."),
  fixed: string(4, "What stays.").immutable(),
  count: int32(5, "How many.").min(1).max(9),
});
const told = (object: object, old?: object) =>
  validateObject(Whole, object, old).map(({ field, type }) => `${field}: ${type}`);

test("what is fine has no problems, in whatever order it was sent", () => {
  assert.deepEqual(told({ name: "a", first: { name: "b", size: 1 }, count: 2 }), []);
  assert.deepEqual(told({ count: 2, first: { size: 1, name: "b" }, name: "a" }), []);
});

test("problems are told in the order of the declaration, whatever the order in which fields were sent", () => {
  const expected = ["name: Required", "first.size: Invalid", "second.name: Required", "count: Invalid"];
  assert.deepEqual(told({ name: "", first: { name: "b", size: -1 }, second: {}, count: 10 }), expected);
  assert.deepEqual(told({ count: 10, second: {}, first: { size: -1, name: "b" }, name: "" }), expected);
  assert.deepEqual(told({ count: 10, second: {}, first: { size: -1, name: "b" } }), expected);
});

test("a field that must be there is missed when it is absent, undefined or empty", () => {
  for (const object of [{}, { name: undefined }, { name: "" }]) assert.deepEqual(told(object), ["name: Required"]);
});

test("what is immutable may neither change nor go nor come", () => {
  const problems = ["fixed: Invalid"];
  assert.deepEqual(told({ name: "a", fixed: "x" }, { name: "a", fixed: "x" }), []);
  assert.deepEqual(told({ name: "a" }, { name: "a" }), []);
  assert.deepEqual(told({ name: "a", fixed: "y" }, { name: "a", fixed: "x" }), problems);
  assert.deepEqual(told({ name: "a" }, { name: "a", fixed: "x" }), problems);
  assert.deepEqual(told({ name: "a", fixed: "x" }, { name: "a" }), problems);
});

const Item = struct("test/v1.Item", { name: string(1).required(), fixed: string(2).immutable() });
const Holder = struct("test/v1.Holder", {
  items: list(1, Item).keyedBy("name"),
  loose: list(2, Item),
  entries: map(3, Item),
});

test("items are compared with those that had the same keys, and entries with those of the same name", () => {
  const fields = (object: object, old: object) => validateObject(Holder, object, old).map(({ field }) => field);
  const [a, b] = [
    { name: "a", fixed: "1" },
    { name: "b", fixed: "2" },
  ];
  const changed = { name: "b", fixed: "3" };
  assert.deepEqual(fields({ items: [b, a] }, { items: [a, b] }), []);
  assert.deepEqual(fields({ items: [changed, a] }, { items: [a, b] }), ["items[0].fixed"]);
  assert.deepEqual(fields({ items: [changed] }, { items: [a] }), []);
  assert.deepEqual(fields({ loose: [a] }, { loose: [{ ...a, fixed: "9" }] }), []);
  assert.deepEqual(fields({ entries: { x: changed } }, { entries: { x: b } }), ["entries[x].fixed"]);
  assert.deepEqual(fields({ entries: { y: changed, constructor: a } }, { entries: { x: b } }), []);
});

test("a name is judged the same the second time, and when many have come between", () => {
  for (let i = 0; i < 2500; i++) assert.deepEqual(qualifiedName(`example.com/n-${i}`), []);
  for (const name of ["example.com/n-1", "app"]) assert.deepEqual([qualifiedName(name), qualifiedName(name)], [[], []]);
  assert.equal(qualifiedName("a/b/c").length, 1);
  assert.equal(qualifiedName("a/b/c").length, 1);
});
