import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import { engineSuite } from "../engine.suite.ts";
import { Conflict, type StoreEngine, TransformError } from "../engine.ts";
import { aesGcm, secretbox } from "../host/ciphers.ts";
import { MemoryStore } from "../memory.ts";
import { follow } from "../testing.ts";
import { encryptedStore } from "./encrypted-store.ts";
import { firstOf, identity, type PrefixedTransformer, type ValueTransformer } from "./value-transformer.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array) => new TextDecoder().decode(value);
const secretOf = (seed: number) => Uint8Array.from({ length: 32 }, (_, i) => i * seed);

const keyed = (name: string, seed: number): PrefixedTransformer => ({
  prefix: `k8s:enc:aesgcm:v1:${name}:`,
  transformer: aesGcm(secretOf(seed), seededRandom(seed)),
  name: `aesgcm key "${name}"`,
});
const plain: PrefixedTransformer = { prefix: "", transformer: identity };
const reading = (...list: readonly PrefixedTransformer[]) => firstOf(list, () => "no matching prefix found");

const over = (store: StoreEngine, transformer: ValueTransformer | undefined) =>
  encryptedStore(store, { transformerOf: () => transformer, resourceOf: () => "secrets" });

/** Must be waited for once for each value, as a key service must. */
function slow(inner: ValueTransformer): ValueTransformer {
  const known = new Set<string>();
  const idOf = (stored: Uint8Array) => Buffer.from(stored).toString("latin1");
  return {
    async prepare(stored) {
      await Promise.resolve();
      known.add(idOf(stored));
    },
    read(stored, key) {
      assert.ok(known.has(idOf(stored)), "prepared before it is read");
      return inner.read(stored, key);
    },
    write: (value, key) => inner.write(value, key),
  };
}

for (const [name, transformer] of [
  ["memory, encrypted", reading(keyed("a", 1))],
  ["memory, encrypted by a slow service", slow(reading(keyed("a", 1)))],
] as const)
  engineSuite(name, async () => {
    const clock = new ManualClock("2026-01-01T00:00:00Z");
    const engine = over(new MemoryStore({ clock }), transformer);
    return { engine, pass: (seconds) => clock.advance(seconds * 1000), exactTime: true };
  });

test("the store within has the prefix and no plain text, and those who read have the text and no prefix", async () => {
  const raw = new MemoryStore({ clock: new ManualClock() });
  const store = over(raw, reading(keyed("key1", 1)));
  const { modified, value } = await store.put("/registry/secrets/a", bytes("hunter2"), 0);
  assert.equal(text(value), "hunter2");
  const kept = text((await raw.get("/registry/secrets/a"))?.value ?? bytes(""));
  assert.ok(kept.startsWith("k8s:enc:aesgcm:v1:key1:"));
  assert.ok(!kept.includes("hunter2"));

  const watcher = follow(store, "/", 1);
  await store.put("/registry/secrets/a", bytes("hunter3"), modified);
  await store.delete("/registry/secrets/a", modified + 1);
  await watcher.caughtUpTo(modified + 2);
  await watcher.stop();
  assert.deepEqual(
    watcher.changes.map(({ type, entry, previous }) => [type, text(entry.value), previous && text(previous.value)]),
    [
      ["put", "hunter2", undefined],
      ["put", "hunter3", "hunter2"],
      ["delete", "", "hunter3"],
    ],
  );
  const past = await store.list("/", { at: modified });
  assert.deepEqual(
    past.entries.map((entry) => text(entry.value)),
    ["hunter2"],
  );
});

test("what another key wrote is read and stale, and what the first key writes is not", async () => {
  const raw = new MemoryStore({ clock: new ManualClock() });
  const { modified: plainRevision } = await raw.put("/a", bytes("{}"), 0);
  const old = over(raw, reading(keyed("old", 1), plain));
  assert.equal(await old.isStale?.("/a"), true, "as it was before there was encryption");
  const { modified } = await old.put("/a", bytes("{}"), plainRevision);
  assert.equal(await old.isStale?.("/a"), false);
  const rotated = over(raw, reading(keyed("new", 2), keyed("old", 1)));
  assert.equal(text((await rotated.get("/a"))?.value ?? bytes("")), "{}");
  assert.equal(await rotated.isStale?.("/a"), true);
  await rotated.put("/a", bytes("{}"), modified);
  assert.equal(await rotated.isStale?.("/a"), false);
  const back = over(raw, reading(plain, keyed("new", 2)));
  assert.equal(
    text((await back.get("/a"))?.value ?? bytes("")),
    "{}",
    "identity before the key leads away from encryption",
  );
  assert.equal(await back.isStale?.("/a"), true);
  assert.equal(await back.isStale?.("/nothing"), false);
});

test("two keys of one name are both tried", async () => {
  const raw = new MemoryStore({ clock: new ManualClock() });
  await over(raw, reading(keyed("key1", 1))).put("/a", bytes("{}"), 0);
  const both = over(raw, reading(keyed("key1", 2), keyed("key1", 1)));
  assert.equal(text((await both.get("/a"))?.value ?? bytes("")), "{}");
});

test("an entry that cannot be decrypted is marked and takes no other with it", async () => {
  const raw = new MemoryStore({ clock: new ManualClock() });
  const writer = over(raw, reading(keyed("key1", 1)));
  await writer.put("/registry/secrets/a", bytes("{}"), 0);
  await over(raw, reading(keyed("key1", 9))).put("/registry/secrets/b", bytes("{}"), 0);
  const { modified } = await writer.put("/registry/secrets/c", bytes("{}"), 0);

  const { entries } = await writer.list("/");
  assert.deepEqual(
    entries.map(({ key, unreadable }) => [key, unreadable?.message]),
    [
      ["/registry/secrets/a", undefined],
      [
        "/registry/secrets/b",
        'unable to transform key "/registry/secrets/b": secrets: aesgcm key "key1": cipher: message authentication failed',
      ],
      ["/registry/secrets/c", undefined],
    ],
  );
  await assert.rejects(writer.get("/registry/secrets/b"), TransformError);
  const watcher = follow(writer, "/", 1);
  await watcher.caughtUpTo(modified);
  await watcher.stop();
  assert.deepEqual(
    watcher.changes.map(({ entry }) => entry.unreadable !== undefined),
    [false, true, false],
  );
  await assert.rejects(
    writer.put("/registry/secrets/b", bytes("{}"), 0),
    (error) => error instanceof Conflict && error.present?.unreadable instanceof TransformError,
  );
  await writer.delete("/registry/secrets/b", entries[1]?.modified ?? 0);
  assert.equal((await writer.list("/")).entries.length, 2, "who knows the revision can delete it");
});

test("an encrypted value is not taken for plain text where no key is configured", async () => {
  const raw = new MemoryStore({ clock: new ManualClock() });
  await over(raw, reading(keyed("key1", 1))).put("/a", bytes("{}"), 0);
  for (const transformer of [undefined, reading(plain)]) {
    await assert.rejects(over(raw, transformer).get("/a"), /identity transformer|no matching prefix found/);
    const watcher = follow(over(raw, transformer), "/", 1);
    await watcher.caughtUpTo(2);
    await watcher.stop();
    assert.ok(watcher.changes[0]?.entry.unreadable);
  }
});

test("when nothing can be encrypted nothing is written", async () => {
  const raw = new MemoryStore({ clock: new ManualClock() });
  const broken: ValueTransformer = {
    read: (stored) => ({ value: stored, isStale: false }),
    write() {
      throw new Error("the key has expired");
    },
  };
  const store = over(raw, reading({ prefix: "k8s:enc:x:", transformer: broken, name: "x" }));
  await assert.rejects(
    store.put("/a", bytes("{}"), 0),
    /unable to transform key "\/a": secrets: x: the key has expired/,
  );
  assert.equal(await raw.get("/a"), undefined);
});

test("secretbox and a key service's refusal are reported by name", async () => {
  const raw = new MemoryStore({ clock: new ManualClock() });
  const box = (seed: number): PrefixedTransformer => ({
    prefix: "k8s:enc:secretbox:v1:b:",
    transformer: secretbox(secretOf(seed), seededRandom(seed)),
    name: 'secretbox key "b"',
  });
  await over(raw, reading(box(1))).put("/a", bytes("{}"), 0);
  await assert.rejects(over(raw, reading(box(2))).get("/a"), /secretbox key "b": output array/);
  const refusing: ValueTransformer = { ...identity, prepare: () => Promise.reject(new Error("the service is down")) };
  await assert.rejects(
    over(raw, reading({ prefix: "k8s:enc:", transformer: refusing })).get("/a"),
    /unable to transform key "\/a": secrets: the service is down/,
  );
});
