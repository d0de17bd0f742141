import assert from "node:assert/strict";
import { test } from "node:test";
import { Alarm } from "./alarm.ts";
import { ManualClock } from "./clock.ts";

function world(slackMs?: number) {
  const clock = new ManualClock();
  const rung: string[] = [];
  const alarm = new Alarm<{ name: string }>(clock, ({ name }) => void rung.push(`${name}@${clock.elapsed()}`), slackMs);
  return { clock, rung, alarm, one: { name: "one" }, two: { name: "two" } };
}

test("each is woken once, at the time set last", async () => {
  const { clock, rung, alarm, one, two } = world();
  alarm.set(one, 100);
  alarm.set(two, 50);
  alarm.set(one, 30);
  alarm.set(two, 80);
  await clock.advance(200);
  assert.deepEqual(rung, ["one@30", "two@80"]);
  alarm.set(one, 10);
  alarm.set(two, 10);
  alarm.set(one, Number.POSITIVE_INFINITY);
  alarm.delete(two);
  await clock.advance(100);
  assert.equal(rung.length, 2);
  alarm.set(one, 10);
  alarm.stop();
  await clock.advance(100);
  assert.equal(rung.length, 2);
});

test("with slack those that are due close together are woken together, and none early", async () => {
  const { clock, rung, alarm, one, two } = world(100);
  alarm.set(one, 10);
  alarm.set(two, 90);
  await clock.advance(109);
  assert.deepEqual(rung, []);
  await clock.advance(1);
  assert.deepEqual(rung, ["one@110", "two@110"]);
});
