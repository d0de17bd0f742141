import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#base/random.ts";
import { makeCertificateKey, seal, unseal } from "./shared-files.ts";

test("what is sealed is read with the same key, and with no other; a changed bit is noticed", () => {
  const random = seededRandom(1);
  const key = makeCertificateKey(random);
  assert.match(key, /^[0-9a-f]{64}$/);
  const sealed = seal(key, "a key of an authority", random);
  assert.equal(unseal(key, sealed), "a key of an authority");
  assert.ok(!sealed.includes("authority"));
  assert.notDeepEqual(seal(key, "a key of an authority", random), sealed);
  assert.throws(() => unseal("0".repeat(64), sealed));
  for (const at of [0, 13, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => unseal(key, changed), `byte ${at}`);
  }
});
