import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { ManualClock } from "#base/clock.ts";
import { world } from "#client/testing.ts";
import { ProxyHealth } from "./proxy-health.ts";

const nodeWith = (key: string) =>
  world().have(Node, { metadata: { name: "n1" }, spec: { taints: [{ key, effect: "NoSchedule" }] } });

test("a proxy is well until a change has waited for a minute, and again when rules follow", async () => {
  const clock = new ManualClock();
  const health = new ProxyHealth(clock, ["IPv4"]);
  assert.equal(health.livez().code, 200);
  health.changed();
  await clock.advance(59_000);
  health.changed();
  assert.equal(health.livez().code, 200);
  await clock.advance(1_000);
  assert.equal(health.livez().code, 503);
  assert.match(health.livez().body, /"healthy":false,"status":\{"IPv4":\{"lastUpdated":"[^"]+","healthy":false\}\}/);
  health.written();
  assert.equal(health.livez().code, 200);
});

test("a node that is about to be removed is to get no traffic, but its proxy is alive", () => {
  const health = new ProxyHealth(new ManualClock(), ["IPv4"]);
  assert.equal(health.healthz(nodeWith("other")).code, 200);
  assert.match(health.healthz(nodeWith("other")).body, /"nodeEligible":true/);
  assert.equal(health.healthz(nodeWith("ToBeDeletedByClusterAutoscaler")).code, 503);
  assert.equal(health.healthz(undefined).code, 503);
  assert.equal(health.livez().code, 200);
  assert.doesNotMatch(health.livez().body, /nodeEligible/);
});
