import assert from "node:assert/strict";
import { test } from "node:test";
import { growthOf } from "./heap-growth.ts";

test("a small heap grows as V8 likes, a large one by less the larger it is", () => {
  const mebibytes: readonly (readonly [left: number, percent: number])[] = [
    [1, 0],
    [99, 0],
    [100, 130],
    [128, 100],
    [300, 45],
    [400, 30],
    [4_000, 5],
  ];
  for (const [left, percent] of mebibytes) assert.equal(growthOf(left * 2 ** 20), percent, `${left} MiB`);
});
