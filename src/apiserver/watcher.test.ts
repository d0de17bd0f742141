import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { MemoryStore } from "#store/memory.ts";
import { StoreFollower } from "./store-follower.ts";
import { StoredForm, type StoredObject } from "./stored.ts";
import { everywhere } from "./watch-cache.ts";
import { Feeds, watchEvents } from "./watcher.ts";

const prefix = "/registry/configmaps/";
/** More than a cache keeps, and more than a watcher may have waiting. */
const many = 12_000;

/** A store that is written to, and what follows it. */
function follow(context: TestContext) {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const store = new MemoryStore({ clock });
  const follower = new StoreFollower({ store, clock, log: silentLog });
  const form = new StoredForm(ConfigMap);
  const cache = follower.add(prefix, form);
  const feeds = new Feeds(cache);
  const stop = new AbortController();
  void follower.run(stop.signal);
  context.after(() => stop.abort(new Error("done")));

  const known = new Map<string, number>();
  return {
    store,
    cache,
    async write(name: string, app: string) {
      const metadata = { name, namespace: "default", labels: { app } };
      const value = form.encode({ apiVersion: "v1", kind: "ConfigMap", metadata });
      const { modified } = await store.put(`${prefix}default/${name}`, value, known.get(name) ?? 0);
      known.set(name, modified);
    },
    async remove(name: string) {
      await store.delete(`${prefix}default/${name}`, known.get(name) ?? 0);
      known.delete(name);
    },
    seen: async () => follower.current(stop.signal),
    /** What a watcher of one app is told after a revision. */
    async *told(from: number, app: string) {
      const wants = ({ object }: StoredObject) => object.metadata.labels?.app === app;
      const feed = feeds.of(app, everywhere, wants);
      const about = { cache, follower, store, clock, feed, from, initial: [], bookmark: undefined };
      for await (const batch of watchEvents({ ...about, marksInitial: false }, stop.signal))
        for (const { type, object } of batch) {
          const { name, resourceVersion } = (object as StoredObject["object"]).metadata;
          yield type === "ERROR" ? JSON.stringify(object) : `${type} ${name} ${resourceVersion}`;
        }
    },
  };
}

async function take(told: AsyncIterator<string>, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const { value, done } = await told.next();
    assert.ok(!done, `ended after ${taken.length}`);
    taken.push(value);
  }
  return taken;
}

test("a watch that begins before what the cache has is told all that happened since", async (context) => {
  const { cache, seen, write, told } = follow(context);
  for (let i = 0; i < many; i++) await write(`a-${i}`, "a");
  await seen();
  assert.ok(cache.oldest > 1);
  const expected = Array.from({ length: many }, (_, i) => `ADDED a-${i} ${i + 2}`);
  assert.deepEqual(await take(told(1, "a"), many), expected);
});

test("a watcher that did not read for a long time misses nothing, and gets nothing twice", async (context) => {
  const { seen, write, told } = follow(context);
  await write("a-0", "a");
  const events = told(1, "a");
  await take(events, 1);
  const next = events.next(); // has reached the present, and waits there
  for (let i = 1; i <= many; i++) await write(`a-${i}`, "a");
  await seen();
  const taken = [String((await next).value), ...(await take(events, many - 1))];
  assert.deepEqual(
    taken,
    Array.from({ length: many }, (_, i) => `ADDED a-${i + 1} ${i + 3}`),
  );
  await write("last", "a");
  assert.deepEqual(await take(events, 1), [`ADDED last ${many + 3}`]);
});

test("who reads the past is told the same as who was there", async (context) => {
  const { cache, seen, write, remove, told } = follow(context);
  const there = told(1, "a");
  const heard: string[] = [];
  const hearing = (async () => {
    for await (const event of there) {
      heard.push(event);
      if (event.includes(" last ")) return;
    }
  })();
  for (let i = 0; i < many; i++) {
    const name = `n-${i % 7}`;
    if (i % 11 === 10) await remove(name);
    else await write(name, i % 3 === 0 ? "a" : "b");
    if (i % 11 === 10) await write(name, "a");
  }
  await write("last", "a");
  await hearing;
  await seen();
  assert.ok(cache.oldest > 1);
  assert.ok(["ADDED", "MODIFIED", "DELETED"].every((type) => heard.some((event) => event.startsWith(type))));
  assert.deepEqual(await take(told(1, "a"), heard.length), heard);
});

test("a watch of what the store has forgotten ends with the code that makes clients list again", async (context) => {
  const { store, seen, write, told } = follow(context);
  for (let i = 0; i < many; i++) await write("a", "a");
  await seen();
  await store.compact(await store.revision());
  const [error] = await take(told(1, "a"), 1);
  assert.match(error ?? "", /"code":410/);
});
