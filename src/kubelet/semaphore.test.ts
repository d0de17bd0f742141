import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { Semaphore } from "./semaphore.ts";

function world(count: number) {
  const clock = new ManualClock();
  const semaphore = new Semaphore({ count, maxHoldMs: 1000, clock });
  const stop = new AbortController();
  const inside = new Map<string, PromiseWithResolvers<void>>();
  const enter = (name: string) =>
    semaphore.run(async () => {
      const work = Promise.withResolvers<void>();
      inside.set(name, work);
      await work.promise.finally(() => inside.delete(name));
      return name;
    }, stop.signal);
  const settled = () => clock.advance(0);
  return { clock, stop, inside, enter, settled, names: () => [...inside.keys()].join(" ") };
}

test("few are inside at once, in the order in which they came", async () => {
  const { enter, inside, names, settled } = world(2);
  const all = ["a", "b", "c", "d"].map(enter);
  await settled();
  assert.equal(names(), "a b");
  inside.get("b")?.resolve();
  await settled();
  assert.equal(names(), "a c");
  inside.get("a")?.reject(new Error("no room"));
  await assert.rejects(all[0] ?? Promise.resolve(), /no room/);
  await settled();
  assert.equal(names(), "c d");
  inside.get("c")?.resolve();
  inside.get("d")?.resolve();
  assert.deepEqual(await Promise.all(all.slice(1)), ["b", "c", "d"]);
});

test("one that is stuck keeps nobody out for long, and gives up its place once", async () => {
  const { clock, enter, inside, names, settled } = world(1);
  const all = ["a", "b", "c"].map(enter);
  await settled();
  assert.equal(names(), "a");
  await clock.advance(1000);
  assert.equal(names(), "a b");
  inside.get("a")?.resolve();
  await settled();
  assert.equal(names(), "b");
  inside.get("b")?.resolve();
  await settled();
  assert.equal(names(), "c");
  inside.get("c")?.resolve();
  await Promise.all(all);
});

test("whoever gives up waiting takes no place", async () => {
  const { enter, inside, names, stop, settled } = world(1);
  const first = enter("a");
  const second = enter("b");
  await settled();
  inside.get("a")?.resolve(); // lets b in at the moment at which it gives up
  stop.abort(new Error("the end"));
  await first;
  await assert.rejects(second, /the end/);
  assert.equal(names(), "");
});
