import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { engineSuite } from "./engine.suite.ts";
import { Compacted } from "./engine.ts";
import { MemoryStore } from "./memory.ts";

engineSuite("memory", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  return { engine: new MemoryStore({ clock }), pass: (seconds) => clock.advance(seconds * 1000), exactTime: true };
});

test("memory forgets history older than it was told to keep, but never the newest revisions", async () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock, keepMs: 60_000, keepRevisions: 10 });
  const value = new Uint8Array(1);
  let { modified } = await store.put("/a", value, 0);
  for (let i = 0; i < 99; i++) ({ modified } = await store.put("/a", value, modified));
  await clock.advance(59_000);
  assert.equal((await store.status()).compacted, 1, "younger than a minute");
  await clock.advance(10_000);
  assert.equal((await store.status()).compacted, modified - 10);
  await assert.rejects(store.list("/", { at: modified - 11 }), Compacted);
  await clock.advance(3_600_000);
  assert.equal((await store.status()).compacted, modified - 10);
  await store.close();
});

test("history goes with time alone: nothing that was deleted can be read after the time that it is kept", async () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const { modified } = await store.put("/secret", new Uint8Array(1), 0);
  await store.delete("/secret", modified);
  await clock.advance(290_000);
  assert.equal((await store.list("/", { at: modified })).entries.length, 1);
  await clock.advance(30_000);
  await assert.rejects(store.list("/", { at: modified }), Compacted);
  await store.close();
});

test("memory refuses keys that no engine could give back", async () => {
  const store = new MemoryStore({ clock: new ManualClock() });
  for (const key of ["", "/\ud800", "/".padEnd(2_000, "x")])
    await assert.rejects(store.put(key, new Uint8Array(), 0), RangeError);
  await store.close();
});
