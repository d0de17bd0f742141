// A store may keep other bytes than it is given, as one does that encrypts them: what comes back is equal, but never the same array.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { testServer, testUser } from "#apiserver/testing.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { type Change, Conflict, type Entry, type StoreEngine } from "#store/engine.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { MemoryStore } from "#store/memory.ts";
import type { ApiRequest, WatchEvent } from "#wire/api-request.ts";

const masked = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 0x5a);
const unmasked = (entry: Entry): Entry => ({ ...entry, value: masked(entry.value) });

/** Keeps every value masked. */
function maskingStore(store: StoreEngine): StoreEngine {
  const seen = (change: Change): Change => ({
    ...change,
    entry: unmasked(change.entry),
    ...(change.previous && { previous: unmasked(change.previous) }),
  });
  const conflicts = (error: unknown): never => {
    if (!(error instanceof Conflict) || !error.present) throw error;
    throw new Conflict(error.key, 0, unmasked(error.present));
  };
  const begin = store.begin?.bind(store);
  const newest = store.newest?.bind(store);
  return {
    get: async (...call) => {
      const entry = await store.get(...call);
      return entry && unmasked(entry);
    },
    list: async (...call) => {
      const page = await store.list(...call);
      return { ...page, entries: page.entries.map(unmasked) };
    },
    put: (key, value, ...how) => store.put(key, masked(value), ...how).then(unmasked, conflicts),
    ...(begin && {
      begin(key, value, ...how) {
        const begun = begin(key, masked(value), ...how);
        return begun && { entry: unmasked(begun.entry), durable: begun.durable.catch(conflicts) };
      },
    }),
    delete: (...call) => store.delete(...call).catch(conflicts),
    async *watch(...call) {
      for await (const batch of store.watch(...call)) yield { ...batch, changes: batch.changes.map(seen) };
    },
    ...(newest && { newest }),
    revision: (...call) => store.revision(...call),
    compact: (...call) => store.compact(...call),
    status: (...call) => store.status(...call),
    close: () => store.close(),
  };
}

const engines: Readonly<Record<string, (t: TestContext) => Promise<StoreEngine>>> = {
  async "one that can only put"() {
    return new MemoryStore({ clock: new ManualClock("2026-01-01T00:00:00Z") });
  },
  async "one that begins writes"(t) {
    const folder = await mkdtemp(join(tmpdir(), "knarr-masked-"));
    t.after(() => rm(folder, { recursive: true }));
    return openLmdbStore({ folder, clock: systemClock });
  },
};

const path = "/api/v1/namespaces/default/configmaps";

for (const [name, open] of Object.entries(engines))
  test(`a store that keeps other bytes serves every verb: ${name}`, async (t) => {
    const inner = await open(t);
    await using server = await testServer({ store: maskingStore(inner) });
    const { signal } = new AbortController();
    const watched: WatchEvent[] = [];
    const watch = await server.server.request(requestOf("watch", signal));
    assert.equal(watch.type, "watch");
    const watching = (async () => {
      for await (const events of watch.type === "watch" ? watch.events : []) {
        watched.push(...events);
        if (events.some(({ type }) => type === "DELETED")) return;
      }
    })();

    const created = await server.call("POST", path, { metadata: { name: "a" }, data: { n: "0" } });
    assert.equal(created.code, 201);
    const patches = Array.from({ length: 10 }, (_, i) =>
      server.call(
        "PATCH",
        `${path}/a`,
        { data: { [`n${i}`]: "1" } },
        { "content-type": "application/merge-patch+json" },
      ),
    );
    for (const { code } of await Promise.all(patches)) assert.equal(code, 200);
    const { json: got } = await server.call("GET", `${path}/a`);
    assert.equal(Object.keys(got.data as object).length, 11);
    const { json: list } = await server.call("GET", path);
    assert.deepEqual(
      (list.items as object[]).map((item) => ({ ...item, kind: "ConfigMap", apiVersion: "v1" })),
      [got],
    );
    const { json: past } = await server.call(
      "GET",
      `${path}?resourceVersion=${created.json.metadata.resourceVersion}&resourceVersionMatch=Exact`,
    );
    assert.deepEqual((past.items as { data: object }[])[0]?.data, { n: "0" });
    const raw = await inner.get("/registry/configmaps/default/a");
    assert.ok(raw && raw.value[0] === ("{".charCodeAt(0) ^ 0x5a), "it is kept masked");
    assert.equal((await server.call("DELETE", `${path}/a`)).code, 200);
    assert.equal((await server.call("GET", `${path}/a`)).code, 404);

    await watching;
    const last = watched.filter(({ type }) => type === "MODIFIED").at(-1);
    assert.deepEqual(last?.object, got);
    assert.deepEqual(
      watched.map(({ type }) => type),
      ["ADDED", ...Array(10).fill("MODIFIED"), "DELETED"],
    );
  });

const requestOf = (verb: "watch", signal: AbortSignal): ApiRequest => ({
  group: "",
  version: "v1",
  resource: "configmaps",
  verb,
  user: testUser,
  query: new URLSearchParams("resourceVersion=1"),
  userAgent: "test/1",
  signal,
});
