import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Compacted, type StoreEngine } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import { StoreFollower } from "./store-follower.ts";
import { StoredForm } from "./stored.ts";
import type { CacheEvent } from "./watch-cache.ts";

const prefix = "/registry/configmaps/";
const form = new StoredForm(ConfigMap);

function configMap(name: string, text: string): Uint8Array {
  return form.encode({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "x" }, data: { text } });
}

/** A running follower that caches secrets, over a store on which `before` is called before each list below the prefix. */
async function running(before: (store: MemoryStore, call: number) => Promise<void>) {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const memory = new MemoryStore({ clock });
  let calls = 0;
  const store: StoreEngine = new Proxy(memory, {
    get(target, property) {
      if (property === "list")
        return async (...args: Parameters<StoreEngine["list"]>) => {
          const page = args[0] === prefix ? before(target, ++calls) : undefined;
          await page;
          return target.list(...args);
        };
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const follower = new StoreFollower({ store, clock, log: silentLog });
  follower.add("/registry/secrets/", new StoredForm(Secret));
  const stop = new AbortController();
  const done = follower.run(stop.signal);
  await follower.seen(0, stop.signal);
  return {
    memory,
    follower,
    signal: stop.signal,
    calls: () => calls,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await done;
    },
  };
}

test("a cache that joins while objects are written holds all of them, and has each later change once", async () => {
  // 2,500 objects are three pages; before each page some are changed, some made and some removed.
  await using world = await running(async (store, call) => {
    const at = await store.put(`${prefix}x/new-${call}`, configMap(`new-${call}`, "made"), 0);
    await store.put(`${prefix}x/new-${call}`, configMap(`new-${call}`, "changed"), at.modified);
    const old = await store.get(`${prefix}x/old-${call}`);
    await store.delete(`${prefix}x/old-${call}`, old?.modified ?? 0);
  });
  const { memory, follower, signal } = world;
  for (let i = 0; i < 2500; i++) await memory.put(`${prefix}x/old-${i}`, configMap(`old-${i}`, "old"), 0);
  await follower.current(signal);
  const from = follower.revision;
  const cache = await follower.join(prefix, form, signal);
  await memory.put(`${prefix}x/after`, configMap("after", "made"), 0);
  await follower.current(signal);

  assert.equal(world.calls(), 3);
  const { entries } = await memory.list(prefix, {});
  assert.deepEqual(
    cache.list(prefix).map(({ key, revision }) => [key, revision]),
    entries.map(({ key, modified }) => [key, modified]),
  );
  assert.equal(cache.oldest, from);
  const told = (event: CacheEvent) => `${event.revision} ${event.current ? "put" : "delete"}`;
  const changes = [..."123"].flatMap((_, i) => [from + 3 * i + 1, from + 3 * i + 2].map((at) => `${at} put`));
  const deletions = [..."123"].map((_, i) => `${from + 3 * i + 3} delete`);
  assert.deepEqual(
    cache.since(from).map(told).toSorted(),
    [...changes, ...deletions, `${from + 10} put`].toSorted(),
    "one event for each change after the revision at which it joined",
  );
});

test("a cache that joins begins again when the store has forgotten the revision it began at", async () => {
  await using world = await running(async (store, call) => {
    if (call === 1) throw new Compacted(1, 2);
    await store.put(`${prefix}x/late`, configMap("late", "made"), 0).catch(() => undefined); // only the first time
  });
  const { memory, follower, signal } = world;
  await memory.put(`${prefix}x/early`, configMap("early", "made"), 0);
  const cache = await follower.join(prefix, form, signal);
  await follower.current(signal);
  assert.equal(world.calls(), 2);
  assert.deepEqual(
    cache.list(prefix).map(({ key }) => key),
    [`${prefix}x/early`, `${prefix}x/late`],
  );
});

test("whoever no longer waits for a cache that joins leaves nothing behind", async () => {
  const gone = new AbortController();
  await using world = await running(async () => {
    gone.abort(new Error("no longer wanted"));
    gone.signal.throwIfAborted();
  });
  const { memory, follower, signal } = world;
  await assert.rejects(follower.join(prefix, form, gone.signal), { message: "no longer wanted" });
  await memory.put(`${prefix}x/a`, configMap("a", "made"), 0);
  await follower.current(signal); // a change that belongs to no cache harms nobody
});

test("a cache that is removed ends those who listen to it, and is told nothing more; another of its prefix goes on", async () => {
  await using world = await running(async () => undefined);
  const { memory, follower, signal } = world;
  const [first, second] = [await follower.join(prefix, form, signal), await follower.join(prefix, form, signal)];
  const heard: string[] = [];
  first.listen({ events: () => heard.push("first"), reset: () => undefined, end: () => heard.push("first ends") });
  second.listen({ events: () => heard.push("second"), reset: () => undefined, end: () => heard.push("second ends") });
  await memory.put(`${prefix}x/a`, configMap("a", "made"), 0);
  await follower.current(signal);
  follower.remove(first);
  await memory.put(`${prefix}x/b`, configMap("b", "made"), 0);
  await follower.current(signal);
  assert.deepEqual(heard, ["first", "second", "first ends", "second"]);
  assert.equal(first.isClosed, true);
  assert.deepEqual([first.size, second.size], [1, 2]);
});
