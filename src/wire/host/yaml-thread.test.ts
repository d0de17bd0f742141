import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock, systemClock } from "#base/clock.ts";
import { DecodeError } from "#schema/json.ts";
import { yamlThread } from "./yaml-thread.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("YAML comes back as JSON, with the keys that stand twice", async () => {
  const read = yamlThread(systemClock);
  assert.deepEqual(await read(bytes('a: yes\nb: [1, "1", ~]\na: {__proto__: é}'), 100), {
    json: '{"a":{"__proto__":"é"},"b":[1,"1",null]}',
    duplicates: ['line 3: key "a" already set in map'],
  });
});

test("what is no YAML, or too much of it, is refused as in the same thread, and the next is read", async () => {
  const read = yamlThread(systemClock);
  const answers = await Promise.allSettled([
    read(bytes("a: ["), 100),
    read(Uint8Array.of(0xff), 100),
    read(bytes("- 1\n".repeat(101)), 100),
    read(bytes("a: 1"), 100),
  ]);
  const [broken, foreign, large, fine] = answers.map((one) => (one.status === "rejected" ? one.reason : one.value));
  assert.ok(broken instanceof DecodeError && /invalid YAML: line/.test(broken.message), String(broken));
  assert.ok(foreign instanceof DecodeError && /UTF-8/.test(foreign.message), String(foreign));
  assert.equal(large.code, 413);
  assert.deepEqual(fine, { json: '{"a":1}', duplicates: [] });
});

test("only what was given is handed over, and it stays with who gave it", async () => {
  const whole = bytes("x: 1\na: 2\ny: 3");
  const part = whole.subarray(5, 9);
  assert.deepEqual(await yamlThread(systemClock)(part, 100), { json: '{"a":2}', duplicates: [] });
  assert.equal(new TextDecoder().decode(whole), "x: 1\na: 2\ny: 3");
});

test("what takes too long is given up", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const refused = assert.rejects(yamlThread(clock)(bytes("a: 1"), 100), { code: 504 });
  await clock.advance(30_000);
  await refused;
});
