import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { ServerChoice } from "./server-choice.ts";

/** Servers that can be told to refuse, to be silent, or to be well. */
function servers(...names: readonly string[]) {
  const state = new Map<string, "well" | "refuses" | "silent">(names.map((name) => [name, "well"]));
  const clock = new ManualClock();
  const changes: string[] = [];
  const choice = new ServerChoice({
    servers: names,
    ca: "",
    clock,
    log: silentLog,
    onChange: (server) => changes.push(server),
    probe: (server, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        if (state.get(server) === "well") resolve();
        else if (state.get(server) !== "silent") reject(new Error("refused"));
      }),
  });
  const stop = new AbortController();
  const ended = choice.run(stop.signal).catch(() => undefined);
  const end = async () => {
    stop.abort(new Error("over"));
    await clock.advance(10_000);
    await ended;
  };
  return { state, clock, changes, choice, end };
}

test("a server that refuses is left for the first other one that is ready, and not gone back to", async () => {
  const { state, clock, changes, choice, end } = servers("a", "b", "c");
  await clock.advance(10_000);
  assert.deepEqual([choice.current, changes], ["a", []]);
  state.set("a", "refuses").set("b", "refuses");
  await clock.advance(3_000);
  assert.deepEqual([choice.current, changes], ["c", ["c"]]);
  state.set("a", "well").set("b", "well");
  await clock.advance(30_000);
  assert.deepEqual(changes, ["c"]);
  await end();
});

test("a server that is silent is left after two tries; when all are, the last one stays until another answers", async () => {
  const { state, clock, changes, choice, end } = servers("a", "b");
  state.set("a", "silent");
  await clock.advance(4_000);
  assert.equal(choice.current, "a");
  await clock.advance(10_000);
  assert.equal(choice.current, "b");
  state.set("b", "silent");
  await clock.advance(30_000);
  assert.equal(choice.current, "b");
  state.set("a", "well");
  await clock.advance(30_000);
  assert.deepEqual(changes, ["b", "a"]);
  await end();
});

test("a server that was learned of later is asked when the others fail", async () => {
  const { state, clock, choice, end } = servers("a");
  choice.update(["a", "d"]);
  state.set("a", "refuses").set("d", "well");
  await clock.advance(5_000);
  assert.equal(choice.current, "d");
  await end();
});
