import assert from "node:assert/strict";
import { test } from "node:test";
import { same } from "./same.ts";

const pairs: [a: unknown, b: unknown, expected: boolean][] = [
  [{ a: [] }, {}, true],
  [{ a: {} }, { a: undefined }, true],
  [{ limits: { cpu: "1" } }, { limits: { cpu: "1000m" } }, true],
  [{ limits: { cpu: "1" } }, { limits: { cpu: "2" } }, false],
  [{ name: "1" }, { name: "1000m" }, false],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: false }, {}, false],
  [{ a: null }, {}, false],
];
for (const [a, b, expected] of pairs)
  test(`${JSON.stringify(a)} and ${JSON.stringify(b)} mean ${expected ? "the same" : "different things"}`, () => {
    assert.equal(same(a, b), expected);
    assert.equal(same(b, a), expected);
  });
