// A key service behind its socket, with faults: a real gRPC server, and the whole way from a configuration to the store.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { encryptedStore } from "#store/encryption/encrypted-store.ts";
import type { StoreEngine } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import { TestKms } from "#store/testing/kms-plugin.ts";
import { parseEncryptionConfiguration } from "../encryption/configuration.ts";
import { EncryptionProviders } from "./encryption-providers.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined) => new TextDecoder().decode(value);
const key = (name: string) => `/registry/secrets/default/${name}`;

/** A server's view of a store, through a configuration that names the service. */
async function connect(t: { after(end: () => void): void }, kms: TestKms, raw: StoreEngine, clock = new ManualClock()) {
  const rules = parseEncryptionConfiguration(`
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [secrets]
  providers: [{kms: {apiVersion: v2, name: ours, endpoint: "${kms.endpoint}", timeout: 3s}}, {identity: {}}]
`);
  const opening = EncryptionProviders.open(rules, { clock, random: systemRandom, log: silentLog });
  // Where nobody answers, the calls end with the clock.
  let isOpen = false;
  void opening.finally(() => {
    isOpen = true;
  });
  while (!isOpen) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (kms.isDown) await clock.advance(1000);
  }
  const providers = await opening;
  t.after(() => providers.close());
  return { providers, clock, store: encryptedStore(raw, providers) };
}

test("secrets are encrypted with seeds that only the service can decrypt, once for all of them", async (t) => {
  await using kms = await TestKms.start();
  kms.annotations = [{ key: "local.kms.example", value: bytes("wrapped") }];
  const raw = new MemoryStore({ clock: new ManualClock() });
  const { store } = await connect(t, kms, raw);
  for (let i = 0; i < 50; i++) await store.put(key(`${i}`), bytes(`hunter${i}`), 0);
  assert.deepEqual(kms.calls, { Status: 1, Encrypt: 1, Decrypt: 0 });
  for (const { value } of (await raw.list("/")).entries) {
    assert.ok(text(value).startsWith("k8s:enc:kms:v2:ours:"));
    assert.ok(!text(value).includes("hunter"));
  }
  const later = await connect(t, kms, raw);
  const { entries } = await later.store.list("/");
  assert.deepEqual(
    entries.map(({ value }) => text(value)).sort(),
    Array.from({ length: 50 }, (_, i) => `hunter${i}`).sort(),
  );
  assert.equal(kms.calls.Decrypt, 1, "many values have one seed");
});

test("a change of the service's key is noticed, makes what is stored stale, and an update writes with the new one", async (t) => {
  await using kms = await TestKms.start();
  const raw = new MemoryStore({ clock: new ManualClock() });
  const { store, clock, providers } = await connect(t, kms, raw);
  const { modified } = await store.put(key("a"), bytes("hunter2"), 0);
  assert.equal(await store.isStale?.(key("a")), false);
  kms.rotate("2");
  await clock.advance(60_000);
  await providers.check();
  assert.equal(text((await store.get(key("a")))?.value), "hunter2");
  assert.equal(await store.isStale?.(key("a")), true);
  await store.put(key("a"), bytes("hunter2"), modified);
  assert.equal(await store.isStale?.(key("a")), false);
  kms.forget("1");
  const later = await connect(t, kms, raw);
  assert.equal(text((await later.store.get(key("a")))?.value), "hunter2", "without the old key");
});

test("while the service is down what is known is read and written, until the seed expires", async (t) => {
  await using kms = await TestKms.start();
  const raw = new MemoryStore({ clock: new ManualClock() });
  const { store, clock, providers } = await connect(t, kms, raw);
  await store.put(key("a"), bytes("hunter2"), 0);
  kms.down();
  await clock.advance(170_000);
  await store.put(key("b"), bytes("hunter3"), 0);
  await clock.advance(11_000);
  await assert.rejects(
    store.put(key("c"), bytes("hunter4"), 0),
    /kms provider "ours": encryptedDEKSource .* expired at/,
  );
  assert.equal((await raw.list("/")).entries.length, 2, "nothing is written in plain text instead");
  assert.equal(text((await store.get(key("a")))?.value), "hunter2");

  const stranger = await connect(t, kms, raw);
  await assert.rejects(stranger.store.get(key("a")), /kms provider "ours": got unexpected nil transformer/);
  await kms.listen();
  // Asked again after ten seconds; the connection is made anew.
  await untilWell(providers, clock);
  await store.put(key("c"), bytes("hunter4"), 0);
  await untilWell(stranger.providers, stranger.clock);
  assert.equal(text((await stranger.store.get(key("c")))?.value), "hunter4");
});

async function untilWell(providers: EncryptionProviders, clock: ManualClock): Promise<void> {
  for (;;) {
    const isWell = providers.check().then(
      () => true,
      () => false,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    await clock.advance(3_000);
    if (await isWell) return;
  }
}

test("a service that refuses, gives garbage or lies about its key is an error that names it, and no crash", async (t) => {
  await using kms = await TestKms.start();
  const raw = new MemoryStore({ clock: new ManualClock() });
  const { store } = await connect(t, kms, raw);
  await store.put(key("a"), bytes("hunter2"), 0);
  const reader = await connect(t, kms, raw);
  kms.fault("Decrypt", "refuse");
  await assert.rejects(
    reader.store.get(key("a")),
    /unable to transform key ".*": secrets: kms provider "ours": failed to decrypt DEK, error: rpc error: code = Internal desc = out of order/,
  );
  kms.fault("Decrypt", "garbage");
  await assert.rejects(reader.store.get(key("a")), /failed to decrypt DEK/);
  const { entries } = await reader.store.list("/");
  assert.ok(entries[0]?.unreadable);
  kms.fault("Decrypt", undefined);
  assert.equal(text((await reader.store.get(key("a")))?.value), "hunter2", "asked again");

  kms.rotate("2");
  kms.encryptKeyId = "1";
  await reader.clock.advance(60_000);
  await assert.rejects(
    reader.providers.check(),
    /^Error: kms-provider-0: kmsv2 Provider ours is not healthy, error: failed to rotate DEK/,
  );
  for (const [method, fault] of [
    ["Status", "refuse"],
    ["Status", "garbage"],
    ["Encrypt", "garbage"],
  ] as const) {
    kms.fault(method, fault);
    await reader.clock.advance(20_000);
    await assert.rejects(reader.providers.check(), /KMS Provider ours|kmsv2 Provider ours/);
    kms.fault(method, undefined);
  }
});

test("a service that does not answer costs a call its time and no more", async (t) => {
  await using kms = await TestKms.start();
  const raw = new MemoryStore({ clock: new ManualClock() });
  const { store } = await connect(t, kms, raw);
  await store.put(key("a"), bytes("hunter2"), 0);
  const reader = await connect(t, kms, raw);
  kms.fault("Decrypt", "hang");
  const answer = assert.rejects(reader.store.get(key("a")), /code = DeadlineExceeded desc = context deadline exceeded/);
  await reader.store.put(key("b"), bytes("hunter3"), 0);
  while (kms.calls.Decrypt === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await reader.clock.advance(3_000);
  await answer;
});

test("what is no message of a key service is refused, whatever it is", async (t) => {
  await using kms = await TestKms.start();
  const raw = new MemoryStore({ clock: new ManualClock() });
  const { store } = await connect(t, kms, raw);
  const random = systemRandom;
  for (let i = 0; i < 200; i++) {
    const junk = new Uint8Array([...bytes("k8s:enc:kms:v2:ours:"), ...random.bytes(random.below(80))]);
    await raw.put(key(`${i}`), junk, 0);
  }
  const { entries } = await store.list("/");
  assert.equal(entries.filter(({ unreadable }) => unreadable).length, 200);
});
