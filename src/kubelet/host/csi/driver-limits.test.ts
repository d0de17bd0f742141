import assert from "node:assert/strict";
import { test } from "node:test";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { turn } from "#base/breathe.ts";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { world } from "#client/testing.ts";
import { DriverLimits } from "./driver-limits.ts";

test("drivers that want it are asked for their limit as often as they want, also after they failed", async () => {
  const w = world();
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const described = (nodeAllocatableUpdatePeriodSeconds?: number) =>
    w.have(CSIDriver, {
      metadata: { name: `d${nodeAllocatableUpdatePeriodSeconds}` },
      spec: { ...(nodeAllocatableUpdatePeriodSeconds && { nodeAllocatableUpdatePeriodSeconds }) },
    });
  const known = new Map([
    ["often", described(20)],
    ["seldom", described(60)],
    ["never", described()],
  ]);
  const asked: string[] = [];
  const limits = new DriverLimits({
    drivers: {
      names: [...known.keys(), "unknown"],
      update: async (name) => {
        asked.push(name);
        if (name === "often") throw new Error("not now");
      },
    },
    described: async (name) => known.get(name),
    clock,
    log: silentLog,
  });
  const stop = new AbortController();
  const done = limits.run(stop.signal).catch(() => undefined);
  for (let seconds = 0; seconds < 125; seconds += 5) {
    await clock.advance(5000);
    for (let i = 0; i < 20; i++) await turn();
  }
  assert.deepEqual(asked, ["often", "often", "often", "seldom", "often", "often", "often", "seldom"]);
  stop.abort(new Error("the test is over"));
  await done;
});
