// Fifty thousand expressions at random, and what memory they leave behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { expression, isHarmless } from "#schema/testing/expressions.ts";

test("fifty thousand expressions do no harm, and leave no memory behind", () => {
  const before = process.memoryUsage().heapUsed;
  fc.assert(
    fc.property(expression, (source) => assert.ok(isHarmless(source))),
    { numRuns: 50_000 },
  );
  globalThis.gc?.();
  const grown = process.memoryUsage().heapUsed - before;
  assert.ok(grown < 200 * 2 ** 20, `${Math.round(grown / 2 ** 20)} MiB more`);
});
