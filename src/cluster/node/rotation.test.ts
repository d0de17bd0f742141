import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { makeAuthority } from "../certificate-maker.ts";
import type { KeyPair } from "../certificates.ts";
import { certificateRotation, renewalTime } from "./rotation.ts";

const day = 24 * 3_600_000;

test("a certificate is renewed after seven to nine tenths of its life, and a failure is tried again", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const pairAt = (): KeyPair =>
    makeAuthority({ notBefore: new Date(clock.now()), notAfter: new Date(clock.now() + 100 * day) });
  let current = pairAt();
  const began = clock.now();
  assert.equal(renewalTime(current.cert, 0), began + 70 * day);
  assert.equal(renewalTime(current.cert, 1), began + 90 * day);
  const asked: number[] = [];
  const stop = new AbortController();
  const rotation = certificateRotation({
    what: "test",
    current: () => current,
    request: async () => {
      asked.push((clock.now() - began) / day);
      if (asked.length === 1) throw new Error("nobody answers");
      return pairAt();
    },
    store: (pair) => {
      current = pair;
    },
    clock,
    random: seededRandom(1),
    log: silentLog,
  });
  const running = rotation.run(stop.signal);
  for (let hour = 0; hour < 95 * 24; hour++) await clock.advance(3_600_000);
  stop.abort(new Error("the test is over"));
  await clock.advance(0);
  await running;
  const [first = 0, second = 0, third] = asked;
  assert.ok(first >= 70 && first <= 90.1, String(first));
  assert.ok(second - first < 0.1, "soon after the failure");
  assert.equal(third, undefined, "the new one has its own time");
});
