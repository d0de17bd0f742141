import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { fingerprint } from "./fingerprint.ts";
import { WriteLimiter, type WrittenFor } from "./write-limiter.ts";

const set = (replicas: number, current: number, version = 1) => ({
  metadata: { name: "web", resourceVersion: String(version), generation: version },
  spec: { replicas },
  status: { replicas: current, observedGeneration: version, conditions: [{ lastTransitionTime: timeAt(version) }] },
});
const timeAt = (second: number) => new Date(second * 1000).toISOString();

const randomName = (i: number) => String(22222 + i).replace(/[013]/g, "x");

/** How many reconciles there are in a minute by one who would write at every turn. */
async function writesInAMinute(written: (i: number) => WrittenFor): Promise<number> {
  const clock = new ManualClock();
  const pace = new WriteLimiter(clock);
  let count = 0;
  for (let i = 0; i < 6000; i++) {
    if (pace.waitMs("web") === 0) pace.wrote("web", written(count++));
    await clock.advance(10);
  }
  return count;
}

test("who comes back to where it was is slowed to two writes a second", async () => {
  for (const [what, written] of Object.entries<(i: number) => WrittenFor>({
    "the spec goes back and forth": (i) => ({ object: set(i % 2, 0, i), updated: [set((i + 1) % 2, 0, i)] }),
    "pods die as they are made": (i) => ({ object: set(3, i % 3, i), updated: [] }),
    "the same is written, at another time": (i) => ({ object: set(3, 3), updated: [set(3, 3, i)] }),
    "another pod is let go each time": (i) => ({
      object: set(1, 1),
      updated: [
        { metadata: { name: randomName(i) }, spec: { volumes: [{ name: `kube-api-access-${randomName(i)}` }] } },
      ],
    }),
    "the object is gone": () => ({ object: undefined, updated: [] }),
  })) {
    const count = await writesInAMinute(written);
    assert.ok(count >= 200 && count <= 100 + 120 + 60, `${what}: ${count} writes`);
  }
});

test("who gets somewhere is not slowed", async () => {
  for (const [what, written] of Object.entries<(i: number) => WrittenFor>({
    "one more replica each time": (i) => ({ object: set(5000, i, i), updated: [] }),
    "a rollout, one pod at a time": (i) => ({ object: set(5000 - i, 5000 - i, i), updated: [] }),
    "other objects change": (i) => ({ object: set(3, 3), updated: [{ metadata: { name: "x" }, endpoints: [i] }] }),
  }))
    assert.equal(await writesInAMinute(written), 6000, what);
});

test("a key that was quiet for long begins anew", async () => {
  const clock = new ManualClock();
  const pace = new WriteLimiter(clock);
  const written = { object: set(1, 1), updated: [] };
  while (pace.waitMs("web") === 0) pace.wrote("web", written);
  await clock.advance(60_000);
  for (let i = 0; i < 100; i++) {
    assert.equal(pace.waitMs("web"), 0);
    pace.wrote("web", written);
  }
});

test("a fingerprint tells what objects say, not what they are called nor when they were written", () => {
  const of = (change: object) => fingerprint({ ...set(3, 3), ...change });
  assert.equal(of({}), fingerprint(set(3, 3, 9)));
  assert.equal(of({ metadata: { name: "other", uid: "1" } }), of({}));
  for (const [what, change] of Object.entries({
    label: { metadata: { labels: { a: "b" } } },
    number: { spec: { replicas: 4 } },
    order: { spec: { list: ["a", "b"] } },
    name: { spec: { replica: 3 } },
    zero: { status: { replicas: 0 } },
  }))
    assert.notEqual(of(change), of({}), what);
  assert.notEqual(of({ spec: { list: ["a", "b"] } }), of({ spec: { list: ["b", "a"] } }));
  assert.notEqual(of({ spec: { list: ["ab"] } }), of({ spec: { list: ["a", "b"] } }));
});
