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
  const entry = (revision: number, name = "a") => ({
    key: `${prefix}default/${name}`,
    value: form.encode({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default" },
      data: { at: String(revision) },
    }),
    created: 2,
    modified: revision,
  });
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
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { resourceVersion: "10", name: "a", namespace: "default" },
    data: { at: "9" },
  };
  assert.deepEqual(event?.deleted?.object, expected);
  assert.equal(new TextDecoder().decode(event?.deleted?.json), JSON.stringify(expected));
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
  cache.apply([put(102)]);
  const still = cache.list(prefix).filter((stored) => stored.held);
  assert.equal(still.length, 33);
});
