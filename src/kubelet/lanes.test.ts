import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import { Lanes } from "./lanes.ts";

function world(count: number) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const lanes = new Lanes<string>({
    name: "test",
    count,
    async work(target) {
      begun.push(target);
      await new Promise<void>((resolve) => ends.set(target, resolve));
    },
  });
  const stop = new AbortController();
  const running = lanes.run(stop.signal);
  const end = async (target: string) => {
    ends.get(target)?.();
    for (let i = 0; i < 3; i++) await turn();
  };
  return { lanes, begun, end, stop, running };
}

test("no more are worked on than there are lanes, and what was begun comes first", async () => {
  const { lanes, begun, end, stop, running } = world(2);
  for (const target of ["a", "b", "c", "d"]) lanes.add(target);
  await turn();
  assert.deepEqual(begun, ["a", "b"]);
  lanes.add("d", "first");
  await end("a");
  assert.deepEqual(begun, ["a", "b", "d"]);
  lanes.delete("c");
  await end("b");
  await end("d");
  assert.deepEqual(begun, ["a", "b", "d"]);
  assert.equal(lanes.isIdle, true);
  stop.abort(new Error("over"));
  await assert.rejects(running, { message: "over" });
});

test("nothing is worked on twice at a time, but again if it was added meanwhile", async () => {
  const { lanes, begun, end, stop, running } = world(3);
  lanes.add("a");
  await turn();
  lanes.add("a");
  lanes.add("a", "first");
  await turn();
  assert.deepEqual(begun, ["a"]);
  await end("a");
  assert.deepEqual(begun, ["a", "a"]);
  await end("a");
  assert.equal(begun.length, 2);
  stop.abort(new Error("over"));
  await assert.rejects(running);
});

test("a failure that is not about one target ends the lanes", async () => {
  const lanes = new Lanes<string>({ name: "test", count: 1, work: () => Promise.reject(new Error("a bug")) });
  lanes.add("a");
  await assert.rejects(lanes.run(new AbortController().signal), { message: "a bug" });
});
