import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import { WorkerPool } from "./worker-pool.ts";

function world(count: number) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const pool = new WorkerPool<string>({
    name: "test",
    count,
    async work(target) {
      begun.push(target);
      await new Promise<void>((resolve) => ends.set(target, resolve));
    },
  });
  const stop = new AbortController();
  const running = pool.run(stop.signal);
  const end = async (target: string) => {
    ends.get(target)?.();
    for (let i = 0; i < 3; i++) await turn();
  };
  return { pool, begun, end, stop, running };
}

test("no more are worked on than there are workers, and what was begun comes first", async () => {
  const { pool, begun, end, stop, running } = world(2);
  for (const target of ["a", "b", "c", "d"]) pool.add(target);
  await turn();
  assert.deepEqual(begun, ["a", "b"]);
  pool.add("d", "first");
  await end("a");
  assert.deepEqual(begun, ["a", "b", "d"]);
  pool.delete("c");
  await end("b");
  await end("d");
  assert.deepEqual(begun, ["a", "b", "d"]);
  assert.equal(pool.isIdle, true);
  stop.abort(new Error("over"));
  await assert.rejects(running, { message: "over" });
});

test("nothing is worked on twice at a time, but again if it was added meanwhile", async () => {
  const { pool, begun, end, stop, running } = world(3);
  pool.add("a");
  await turn();
  pool.add("a");
  pool.add("a", "first");
  await turn();
  assert.deepEqual(begun, ["a"]);
  await end("a");
  assert.deepEqual(begun, ["a", "a"]);
  await end("a");
  assert.equal(begun.length, 2);
  stop.abort(new Error("over"));
  await assert.rejects(running);
});

test("a failure that is not about one target ends the pool", async () => {
  const pool = new WorkerPool<string>({ name: "test", count: 1, work: () => Promise.reject(new Error("a bug")) });
  pool.add("a");
  await assert.rejects(pool.run(new AbortController().signal), { message: "a bug" });
});
