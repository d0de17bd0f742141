import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { Cooldown } from "./cooldown.ts";

test("a key rests for five times as long as it took, but not for longer than half a second", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const rests = new Cooldown(clock);
  rests.took("quick", 1);
  rests.took("slow", 20);
  rests.took("slowest", 3000);
  assert.deepEqual(
    ["quick", "slow", "slowest", "never"].map((key) => rests.leftMs(key)),
    [0, 100, 500, 0],
  );
  await clock.advance(60);
  assert.equal(rests.leftMs("slow"), 40);
  await clock.advance(60);
  assert.equal(rests.leftMs("slow"), 0);
});
