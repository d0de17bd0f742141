import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock, systemClock } from "./clock.ts";

test("manual clock runs timers in order of time, and of arrival within one moment", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const ran: string[] = [];
  clock.after(20, () => ran.push(`b@${clock.elapsed()}`));
  clock.after(10, () => ran.push(`a@${clock.elapsed()}`));
  clock.after(20, () => ran.push(`c@${clock.elapsed()}`));
  await clock.advance(15);
  assert.deepEqual(ran, ["a@10"]);
  await clock.advance(5);
  assert.deepEqual(ran, ["a@10", "b@20", "c@20"]);
  assert.equal(clock.now(), Date.parse("2026-01-01T00:00:00.020Z"));
});

test("manual clock lets woken work set new timers within the same advance", async () => {
  const clock = new ManualClock();
  const beats: number[] = [];
  const stop = new AbortController();
  const loop = (async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(10, stop.signal);
      beats.push(clock.elapsed());
    }
  })();
  await clock.advance(35);
  stop.abort(new Error("enough"));
  await assert.rejects(loop, /enough/);
  assert.deepEqual(beats, [10, 20, 30]);
});

test("a cancelled timer does not run", async () => {
  const clock = new ManualClock();
  const cancel = clock.after(10, () => assert.fail("ran"));
  cancel();
  await clock.advance(20);
});

test("sleep rejects with the reason of the abort, before or while waiting", async () => {
  for (const clock of [new ManualClock(), systemClock]) {
    const reason = new Error("stop");
    await assert.rejects(clock.sleep(1_000_000, AbortSignal.abort(reason)), reason);
    const later = new AbortController();
    const sleeping = clock.sleep(1_000_000, later.signal);
    later.abort(reason);
    await assert.rejects(sleeping, reason);
  }
});

test("setting the wall clock moves neither elapsed time nor timers", async () => {
  const clock = new ManualClock(1000);
  const ran: number[] = [];
  clock.after(10, () => ran.push(clock.now()));
  clock.jumpTo(5000);
  await clock.advance(10);
  assert.deepEqual([ran, clock.elapsed()], [[5010], 10]);
});
