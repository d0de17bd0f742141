import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import type { Portal } from "./forwarder.ts";
import { PortalChoice } from "./portal-choice.ts";

const portalTo = (addresses: readonly string[], affinitySeconds?: number): Portal => ({
  key: "web",
  family: "IPv4",
  protocol: "tcp",
  targets: addresses.map((address) => ({ address, port: 80 })),
  affinitySeconds,
});

test("a portal takes its targets in turn, and none if there are none", () => {
  const choice = new PortalChoice(portalTo(["a", "b"]), new ManualClock());
  assert.deepEqual(
    ["x", "x", "y", "x"].map((sender) => choice.choose(sender)?.address),
    ["a", "b", "a", "b"],
  );
  choice.update(portalTo([]));
  assert.equal(choice.choose("x"), undefined);
});

test("a sender keeps its target until it has been away for too long, or the target is gone or silent", async () => {
  const clock = new ManualClock();
  const choice = new PortalChoice(portalTo(["a", "b", "c"], 10), clock);
  const ask = (isRetry = false) => choice.choose("x", isRetry)?.address;
  assert.deepEqual([ask(), ask(), ask()], ["a", "a", "a"]);
  await clock.advance(9_000);
  assert.equal(ask(), "a");
  await clock.advance(9_000);
  assert.equal(ask(), "a", "its time begins anew with each connection");
  await clock.advance(10_000);
  assert.equal(ask(), "b");
  assert.equal(ask(true), "c", "the one before did not answer");
  assert.equal(ask(), "c");
  choice.update(portalTo(["a", "b"], 10));
  assert.notEqual(ask(), "c");
});
