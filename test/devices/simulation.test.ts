import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./simulation.ts";

test("no device is given twice while claims come and go and schedulers are killed", async () => {
  const { placed, kills, allocations } = await simulate({ claims: 60, nodes: 4, devicesPerNode: 6, seed: 11 });
  assert.equal(placed, 60);
  assert.ok(kills >= 5, `${kills} kills`);
  assert.ok(allocations >= 60);
});
