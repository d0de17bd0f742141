import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze, equal, inBatches, own, setOwn, slowStart } from "./collections.ts";

test("equal agrees with comparison of canonical JSON", () => {
  const sorted = (value: unknown): string =>
    JSON.stringify(value, (_, v) =>
      typeof v === "object" && v !== null && !Array.isArray(v)
        ? Object.fromEntries(Object.entries(v).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : v,
    );
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      assert.ok(equal(a, structuredClone(a)));
      if (!JSON.stringify([a, b]).includes("__proto__") && !Object.is(a, -0) && !JSON.stringify(a)?.includes("-0"))
        assert.equal(equal(a, b), sorted(a) === sorted(b));
    }),
  );
});

test("an absent field equals an undefined one, and inherited ones are not fields", () => {
  assert.ok(equal({ a: 1 }, { a: 1, b: undefined }));
  assert.ok(!equal({}, { constructor: 1 }));
  assert.ok(!equal({ constructor: Object }, {}));
  assert.equal(own({}, "toString"), undefined);
});

test("setOwn makes __proto__ an ordinary key", () => {
  const object: Record<string, unknown> = {};
  setOwn(object, "__proto__", { polluted: true });
  assert.equal(JSON.stringify(object), '{"__proto__":{"polluted":true}}');
  assert.equal(Object.getPrototypeOf(object), Object.prototype);
});

test("deepFreeze reaches everything inside", () => {
  const value = deepFreeze({ list: [{ a: 1 }] });
  assert.throws(() => {
    value.list[0]!.a = 2;
  }, TypeError);
});

test("inBatches bounds what runs at once, and stops at the first failure", async () => {
  let running = 0;
  let most = 0;
  await inBatches(3, Array(10).keys(), async () => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
  });
  assert.equal(most, 3);
  const seen: number[] = [];
  await assert.rejects(
    inBatches(1, [1, 2, 3], async (n) => {
      seen.push(n);
      if (n === 2) throw new Error("two");
    }),
    /two/,
  );
  assert.deepEqual(seen, [1, 2]);
});

test("slowStart doubles its batches and stops after one that failed", async () => {
  const calls: number[] = [];
  await slowStart(7, async (i) => void calls.push(i));
  assert.deepEqual(calls, [0, 1, 2, 3, 4, 5, 6]);
  const tried: number[] = [];
  await assert.rejects(
    slowStart(100, async (i) => {
      tried.push(i);
      if (i === 2) throw new Error("no more");
    }),
    /no more/,
  );
  assert.deepEqual(tried, [0, 1, 2]);
});
