import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "./clock.ts";
import { TimerQueue } from "./timer-queue.ts";

function world(slackMs?: number) {
  const clock = new ManualClock();
  const rung: string[] = [];
  const timers = new TimerQueue<{ name: string }>(
    clock,
    ({ name }) => void rung.push(`${name}@${clock.elapsed()}`),
    slackMs,
  );
  return { clock, rung, timers, one: { name: "one" }, two: { name: "two" } };
}

test("each is woken once, at the time set last", async () => {
  const { clock, rung, timers, one, two } = world();
  timers.set(one, 100);
  timers.set(two, 50);
  timers.set(one, 30);
  timers.set(two, 80);
  await clock.advance(200);
  assert.deepEqual(rung, ["one@30", "two@80"]);
  timers.set(one, 10);
  timers.set(two, 10);
  timers.set(one, Number.POSITIVE_INFINITY);
  timers.delete(two);
  await clock.advance(100);
  assert.equal(rung.length, 2);
  timers.set(one, 10);
  timers.stop();
  await clock.advance(100);
  assert.equal(rung.length, 2);
});

test("with slack those that are due close together are woken together, and none early", async () => {
  const { clock, rung, timers, one, two } = world(100);
  timers.set(one, 10);
  timers.set(two, 90);
  await clock.advance(109);
  assert.deepEqual(rung, []);
  await clock.advance(1);
  assert.deepEqual(rung, ["one@110", "two@110"]);
});
