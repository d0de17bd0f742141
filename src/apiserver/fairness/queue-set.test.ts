import assert from "node:assert/strict";
import { test } from "node:test";
import type { FairRequest } from "./request-list.ts";
import { queued, TestLevel } from "./testing.ts";

const wide = (initialSeats: number) => ({ initialSeats, finalSeats: 0, additionalMs: 0 });
const near = (value: number, expected: number, tolerance = 0.1) =>
  assert.ok(Math.abs(value - expected) <= expected * tolerance, `${value} is not about ${expected}`);
const running = (request: FairRequest | string): FairRequest => {
  assert.ok(typeof request !== "string", String(request));
  return request;
};

test("flows that want more than there is get equal shares, however many requests each sends", async () => {
  const level = new TestLevel(queued(64, 4, 50), 4);
  const [few, many, crowd] = [level.flood("few", 4, 10), level.flood("many", 20, 10), level.flood("crowd", 200, 10)];
  await level.clock.advance(10_000);
  for (const { served } of [few, many, crowd]) near(served, 4000 / 3);
});

test("a flow whose requests take longer gets no more time than others", async () => {
  const level = new TestLevel(queued(64, 4, 50), 6);
  const [short, long] = [level.flood("short", 30, 5), level.flood("long", 30, 50)];
  await level.clock.advance(20_000);
  near(short.seatMs, long.seatMs);
});

test("a flow whose requests are wide gets no more seats than others", async () => {
  const level = new TestLevel(queued(64, 4, 50), 12);
  const [narrow, broad] = [level.flood("narrow", 40, 10), level.flood("broad", 40, 10, wide(4))];
  await level.clock.advance(10_000);
  near(narrow.seatMs, broad.seatMs, 0.15);
});

test("who asks for little is served at once while another floods", async () => {
  const level = new TestLevel(queued(64, 6, 50), 4);
  level.flood("flood", 250, 20, wide(2));
  await level.clock.advance(1000);
  const waits: number[] = [];
  for (let i = 0; i < 50; i++) {
    const request = running(level.start("quiet"));
    const at = level.clock.elapsed();
    const served = () => {
      waits.push(level.clock.elapsed() - at);
      level.clock.after(1, () => level.finish(request));
    };
    if (request.state === "executing") served();
    else request.decided = served;
    await level.clock.advance(100);
  }
  assert.equal(waits.length, 50);
  assert.ok(Math.max(...waits) <= 40, `${Math.max(...waits)} ms`);
});

test("a queue that used little for a long time has saved nothing up", async () => {
  const level = new TestLevel(queued(2, 1, 100), 1);
  level.flood("a", 1, 10);
  await level.clock.advance(60_000);
  const before = level.flood("a", 20, 10);
  const other = level.flood("c", 20, 10);
  await level.clock.advance(4000);
  assert.ok(other.served > 100 && before.served > 100, `${before.served} and ${other.served}`);
});

test("requests beyond the queues are rejected, and those of other flows are not", () => {
  const level = new TestLevel(queued(64, 2, 10), 1);
  const results = Array.from({ length: 40 }, () => level.start("flood"));
  assert.equal(results.filter((one) => one === "queue-full").length, 40 - 1 - 20);
  assert.equal(running(level.start("quiet", wide(2))).state, "waiting");
  assert.equal(level.queues.totals.rejected, 19);
});

test("who has nothing under way waits for nobody's seats, as long as it asks for one alone", () => {
  const level = new TestLevel(queued(64, 4, 50), 4);
  for (let i = 0; i < 20; i++) level.start("flood", wide(4));
  const first = running(level.start("quiet"));
  assert.deepEqual([first.state, running(level.start("quiet")).state], ["executing", "waiting"]);
  assert.equal(running(level.start("other", wide(2))).state, "waiting");
  const others = Array.from({ length: 20 }, (_, i) => running(level.start(`user ${i}`)).state);
  assert.equal(others.filter((state) => state === "executing").length, 3, "at most twice the seats are in use");
});

test("without queues there is a limit alone, and exempt requests have none", () => {
  const rejecting = new TestLevel({ type: "reject" }, 2);
  assert.deepEqual(
    [1, 2, 3].map(() => typeof rejecting.start("a")),
    ["object", "object", "string"],
  );
  const exempt = new TestLevel({ type: "exempt" }, 0);
  for (let i = 0; i < 1000; i++) assert.equal(running(exempt.start("a")).state, "executing");
});

test("a request that waits no longer leaves its queue, and its place to the next", async () => {
  const level = new TestLevel(queued(4, 1, 10), 1);
  const first = running(level.start("a"));
  const [second, third] = [running(level.start("a")), running(level.start("a"))];
  const decisions: string[] = [];
  second.decided = (isExecuted) => decisions.push(`second ${isExecuted}`);
  third.decided = (isExecuted) => decisions.push(`third ${isExecuted}`);
  assert.equal(level.queues.cancel(second, 5), true);
  assert.equal(level.queues.cancel(second, 5), false);
  level.queues.finish(first, 10);
  assert.deepEqual(decisions, ["second false", "third true"]);
  assert.deepEqual({ ...level.tally }, { waiting: 0, waitingSeats: 0, executing: 1, executingSeats: 1 });
  assert.equal(level.queues.totals.cancelled, 1);
});

test("a wide request waits until there are seats for all of it, and nobody overtakes it", () => {
  const level = new TestLevel(queued(1, 1, 10), 4);
  const running1 = [running(level.start("a")), running(level.start("a"))];
  const broad = running(level.start("a", wide(3)));
  const narrow = running(level.start("a"));
  assert.deepEqual([broad.state, narrow.state], ["waiting", "waiting"]);
  for (const one of running1) level.finish(one);
  assert.deepEqual([broad.state, narrow.state], ["executing", "executing"]);
});

test("a request wider than its level is served alone", () => {
  const level = new TestLevel(queued(1, 1, 10), 2);
  const one = running(level.start("a"));
  const broad = running(level.start("a", wide(5)));
  assert.equal(broad.state, "waiting");
  level.finish(one);
  assert.equal(broad.state, "executing");
  assert.equal(running(level.start("a")).state, "waiting");
});

test("seats for the events of a write are kept until those are sent", async () => {
  const level = new TestLevel(queued(1, 1, 10), 3);
  const write = running(level.start("a", { initialSeats: 1, finalSeats: 3, additionalMs: 5 }));
  level.finish(write);
  const next = running(level.start("a"));
  assert.equal(next.state, "waiting");
  assert.ok(level.queues.totals.executing === 0, "the client has its answer");
  await level.clock.advance(5);
  assert.equal(next.state, "executing");
});

test("queues that are too many go when they are empty, and none of their requests is lost", async () => {
  const level = new TestLevel(queued(8, 2, 50), 2);
  const floods = ["a", "b", "c", "d"].map((flow) => level.flood(flow, 8, 10));
  await level.clock.advance(100);
  level.queues.configure(queued(3, 1, 50), 2, level.clock.elapsed());
  await level.clock.advance(2000);
  assert.equal(level.queues.queues.length, 3);
  const { waiting, executing } = level.queues.totals;
  assert.equal(waiting + executing, 32);
  for (const { served } of floods) assert.ok(served > 20, String(served));
});
