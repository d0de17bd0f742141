import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import type { Change, Entry } from "#store/engine.ts";
import { StoredForm } from "./stored.ts";
import { WatchCache } from "./watch-cache.ts";

const prefix = "/registry/configmaps/";
const key = `${prefix}default/a`;

interface Written {
  readonly cache: WatchCache;
  entry(revision: number, name: string): Entry;
  write(revision: number): void;
  remove(revision: number): void;
}

function cacheOf(): Written {
  const form = new StoredForm(ConfigMap);
  const cache = new WatchCache(prefix, form);
  cache.fill([], 1);
  const entry = (revision: number, name = "a") => {
    const metadata = { name, namespace: "default" };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { at: String(revision) } };
    const made = { key: `${prefix}default/${name}`, value: form.encode(object), created: 2, modified: revision };
    form.written(object, made);
    return made;
  };
  const apply = (change: Change) => cache.apply([change]);
  return {
    cache,
    entry,
    write: (revision) => apply({ type: "put", entry: entry(revision) }),
    remove: (revision) => apply({ type: "delete", entry: { ...entry(revision), value: new Uint8Array() } }),
  };
}

test("events up to a revision are let go, but for the newest thousand", () => {
  const { cache, write } = cacheOf();
  for (let revision = 2; revision <= 3_001; revision++) write(revision);
  cache.forget(1_000);
  assert.equal(cache.oldest, 1_000);
  assert.equal(cache.since(1_000).length, 2_001);
  cache.forget(3_001);
  assert.equal(cache.oldest, 3_001 - 1_024);
  assert.equal(cache.since(cache.oldest).length, 1_024);
  cache.forget(3_001);
  assert.equal(cache.oldest, 3_001 - 1_024);
  assert.equal(cache.get(key)?.revision, 3_001);
});

test("a deleted object is told as it was last, with the revision of its deletion", () => {
  const { cache, write, remove } = cacheOf();
  write(9);
  remove(10);
  const [event] = cache.since(9);
  const expected = {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { resourceVersion: "10", name: "a", namespace: "default" },
    data: { at: "9" },
  };
  assert.deepEqual(event?.deleted?.object, expected);
  assert.equal(new TextDecoder().decode(event?.deleted?.json), `${JSON.stringify(expected)}\n`);
});

test("objects that come together are all there for who is told of them, and kept as bytes afterwards", () => {
  const { cache, entry } = cacheOf();
  const held: boolean[] = [];
  cache.listen({
    events: (events) => {
      for (const { current } of events) held.push(current?.held !== undefined);
    },
    reset: () => undefined,
  });
  const put = (revision: number): Change => ({ type: "put", entry: entry(revision, `a-${revision}`) });
  cache.apply(Array.from({ length: 100 }, (_, i) => put(i + 2)));
  assert.deepEqual(held, Array(100).fill(true));
  cache.settle(101);
  cache.apply([put(102)]);
  assert.equal(heldIn(cache), 33);
  cache.settle(102 + 1_023);
  assert.equal(heldIn(cache), 1);
  cache.settle(102 + 1_024);
  assert.equal(heldIn(cache), 0);
});

const heldIn = (cache: WatchCache): number => cache.list(prefix).filter((stored) => stored.held).length;

/** A cache of a hundred objects, none of which is fresh. */
function settledCache(isHeld: boolean): { readonly cache: WatchCache; readonly release: () => void } {
  const { cache, entry } = cacheOf();
  const release = isHeld ? cache.hold() : () => undefined;
  cache.apply(Array.from({ length: 100 }, (_, i) => ({ type: "put", entry: entry(i + 2, `a-${i}`) })));
  cache.settle(102 + 1_024);
  return { cache, release };
}

test("what is asked for is kept in both forms while it is asked for, and then in the one it was in", async () => {
  for (const isHeld of [true, false]) {
    const { cache } = settledCache(isHeld);
    const stored = cache.get(`${prefix}default/a-5`);
    assert.ok(stored);
    const { json, object } = stored;
    for (let asked = 0; asked < 3; asked++) {
      assert.equal(stored.json, json);
      await cache.rest();
    }
    await cache.rest();
    assert.deepEqual(stored.json, json);
    assert.equal(stored.json !== json, isHeld);
    assert.equal(stored.object, object);
  }
});

test("objects that others hold are kept as objects until those have been gone for a while", async () => {
  const { cache, release } = settledCache(true);
  assert.equal(heldIn(cache), 100);
  release();
  await cache.rest();
  assert.equal(heldIn(cache), 100);
  const releaseAgain = cache.hold();
  await cache.rest();
  await cache.rest();
  assert.equal(heldIn(cache), 100);
  releaseAgain();
  await cache.rest();
  await cache.rest();
  assert.equal(heldIn(cache), 0);
  assert.equal(cache.get(`${prefix}default/a-5`)?.object.metadata.name, "a-5");
});

test("objects that were bytes are kept as objects once someone holds them", async () => {
  const { cache } = settledCache(false);
  assert.equal(heldIn(cache), 0);
  cache.hold();
  const bytes = cache.list(prefix).map(({ json }) => json);
  for (const stored of cache.list(prefix)) assert.ok(stored.object);
  await cache.rest();
  await cache.rest();
  const again = cache.list(prefix).map(({ json }) => json);
  assert.deepEqual(again, bytes);
  assert.ok(again.every((json, i) => json !== bytes[i]));
});

for (const keepsObjects of [true, false])
  for (const isHeld of [true, false])
    test(`no event keeps the memory of the store that a change came in: ${JSON.stringify({ keepsObjects, isHeld })}`, () => {
      const form = new StoredForm(ConfigMap);
      const cache = new WatchCache(prefix, form, keepsObjects);
      cache.fill([], 1);
      if (isHeld) cache.hold();
      const slab = new Uint8Array(4096);
      let used = 0;
      const entry = (at: number, modified: number): Entry => {
        const object = {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "a", namespace: "default" },
          data: { at: String(at) },
        };
        const bytes = form.encode(object);
        slab.set(bytes, used);
        used += bytes.length;
        const made = { key, value: slab.subarray(used - bytes.length, used), created: 2, modified };
        form.written(object, made);
        return made;
      };
      const [first, second] = [entry(2, 2), entry(3, 3)];
      cache.apply([{ type: "put", entry: first }]);
      cache.apply([{ type: "put", entry: second, previous: first }]);
      cache.apply([{ type: "delete", entry: { ...second, value: new Uint8Array(), modified: 4 }, previous: second }]);
      cache.settle(4 + 1_024);
      slab.fill(0); // another write has it now
      const said = cache
        .since(1)
        .flatMap(({ previous, current, deleted }) => [previous, current, deleted])
        .map((stored) => stored && /"at":"(\d)"/.exec(new TextDecoder().decode(stored.json))?.[1]);
      assert.deepEqual(said, [undefined, "2", undefined, "2", "3", undefined, "3", undefined, "3"]);
    });
