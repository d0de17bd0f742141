import assert from "node:assert/strict";
import { test } from "node:test";
import { shapeOf } from "./declared.ts";
import { type FieldSet, setOf } from "./field-set.ts";
import { extractFields, removeFields } from "./remove.ts";
import { Thing } from "./testing.ts";

const shape = shapeOf(Thing);
const spec = {
  size: 1,
  labels: { a: "1", b: "2" },
  words: ["x"],
  set: ["p", "q"],
  items: [
    { name: "m", value: "1" },
    { name: "n", value: "2", tags: ["t"] },
  ],
  whole: { a: "1" },
  part: { a: "1", inner: { b: "2" } },
};
const paths = (...list: readonly string[]): FieldSet => setOf(...list.map((path) => ["f:spec", ...path.split("/")]));
const without = (...list: readonly string[]): any =>
  (removeFields({ shape, value: { spec } }, paths(...list)).value as any).spec;
const only = (withKeys: boolean, ...list: readonly string[]): any =>
  (extractFields({ shape, value: { spec } }, paths(...list), withKeys).value as any)?.spec;

test("fields are removed where they are, and with all below them", () => {
  const { size, labels, items, ...rest } = spec;
  assert.deepEqual(without("f:size", "f:labels/f:a", 'f:items/k:{"name":"m"}', 'f:items/k:{"name":"n"}/f:value'), {
    labels: { b: "2" },
    items: [{ name: "n", tags: ["t"] }],
    ...rest,
  });
  assert.deepEqual(without("f:labels").labels, undefined);
  assert.deepEqual(without('f:set/v:"p"', 'f:set/v:"q"').set, null);
  assert.deepEqual(without("f:words/i:0").words, null);
  assert.equal(without("f:absent", 'f:items/k:{"name":"z"}').size, 1);
});

test("fields are extracted alone, with the keys of their items on request", () => {
  assert.deepEqual(only(false, "f:size", "f:labels/f:b", "f:whole", 'f:set/v:"q"'), {
    size: 1,
    labels: { b: "2" },
    set: ["q"],
    whole: { a: "1" },
  });
  assert.deepEqual(only(false, 'f:items/k:{"name":"n"}/f:value'), { items: [{ value: "2" }] });
  assert.deepEqual(only(true, 'f:items/k:{"name":"n"}/f:value'), { items: [{ name: "n", value: "2" }] });
  assert.deepEqual(only(false, 'f:items/k:{"name":"n"}'), { items: [spec.items[1]] });
  assert.deepEqual(only(false, "f:part/f:inner/f:b"), { part: { inner: { b: "2" } } });
});
