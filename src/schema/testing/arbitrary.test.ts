import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bool, either, int32, list, map, ref, scalars, string } from "../field.ts";
import { resource } from "../kind.ts";
import { type AnyStruct, struct } from "../struct.ts";
import { arbitraryObject, arbitraryOf } from "./arbitrary.ts";

const Inner = struct("test.Inner", { key: string(1).required(), on: bool(2) });
const Outer: AnyStruct = struct("test.Outer", {
  mode: string(1).oneOf("Fast", "Slow"),
  modes: list(2, "string").oneOf("Fast", "Slow"),
  size: int32(3).min(1).max(9).required(),
  inner: ref(4, Inner).default({}),
  inners: map(5, Inner),
  again: ref(6, { lazy: () => Outer }),
  schema: either(7, {
    name: "InnerOrBool",
    struct: () => Inner,
    structNumber: 2,
    other: scalars.bool,
    otherNumber: 1,
  }),
});
const Thing = resource({
  group: "test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Cluster",
  doc: "",
  fields: { spec: ref(2, Outer).required() },
});

test("what must be there is drawn, within its limits", () => {
  fc.assert(
    fc.property(arbitraryOf(Outer), (value: any) => {
      assert.ok(value.size >= 1 && value.size <= 9);
      assert.equal(typeof value.inner.key, "string");
      if ("mode" in value) assert.ok(["Fast", "Slow"].includes(value.mode));
    }),
  );
});

test("all that is optional is drawn at some time, and at some time not", () => {
  const drawn = fc.sample(arbitraryOf(Outer), { numRuns: 500, seed: 1 });
  for (const name of Object.keys(Outer.fields))
    assert.ok(
      drawn.some((value) => name in (value as object)),
      name,
    );
  for (const name of ["mode", "inners", "again"])
    assert.ok(
      drawn.some((value) => !(name in (value as object))),
      name,
    );
});

test("a struct that contains itself ends at the depth asked for", () => {
  const depth = (value: any): number => (value.again === undefined ? 0 : 1 + depth(value.again));
  const drawn = fc.sample(arbitraryOf(Outer, { depth: 2, breadth: 9 }), { numRuns: 500, seed: 1 });
  assert.equal(Math.max(...drawn.map(depth)), 2);
});

test("an object says what it is, and keys such as __proto__ are its own", () => {
  const drawn = fc.sample(arbitraryObject(Thing), { numRuns: 500, seed: 1 });
  for (const object of drawn) {
    assert.equal(object.apiVersion, "test/v1");
    assert.equal(object.kind, "Thing");
    assert.ok(object.metadata);
  }
  assert.ok(drawn.some(({ metadata }) => metadata.labels && Object.hasOwn(metadata.labels, "__proto__")));
});
