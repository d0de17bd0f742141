import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "./clock.ts";
import { ApiError, explain } from "./errors.ts";
import { createLog } from "./log.ts";
import { seededRandom, systemRandom } from "./random.ts";
import { retry } from "./retry.ts";
import { type Component, outlive, supervise } from "./supervise.ts";

const untilAborted = (name: string, ended: string[]): Component => ({
  name,
  run: (signal) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        ended.push(name);
        reject(signal.reason);
      }),
    ),
});

test("supervise ends quietly when it is asked to", async () => {
  const ended: string[] = [];
  const stop = new AbortController();
  const running = supervise([untilAborted("a", ended), untilAborted("b", ended)], stop.signal);
  stop.abort(new Error("bye"));
  await running;
  assert.deepEqual(ended, ["a", "b"]);
});

test("supervise stops the others when one fails, and says which", async () => {
  const ended: string[] = [];
  const failing: Component = { name: "bad", run: () => Promise.reject(new Error("disk on fire")) };
  await assert.rejects(
    supervise([untilAborted("a", ended), failing], new AbortController().signal),
    (error) => explain(error) === "component bad failed: disk on fire",
  );
  assert.deepEqual(ended, ["a"]);
});

test("a component that ends early has failed", async () => {
  const early: Component = { name: "early", run: () => Promise.resolve() };
  await assert.rejects(
    supervise([early], new AbortController().signal),
    (error) => explain(error) === "component early failed: ended before it was asked to",
  );
});

test("who serves outlives its user, who may take his time to end", async () => {
  const ended: string[] = [];
  const stop = new AbortController();
  const mayEnd = Promise.withResolvers<void>();
  const user: Component = {
    name: "user",
    async run() {
      await mayEnd.promise;
      ended.push("user");
    },
  };
  const running = outlive(untilAborted("server", ended), user, stop.signal);
  stop.abort(new Error("bye"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(ended, []);
  mayEnd.resolve();
  await running;
  assert.deepEqual(ended, ["user", "server"]);
});

test("who serves and his user fail together, for the reason of the one that failed", async () => {
  const failing = (name: string): Component => ({ name, run: () => Promise.reject(new Error("disk on fire")) });
  for (const [server, user] of [
    [failing("a"), untilAborted("b", [])],
    [untilAborted("b", []), failing("a")],
  ] as const)
    await assert.rejects(
      outlive(server, user, new AbortController().signal),
      (error) => explain(error) === "component a failed: disk on fire",
    );
});

test("retry waits longer each time, and gives up as told", async () => {
  const clock = new ManualClock();
  const times: number[] = [];
  const attempt = retry(
    async () => {
      times.push(clock.elapsed());
      throw new Error("still down");
    },
    { clock, firstMs: 100, maxMs: 300, tries: 4 },
    new AbortController().signal,
  );
  const failed = assert.rejects(attempt, /still down/);
  await clock.advance(1000);
  await failed;
  assert.deepEqual(times, [0, 100, 300, 600]);
});

test("retry does not repeat what is not worth it", async () => {
  let tries = 0;
  const refused = new ApiError({ code: 403, reason: "Forbidden", message: "no" });
  const attempt = retry(
    async () => {
      tries++;
      throw refused;
    },
    { clock: new ManualClock(), firstMs: 1, maxMs: 1, when: (error) => !(error instanceof ApiError) },
    new AbortController().signal,
  );
  await assert.rejects(attempt, refused);
  assert.equal(tries, 1);
});

test("the same seed gives the same sequence, uuids included", () => {
  const draw = (seed: number) => {
    const random = seededRandom(seed);
    return [random.next(), random.below(10), random.uuid()];
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  for (const random of [seededRandom(1), systemRandom])
    assert.match(random.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("log writes one line per entry with inherited fields, errors with their causes, and never fails", () => {
  const lines: string[] = [];
  const log = createLog({
    clock: new ManualClock("2026-01-01T00:00:00Z"),
    level: "info",
    write: (line) => lines.push(line),
  }).with({ component: "kubelet" });
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  log.debug("unseen");
  log.info("pod started", { pod: "web", loop, big: 10n });
  log.error("failed", { error: new Error("outer", { cause: new Error("inner") }) });
  const [first, second] = lines.map((line) => JSON.parse(line));
  assert.deepEqual(first, {
    time: "2026-01-01T00:00:00.000Z",
    level: "info",
    message: "pod started",
    component: "kubelet",
    pod: "web",
    loop: { self: "(seen above)" },
    big: "10",
  });
  assert.equal(second.error.cause.message, "inner");
  assert.equal(lines.length, 2);
});
