import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../clock.ts";
import { spareMemory } from "./spare-memory.ts";

test("memory is spared for a while when a busy time is over, and never in one", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const told: string[] = [];
  let load = 0;
  const beSparing = (sparing: boolean) => told.push(`${clock.elapsed() / 1000}: ${sparing}`);
  const running = spareMemory({ clock, load: () => load, beSparing }).run(stop.signal);
  const pass = async (seconds: number, part: number) => {
    load = part;
    await clock.advance(seconds * 1000);
  };
  await pass(100, 0.05);
  assert.deepEqual(told, [], "there was nothing to give back");
  await pass(20, 1);
  await pass(100, 0.05);
  assert.deepEqual(told.splice(0), ["122: true", "138: false"]);
  await pass(10, 1);
  await pass(10, 0.4);
  await pass(10, 0.1);
  await pass(10, 1);
  assert.deepEqual(told.splice(0), ["242: true", "252: false"]);
  stop.abort(new Error("done"));
  await assert.rejects(running, /done/);
});
