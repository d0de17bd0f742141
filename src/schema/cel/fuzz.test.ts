import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { expression, isHarmless } from "../testing/expressions.ts";

test("no expression does harm: it is refused, fails or has a value, within its cost", () => {
  const property = fc.property(expression, (source) => assert.ok(isHarmless(source)));
  fc.assert(property, { numRuns: 3000, seed: 1 });
});
