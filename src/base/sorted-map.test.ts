import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { prefixEnd, SortedMap } from "./sorted-map.ts";

const key = fc.string({ unit: fc.constantFrom("a", "b", "/", "\u{ffff}"), maxLength: 4 });

test("sorted map agrees with a plain map sorted at every step", () => {
  const step = fc.record({ op: fc.constantFrom("set", "set", "delete"), key, value: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), key, key, (steps, from, to) => {
      const map = new SortedMap<number>();
      const model = new Map<string, number>();
      for (const { op, key, value } of steps) {
        if (op === "set") {
          map.set(key, value);
          model.set(key, value);
        } else assert.equal(map.delete(key), model.delete(key));
      }
      const sorted = [...model].toSorted(([a], [b]) => (a < b ? -1 : 1));
      assert.deepEqual([...map.range()], sorted);
      const inRange = sorted.filter(([k]) => k >= from && k < to);
      assert.deepEqual([...map.range(from, to)], inRange);
      if (from <= to) assert.equal(map.count(from, to), inRange.length);
      assert.equal(map.size, model.size);
      for (const [k, v] of model) assert.equal(map.get(k), v);
    }),
  );
});

test("sorted map stays right over many chunks", () => {
  const map = new SortedMap<number>();
  const keys = Array.from({ length: 5000 }, (_, i) => `/registry/pods/${(i * 7919) % 5000}`.padEnd(24, "x"));
  for (const [i, k] of keys.entries()) map.set(k, i);
  assert.deepEqual(
    [...map.range()].map(([k]) => k),
    keys.toSorted(),
  );
  for (const k of keys.filter((_, i) => i % 3 === 0)) assert.ok(map.delete(k));
  assert.deepEqual(
    [...map.range()].map(([k]) => k),
    keys.filter((_, i) => i % 3 !== 0).toSorted(),
  );
});

test("the end of a prefix is after every key that starts with it and before all others", () => {
  fc.assert(
    fc.property(key, key, (prefix, other) => {
      const end = prefixEnd(prefix);
      const inside = other >= prefix && (end === undefined || other < end);
      assert.equal(inside, other.startsWith(prefix));
    }),
  );
});
