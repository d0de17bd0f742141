import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import { ManualClock } from "#base/clock.ts";
import { type Discovery, followDiscovery, GroupDiscoveryFailed } from "./discovery.ts";

test("groups that failed are said in upstream's words", () => {
  const failures = new Map([
    ["b.example.com/v1", new Error("no answer")],
    ["a.example.com/v1", new Error("stale GroupVersion discovery: a.example.com/v1")],
  ]);
  assert.equal(
    new GroupDiscoveryFailed(failures).message,
    "unable to retrieve the complete list of server APIs: " +
      "a.example.com/v1: stale GroupVersion discovery: a.example.com/v1, b.example.com/v1: no answer",
  );
});

test("one looks at once, at intervals, and when a change is told, once for all changes that were told meanwhile", async () => {
  const clock = new ManualClock(0);
  const listeners = new Set<() => void>();
  const discovery: Discovery = {
    discover: async () => ({ kinds: [], failures: new Map() }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const tell = () => {
    for (const listener of listeners) listener();
  };
  const settle = async () => {
    for (let i = 0; i < 10; i++) await turn();
  };
  const looks: string[] = [];
  let busy = Promise.resolve();
  const stop = new AbortController();
  const following = followDiscovery(
    discovery,
    {
      clock,
      everyMs: 1000,
      async look(occasion) {
        looks.push(`${occasion} ${clock.elapsed()}`);
        await busy;
      },
    },
    stop.signal,
  );
  await settle();
  const held = Promise.withResolvers<void>();
  busy = held.promise;
  await clock.advance(400);
  tell();
  await settle();
  tell();
  tell();
  busy = Promise.resolve();
  held.resolve();
  await settle();
  await clock.advance(600);
  await settle();
  assert.deepEqual(looks, ["time 0", "change 400", "change 400", "time 1000"]);
  stop.abort(new Error("over"));
  await assert.rejects(following, /over/);
  assert.equal(listeners.size, 0);
});
