// 1,000 claims, and a scheduler that lives for at most 40 writes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./simulation.ts";

test("1,000 claims: no device is given twice, ever", async () => {
  const result = await simulate({ claims: 1000, nodes: 10, devicesPerNode: 16, seed: 29 });
  console.log(JSON.stringify(result));
  assert.equal(result.placed, 1000);
  assert.ok(result.kills >= 50);
});
