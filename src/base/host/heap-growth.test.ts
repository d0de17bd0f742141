import assert from "node:assert/strict";
import { test } from "node:test";
import { growthOf } from "./heap-growth.ts";

test("a small heap grows as V8 likes, a large one by less the larger it is", () => {
  const mebibytes: readonly (readonly [used: number, percent: number])[] = [
    [1, 0],
    [127, 0],
    [128, 100],
    [180, 70],
    [256, 50],
    [400, 30],
    [4_000, 10],
  ];
  for (const [used, percent] of mebibytes) assert.equal(growthOf(used * 2 ** 20), percent, `${used} MiB`);
});
