import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { type EncryptedKey, encryptedKeyProblem, KmsPlugin, type KmsService, type KmsStatus } from "./kms-plugin.ts";
import { identity } from "./value-transformer.ts";

/** A service whose answers the test sets; seeds are encrypted by naming their key. */
function world() {
  const answers = {
    status: { version: "v2", healthz: "ok", keyId: "1" } as KmsStatus | Error,
    encrypted: undefined as Partial<EncryptedKey> | Error | undefined,
    statuses: 0,
    seeds: 0,
  };
  const service: KmsService = {
    async status() {
      answers.statuses++;
      if (answers.status instanceof Error) throw answers.status;
      return answers.status;
    },
    async encrypt(_uid, plaintext) {
      answers.seeds++;
      assert.equal(plaintext.length, 32);
      if (answers.encrypted instanceof Error) throw answers.encrypted;
      const { keyId } = answers.status as KmsStatus;
      return { ciphertext: Uint8Array.of(1), keyId, annotations: [], ...answers.encrypted };
    },
    decrypt: () => Promise.reject(new Error("nobody asks")),
    close: () => undefined,
  };
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const random = seededRandom(1);
  const plugin = new KmsPlugin({
    ...{ name: "kms", service, clock, random, log: silentLog },
    seeded: () => identity,
    seedBytes: 32,
  });
  return { answers, plugin, clock };
}

test("before the service has answered nothing can be read or written", () => {
  const { plugin } = world();
  assert.throws(() => plugin.writeKey, /got unexpected nil transformer/);
  assert.throws(() => plugin.validWriteKey, /got unexpected nil transformer/);
});

test("one seed is used while the service names one key, and a new one for another", async () => {
  const { answers, plugin, clock } = world();
  await plugin.check();
  const first = plugin.validWriteKey;
  await clock.advance(60_000);
  await plugin.check();
  assert.equal(answers.seeds, 1);
  assert.equal(plugin.validWriteKey.transformer, first.transformer);
  assert.equal(plugin.validWriteKey.expiresAt, first.expiresAt + 60_000);
  answers.status = { version: "v2", healthz: "ok", keyId: "2" };
  await clock.advance(60_000);
  await plugin.check();
  assert.equal(answers.seeds, 2);
  assert.equal(plugin.validWriteKey.encrypted.keyId, "2");
});

test("the service is asked once a minute while it is well, every ten seconds while not, and is well again when it answers", async () => {
  const { answers, plugin, clock } = world();
  await plugin.check();
  const end = new AbortController();
  const running = plugin.run(end.signal);
  await clock.advance(59_000);
  assert.equal(answers.statuses, 1);
  await clock.advance(1_000);
  assert.equal(answers.statuses, 2);
  answers.status = new Error("down");
  await clock.advance(60_000);
  assert.equal(answers.statuses, 3);
  await clock.advance(30_000);
  assert.equal(answers.statuses, 6);
  answers.status = { version: "v2", healthz: "ok", keyId: "1" };
  await clock.advance(10_000);
  await plugin.check();
  assert.equal(answers.statuses, 7);
  end.abort();
  await running;
});

test("those who ask how it is are answered from what was said a moment ago", async () => {
  const { answers, plugin, clock } = world();
  await plugin.check();
  await clock.advance(19_000);
  await plugin.check();
  assert.equal(answers.statuses, 1);
  answers.status = new Error("down");
  await clock.advance(1_000);
  await assert.rejects(
    plugin.check(),
    /failed to perform status section of the healthz check for KMS Provider kms, error: down/,
  );
  await clock.advance(2_000);
  await assert.rejects(plugin.check());
  assert.equal(answers.statuses, 2);
  await clock.advance(1_000);
  await assert.rejects(plugin.check());
  assert.equal(answers.statuses, 3);
});

test("a seed that is no longer confirmed is written with for three minutes, and read with for ever", async () => {
  const { answers, plugin, clock } = world();
  await plugin.check();
  answers.status = new Error("down");
  await clock.advance(180_000);
  assert.ok(plugin.validWriteKey);
  await clock.advance(1_000);
  assert.throws(
    () => plugin.validWriteKey,
    /^Error: encryptedDEKSource with keyID hash "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" expired at 2026-01-01T00:03:00Z \(current time is 2026-01-01T00:03:01Z\)$/,
  );
  assert.ok(plugin.writeKey);
  answers.status = { version: "v2", healthz: "ok", keyId: "1" };
  await plugin.check();
  assert.ok(plugin.validWriteKey, "confirmed again");
});

test("a service that encrypts with another key than it names, or not at all, does not replace the seed", async () => {
  for (const encrypted of [{ keyId: "3" }, new Error("out of order"), { ciphertext: new Uint8Array() }]) {
    const { answers, plugin, clock } = world();
    await plugin.check();
    answers.status = { version: "v2", healthz: "ok", keyId: "2" };
    answers.encrypted = encrypted;
    await clock.advance(60_000);
    await assert.rejects(
      plugin.check(),
      /kmsv2 Provider kms is not healthy, error: failed to rotate DEK uid=.*useSeed=true/,
    );
    assert.equal(plugin.validWriteKey.encrypted.keyId, "1");
  }
});

test("answers that must not be are refused in upstream's words", async () => {
  const rows: readonly (readonly [KmsStatus, RegExp])[] = [
    [{ version: "v2", healthz: "tired", keyId: "1" }, /got unexpected healthz status: tired/],
    [{ version: "v1", healthz: "ok", keyId: "1" }, /expected KMSv2 API version v2, got v1/],
    [{ version: "v2", healthz: "ok", keyId: "" }, /got invalid KMSv2 KeyID hash "": keyID is empty/],
    [
      { version: "v2", healthz: "ok", keyId: "x".repeat(1025) },
      /keyID is 1025 bytes, which exceeds the max size of 1024/,
    ],
  ];
  for (const [status, message] of rows) {
    const { answers, plugin } = world();
    answers.status = status;
    await assert.rejects(plugin.check(), message);
  }
  const { answers, plugin, clock } = world();
  await plugin.check();
  answers.status = { version: "v2beta1", healthz: "ok", keyId: "1" };
  await clock.advance(60_000);
  await assert.rejects(
    plugin.check(),
    /KMSv2 API version should not change after the initial status response version v2, got v2beta1/,
  );
});

test("what the service gives to be stored is bounded", () => {
  const good: EncryptedKey = { ciphertext: Uint8Array.of(1), keyId: "1", annotations: [] };
  const annotated = (key: string, size = 1) => ({ ...good, annotations: [{ key, value: new Uint8Array(size) }] });
  assert.equal(encryptedKeyProblem(annotated("a.example.com")), undefined);
  assert.match(encryptedKeyProblem(annotated("example")) ?? "", /should be a domain with at least two segments/);
  assert.match(encryptedKeyProblem(annotated("A.example.com")) ?? "", /RFC 1123 subdomain/);
  assert.match(encryptedKeyProblem(annotated("")) ?? "", /Required value/);
  assert.match(encryptedKeyProblem(annotated("a.example.com", 32 * 1024)) ?? "", /total size of annotations is 32781/);
  assert.match(
    encryptedKeyProblem({ ...good, ciphertext: new Uint8Array(1025) }) ?? "",
    /encrypted DEK source is 1025 bytes/,
  );
  assert.match(encryptedKeyProblem({ ...good, keyId: "" }) ?? "", /failed to validate key id: keyID is empty/);
});
