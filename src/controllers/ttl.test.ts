import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { world } from "#client/testing.ts";
import { ttlController } from "./ttl.ts";

const annotation = "node.alpha.kubernetes.io/ttl";

test("nodes are told to believe what they read the longer the more nodes there are", async () => {
  const w = world();
  const one = ttlController();
  const ttl = async () => {
    await w.reconcile(one, w.get(Node, { name: "n0" })!);
    return w.get(Node, { name: "n0" })!.metadata.annotations?.[annotation];
  };
  let nodes = 0;
  const grow = (to: number) => {
    while (nodes < to) w.have(Node, { metadata: { name: `n${nodes++}` } });
  };
  const shrink = (to: number) => {
    while (nodes > to) w.lose(Node, { name: `n${--nodes}` });
  };
  grow(1);
  assert.equal(await ttl(), "0");
  w.writes();
  await ttl();
  assert.deepEqual(w.writes(), [], "which is said once");
  grow(100);
  assert.equal(await ttl(), "0");
  grow(101);
  assert.equal(await ttl(), "15");
  shrink(90);
  assert.equal(await ttl(), "15", "a few nodes less change nothing");
  shrink(89);
  assert.equal(await ttl(), "0");
  grow(501);
  assert.equal(await ttl(), "30");
});
