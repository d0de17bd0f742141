import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { countOf, firstMissing, formatIndexes, has, indexesOf, overlap, parseIndexes, union } from "./indexes.ts";

const most = 40;
const numbers = fc.array(fc.nat(most - 1), { maxLength: 30 });
const sorted = (set: ReadonlySet<number>) => [...set].sort((a, b) => a - b);

test("sets of indexes behave as sets of numbers do", () => {
  fc.assert(
    fc.property(numbers, numbers, fc.nat(10), (a, b, count) => {
      const [one, other] = [new Set(a), new Set(b)];
      const [left, right] = [indexesOf(a), indexesOf(b)];
      const both = union(left, right);
      assert.deepEqual(both, indexesOf(one.union(other)));
      assert.equal(countOf(both), one.union(other).size);
      assert.equal(overlap(left, right), one.intersection(other).size);
      assert.deepEqual(parseIndexes(formatIndexes(both), most), both);
      for (let i = -1; i <= most; i++) assert.equal(has(left, i), one.has(i));
      const missing = Array.from({ length: most }, (_, i) => i).filter((i) => !one.has(i));
      assert.deepEqual(firstMissing(left, count, most), missing.slice(0, count));
      const half = most / 2;
      assert.deepEqual(parseIndexes(formatIndexes(left), half), indexesOf(sorted(one).filter((i) => i < half)));
    }),
  );
});

test("indexes are written as upstream writes them", () => {
  for (const [set, text] of [
    [[], ""],
    [[4], "4"],
    [[1, 2], "1,2"],
    [[0, 1, 2, 5, 7, 8], "0-2,5,7,8"],
  ] as const)
    assert.equal(formatIndexes(indexesOf(set)), text);
});

test("of a text that is not as it should be, what can be read is", () => {
  for (const [text, wanted] of [
    ["", ""],
    ["1,x,3-y,-4,3,5-6", "1,3"],
    ["2-9,12", "2-4"],
    ["7,1", ""],
  ] as const)
    assert.equal(formatIndexes(parseIndexes(text, 5)), wanted, text);
});
