import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "./clock.ts";
import { WorkQueue } from "./queue.ts";

const never = new AbortController().signal;

test("queue holds a key once, however often it is added", async () => {
  const queue = new WorkQueue(new ManualClock());
  for (const key of ["a", "b", "a"]) queue.add(key);
  assert.equal(queue.size, 2);
  assert.deepEqual([await queue.next(never), await queue.next(never)], ["a", "b"]);
});

test("queue never hands a key to two workers, and hands it out again if it was added meanwhile", async () => {
  const queue = new WorkQueue(new ManualClock());
  queue.add("a");
  await queue.next(never);
  queue.add("a");
  assert.equal(queue.size, 0);
  queue.done("a");
  assert.equal(await queue.next(never), "a");
  queue.done("a");
  assert.equal(queue.size, 0);
});

test("queue wakes a waiting worker", async () => {
  const queue = new WorkQueue(new ManualClock());
  const waiting = queue.next(never);
  queue.add("a");
  assert.equal(await waiting, "a");
});

test("queue rejects a waiting worker when its signal aborts, and keeps the key for another", async () => {
  const queue = new WorkQueue(new ManualClock());
  const stop = new AbortController();
  const waiting = queue.next(stop.signal);
  stop.abort(new Error("stop"));
  await assert.rejects(waiting, /stop/);
  queue.add("a");
  assert.equal(await queue.next(never), "a");
});

test("queue retries later each time, and forgets on success", async () => {
  const clock = new ManualClock();
  const queue = new WorkQueue(clock, { firstMs: 10, maxMs: 35 });
  const delays: number[] = [];
  for (let i = 0; i < 4; i++) {
    const start = clock.elapsed();
    queue.retry("a");
    while (queue.size === 0) await clock.advance(1);
    delays.push(clock.elapsed() - start);
    await queue.next(never);
    queue.done("a");
  }
  assert.deepEqual(delays, [10, 20, 35, 35]);
  assert.equal(queue.failures("a"), 4);
  queue.forget("a");
  assert.equal(queue.failures("a"), 0);
});

test("of several delays for one key the earliest counts", async () => {
  const clock = new ManualClock();
  const queue = new WorkQueue(clock);
  queue.addAfter("a", 50);
  queue.addAfter("a", 20);
  queue.addAfter("a", 80);
  await clock.advance(20);
  assert.equal(await queue.next(never), "a");
  queue.done("a");
  await clock.advance(100);
  assert.equal(queue.size, 0);
});

test("a queue that is closed leaves no timer behind", async () => {
  const clock = new ManualClock();
  const queue = new WorkQueue(clock);
  queue.addAfter("a", 10);
  queue.close();
  queue.addAfter("b", 5);
  await clock.advance(20);
  assert.equal(queue.size, 0);
});
