import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { describeMachine, machineState, throttleFolders } from "./machine.ts";

const linux = process.platform === "linux" ? false : "only Linux tells of itself this way";

test("a machine tells what it is and has", { skip: linux }, async () => {
  const { capacity, allocatable, system, name } = await describeMachine({
    name: "n1",
    addresses: [],
    port: 10250,
    folder: tmpdir(),
    runtime: { name: "containerd", version: "v1.6.20" },
    kubeletVersion: "v1.36.4",
  });
  assert.equal(name, "n1");
  assert.equal(system.containerRuntimeVersion, "containerd://1.6.20");
  assert.match(system.bootID, /^[0-9a-f-]{36}$/);
  assert.match(system.kernelVersion, /^\d+\.\d+/);
  assert.ok(system.osImage !== "" && !system.osImage.includes('"'));
  const bytes = (amounts: Readonly<Record<string, string>> | undefined, key: string) =>
    Number(quantityValue(parseQuantity(amounts?.[key] ?? "0")));
  assert.equal(bytes(capacity, "memory") - bytes(allocatable, "memory"), 100 * 2 ** 20 + hugepages(capacity));
  const disk = bytes(capacity, "ephemeral-storage");
  assert.ok(disk > 0 && Math.abs(bytes(allocatable, "ephemeral-storage") / disk - 0.9) < 0.001);
  assert.deepEqual([capacity.pods, Number(capacity.cpu) > 0], ["110", true]);
});

const hugepages = (capacity: Readonly<Record<string, string>>): number =>
  Object.entries(capacity)
    .filter(([key]) => key.startsWith("hugepages-"))
    .reduce((sum, [, amount]) => sum + Number(quantityValue(parseQuantity(amount))), 0);

test("a machine knows what it has left", { skip: linux }, async () => {
  const { memoryBytes, memoryAvailableBytes, nodeFs } = await machineState(tmpdir(), tmpdir());
  assert.ok(memoryAvailableBytes > 0 && memoryAvailableBytes < memoryBytes);
  assert.ok(nodeFs.availableBytes <= nodeFs.capacityBytes - nodeFs.usedBytes);
});

test("what processors tell of their heat is found where they tell it", () => {
  const cpus = mkdtempSync(join(tmpdir(), "knarr-cpus-"));
  for (const path of ["cpu0/thermal_throttle", "cpu1", "cpu12/thermal_throttle", "cpufreq/thermal_throttle"])
    mkdirSync(join(cpus, path), { recursive: true });
  assert.deepEqual(throttleFolders(cpus).toSorted(), [
    `${cpus}/cpu0/thermal_throttle`,
    `${cpus}/cpu12/thermal_throttle`,
  ]);
  rmSync(cpus, { recursive: true });
});
