import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { type DeviceReport, DriverHealth } from "./driver-health.ts";

const report = (device: string, health: DeviceReport["health"], more: Partial<DeviceReport> = {}): DeviceReport => ({
  pool: "p",
  device,
  health,
  message: "",
  timeoutMs: 0,
  ...more,
});
const names = (reports: readonly DeviceReport[]) => reports.map(({ device, health }) => `${device} ${health}`);

test("what a driver says of a device counts for thirty seconds, or as long as it says", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const health = new DriverHealth(clock);
  assert.equal(health.of("d", "p", "a").health, "Unknown");
  const reports = [report("a", "Healthy"), report("b", "Unhealthy", { message: "hot", timeoutMs: 60_000 })];
  assert.deepEqual(names(health.update("d", reports)), ["a Healthy", "b Unhealthy"]);
  assert.deepEqual(health.update("d", reports), []);
  await clock.advance(30_000);
  assert.equal(health.of("d", "p", "a").health, "Healthy");
  await clock.advance(1000);
  assert.equal(health.of("d", "p", "a").health, "Unknown");
  assert.equal(health.of("d", "p", "b").message, "hot");
  // Of what a driver no longer names, nothing is known once its last word is too old.
  assert.deepEqual(names(health.update("d", [report("b", "Healthy")])), ["b Healthy", "a Unknown"]);
  assert.deepEqual(names(health.forget("d")), ["b Healthy"]);
  assert.equal(health.of("d", "p", "b").health, "Unknown");
});

test("a message that is too long is cut", () => {
  const health = new DriverHealth(new ManualClock("2026-01-01T00:00:00Z"));
  health.update("d", [report("a", "Unhealthy", { message: "x".repeat(2000) })]);
  const { message } = health.of("d", "p", "a");
  assert.equal(message.length, 1024);
  assert.ok(message.endsWith("x..."));
});
