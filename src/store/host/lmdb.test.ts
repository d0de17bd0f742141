import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { engineSuite } from "../engine.suite.ts";
import { Compacted, Conflict, type StoreEngine } from "../engine.ts";
import { follow } from "../testing.ts";
import { openLmdbStore } from "./lmdb.ts";
import { checkStore } from "./lmdb-operate.ts";

engineSuite("embedded", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const folder = mkdtempSync(join(tmpdir(), "knarr-store-"));
  let engine: StoreEngine = await openLmdbStore({ folder, clock });
  return {
    engine,
    pass: (seconds) => clock.advance(seconds * 1000),
    exactTime: true,
    async reopen() {
      await engine.close();
      engine = await openLmdbStore({ folder, clock });
      return engine;
    },
    end: async () => rmSync(folder, { recursive: true, force: true }),
  };
});

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-store-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const value = new Uint8Array(100).fill(1);

/** Overwrites a key many times, with many writes under way at once on others. */
async function overwrite(store: StoreEngine, times: number, prefix = ""): Promise<number> {
  const modified = new Map<number, number>();
  for (let i = 0; i < times; i += 50)
    await Promise.all(
      Array.from({ length: 50 }, async (_, key) => {
        modified.set(key, (await store.put(`${prefix}/${key}`, value, modified.get(key) ?? 0)).modified);
      }),
    );
  return await store.revision();
}

test("embedded forgets old history by itself, also in the file, and stays so after a restart", async (t) => {
  const folder = scratch(t);
  const clock = new ManualClock();
  const options = { folder, clock, keepMs: 60_000, keepRevisions: 100 };
  let store = await openLmdbStore(options);
  const newest = await overwrite(store, 3_000);
  const { usedBytes: full = 0 } = await store.status();
  await clock.advance(50_000);
  assert.equal((await store.status()).compacted, 1, "younger than a minute");
  await clock.advance(20_000);
  assert.equal((await store.status()).compacted, newest - 100);
  await store.compact(newest - 100); // resolves when what is forgotten is gone from the file
  const { usedBytes: left = 0 } = await store.status();
  assert.ok(left < full / 4, `${full} → ${left}`);
  await store.close();

  store = await openLmdbStore(options);
  assert.equal((await store.status()).compacted, newest - 100);
  await assert.rejects(store.list("/", { at: newest - 101 }), Compacted);
  assert.equal((await store.list("/", { at: newest - 100 })).entries.length, 50);
  const watcher = follow(store, "/", newest - 100);
  await watcher.caughtUpTo(newest);
  await watcher.stop();
  assert.equal(watcher.changes.length, 100);
  assert.ok(watcher.changes.every(({ previous }) => previous));
  await store.close();
});

test("embedded removes nothing from the file before the file says that it is forgotten", async (t) => {
  const folder = scratch(t);
  const store = await openLmdbStore({ folder, clock: new ManualClock() });
  t.after(() => store.close());
  const forgetting: Promise<void>[] = [];
  // Each begins while the one before it is removing records; what a crash would leave behind is in the snapshots.
  for (let i = 0; i < 30; i++) {
    await overwrite(store, 500, `/${i}`);
    const newest = await store.revision();
    forgetting.push(store.compact(newest - 100), store.compact(newest - 100));
    const snapshot = join(folder, `snapshot-${i}`);
    await store.snapshot(snapshot);
    await checkStore(snapshot);
  }
  await Promise.all(forgetting);
});

test("embedded lists the past far behind what it has in memory", async (t) => {
  const store = await openLmdbStore({ folder: scratch(t), clock: new ManualClock() });
  t.after(() => store.close());
  await overwrite(store, 50);
  const { revision, entries } = await store.list("/");
  await overwriteAgain(store, 12_000);
  const past = await store.list("/", { at: revision });
  assert.deepEqual(
    past.entries.map(({ key, modified }) => [key, modified]),
    entries.map(({ key, modified }) => [key, modified]),
  );
});

async function overwriteAgain(store: StoreEngine, times: number): Promise<void> {
  const modified = new Map((await store.list("/")).entries.map((entry) => [entry.key, entry.modified]));
  const keys = [...modified.keys()];
  for (let i = 0; i < times; i += keys.length)
    await Promise.all(
      keys.map(async (key) => modified.set(key, (await store.put(key, value, modified.get(key) ?? 0)).modified)),
    );
}

test("embedded checks a writer against writes that are still on their way to the disk", async (t) => {
  const store = await openLmdbStore({ folder: scratch(t), clock: new ManualClock() });
  t.after(() => store.close());
  const start = await store.revision();
  // Nobody waits: each write expects the one before it, which has not been answered yet.
  const chain = Array.from({ length: 20 }, (_, i) => store.put("/a", value, i === 0 ? 0 : start + i));
  const late = store.put("/a", value, 0);
  const entries = await Promise.all(chain);
  assert.deepEqual(
    entries.map(({ modified }) => modified),
    Array.from({ length: 20 }, (_, i) => start + i + 1),
  );
  await assert.rejects(late, (error) => error instanceof Conflict && error.present?.modified === start + 20);
});

test("embedded keeps its files from others", async (t) => {
  const folder = join(scratch(t), "new");
  const store = await openLmdbStore({ folder, clock: new ManualClock() });
  await store.snapshot(join(folder, "snapshot"));
  await store.close();
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  for (const name of ["store.lmdb", "store.json", "snapshot"])
    assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes("new")),
    [],
  );
});
