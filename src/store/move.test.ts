import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { copyStore } from "./copy.ts";
import { Compacted } from "./engine.ts";
import { EtcdStore } from "./host/etcd.ts";
import { openLmdbStore } from "./host/lmdb.ts";
import { MemoryStore } from "./memory.ts";
import { catchUp, compareStores, raiseRevision } from "./move.ts";
import { noEtcd, startEtcd } from "./testing/etcd.ts";

const { signal } = new AbortController();
const bytes = (text: string) => new TextEncoder().encode(text);

test("a store moves to etcd while it is written to: nothing is lost, and revisions go on from where they were", {
  skip: noEtcd,
}, async (t) => {
  const etcd = await startEtcd();
  t.after(() => etcd.stop());
  const to = new EtcdStore({ endpoints: etcd.endpoints, clock: systemClock, random: seededRandom(1), log: silentLog });
  t.after(() => to.close());
  const from = new MemoryStore({ clock: systemClock });
  t.after(() => from.close());
  for (let i = 0; i < 700; i++) await from.put(`/registry/a/${i}`, bytes(`${i}`), 0);
  const since = await from.revision();
  await raiseRevision(to, since, signal);
  await copyStore(from, to, signal);

  const [first, second] = [await from.get("/registry/a/1"), await from.get("/registry/a/2")];
  await from.put("/registry/a/1", bytes("changed"), first?.modified ?? 0);
  await from.delete("/registry/a/2", second?.modified ?? 0);
  for (let i = 0; i < 900; i++) await from.put(`/registry/b/${i % 3}-${i}`, bytes("new"), 0, { ttlSeconds: 3600 });
  await assert.rejects(compareStores(from, to, signal), /differs/);

  const last = await from.revision();
  const { written, removed, entries } = await catchUp(from, to, since, signal);
  assert.deepEqual([written, removed, entries], [901, 1, 1599]);
  await compareStores(from, to, signal);
  await raiseRevision(to, last, signal);
  const newest = await to.revision();
  assert.ok(newest > last);
  await to.compact(newest);
  await assert.rejects(
    async () => {
      for await (const _ of to.watch("/registry/", since, signal)) break;
    },
    (error) => error instanceof Compacted,
  );
  assert.ok(((await to.ttlSeconds("/registry/b/0-0")) ?? 0) > 3000, "times to live come along");
  assert.deepEqual((await to.list("knarr-")).entries, []);
});

test("keys whose time has run out do not disturb a copy that keeps revisions, and copies may differ in them", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-adopt-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const to = await openLmdbStore({ folder, clock: systemClock });
  t.after(() => to.close());
  const total = 20_000;
  async function* entries() {
    for (let i = 0; i < total; i++) {
      const entry = { key: `/a/${i}`, value: bytes(`${i}`), created: i + 2, modified: i + 2 };
      yield i < 10 ? { ...entry, ttlSeconds: 0 } : entry;
    }
  }
  await to.adopt({ revision: total + 1, entries: entries() });
  const last = await to.put("/b", bytes("after"), 0);
  assert.ok(last.modified > total + 1);
  while ((await to.get("/a/9")) !== undefined) await to.put("/c", bytes("turn"), (await to.get("/c"))?.modified ?? 0);
  assert.equal((await to.list("/a/")).entries.length, total - 10);

  const from = new MemoryStore({ clock: systemClock });
  t.after(() => from.close());
  for (const { key, value } of (await to.list("/")).entries) await from.put(key, value, 0);
  await from.put("/a/0", bytes("0"), 0, { ttlSeconds: 3600 });
  await compareStores(from, to, signal);
  await from.put("/d", bytes("more"), 0);
  await assert.rejects(compareStores(from, to, signal), /differs from its source in \/d/);
  await assert.rejects(compareStores(to, from, signal), /has \/d, which its source does not have/);
});
