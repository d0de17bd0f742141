import assert from "node:assert/strict";
import { test } from "node:test";
import { distance, nearNames } from "./near.ts";

test("the distance of words counts letters left out, added, changed and swapped", () => {
  const table: readonly [string, string, number][] = [
    ["", "", 0],
    ["web", "web", 0],
    ["web", "", 3],
    ["web", "wb", 1],
    ["web", "weeb", 1],
    ["web", "wab", 1],
    ["web", "ewb", 1],
    ["kitten", "sitting", 3],
    ["output", "otuptu", 2],
  ];
  for (const [a, b, far] of table) {
    assert.equal(distance(a, b), far, `${a} ${b}`);
    assert.equal(distance(b, a), far, `${b} ${a}`);
  }
});

test("near names are those a word begins or is, or nearly so", () => {
  assert.deepEqual(nearNames("web", ["db", "web-2", "web-1", "wbe", "other"]), ["web-1", "web-2", "wbe"]);
  assert.deepEqual(nearNames("wbe", ["web-588d9b7c99-7lcf5", "db"]), ["web-588d9b7c99-7lcf5"]);
  assert.deepEqual(nearNames("web", ["database"]), []);
});
