import assert from "node:assert/strict";
import { test } from "node:test";
import { crashDelays, observedDelay } from "./restart.ts";

test("how long a restart waits can be read off the runs before it", () => {
  const run = (createdAt: number, finishedAt: number) => ({ createdAt, finishedAt });
  const seconds = (waited: number) => observedDelay([run(waited * 1000 + 5000, 0), run(0, 5000)], crashDelays)?.ms;
  assert.equal(observedDelay([], crashDelays), undefined);
  assert.equal(observedDelay([run(0, 5)], crashDelays), undefined, "the first restart is free");
  const table: readonly [number, number][] = [
    [0, 10_000],
    [10.1, 20_000],
    [20.2, 40_000],
    [80.5, 160_000],
    [161, 300_000],
    [301, 300_000],
    [5000, 300_000],
  ];
  for (const [waited, expected] of table) assert.equal(seconds(waited), expected, `${waited} s`);
});
