import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { podOf } from "../testing.ts";
import { admitUnderPressure } from "./admit.ts";
import type { NodeHealth } from "./description.ts";
import { healthEvents } from "./health-events.ts";
import { NodeHealthMonitor, nodeImages } from "./node-health-monitor.ts";
import { evictionThresholds, type MachineState, pressuresOf } from "./pressure.ts";

const gib = 2 ** 30;
const disk = { capacityBytes: 100 * gib, availableBytes: 50 * gib, usedBytes: 50 * gib, inodes: 1000, inodesFree: 900 };
const well: MachineState = { memoryBytes: 8 * gib, memoryAvailableBytes: 4 * gib, nodeFs: disk, imageFs: disk };

test("a machine is pressed by what it has less of than upstream's thresholds", () => {
  const table: readonly [Partial<MachineState>, readonly string[]][] = [
    [{}, []],
    [{ memoryAvailableBytes: 100 * 2 ** 20 }, []],
    [{ memoryAvailableBytes: 100 * 2 ** 20 - 1 }, ["memoryPressure"]],
    [{ nodeFs: { ...disk, availableBytes: 9.9 * gib } }, ["diskPressure"]],
    [{ imageFs: { ...disk, availableBytes: 14 * gib } }, ["diskPressure"]],
    [{ nodeFs: { ...disk, inodesFree: 49 } }, ["diskPressure"]],
    [{ nodeFs: { ...disk, inodes: 0, inodesFree: 0 } }, []],
    [{ pids: { used: 999, most: 1000 } }, []],
  ];
  for (const [state, expected] of table)
    assert.deepEqual([...pressuresOf({ ...well, ...state }, evictionThresholds)], expected, JSON.stringify(state));
  const thresholds = { ...evictionThresholds, pidsAvailable: 0.1 };
  assert.deepEqual([...pressuresOf({ ...well, pids: { used: 950, most: 1000 } }, thresholds)], ["pidPressure"]);
});

function watching() {
  const clock = new ManualClock();
  const told: NodeHealth[] = [];
  const state = { machine: well, runtime: async (): Promise<string | undefined> => undefined };
  const watch = new NodeHealthMonitor({
    sensors: {
      runtimeNotReady: () => state.runtime(),
      machine: async () => state.machine,
      images: async () => [{ id: "sha256:1", names: ["nginx"], sizeBytes: 7 }],
    },
    clock,
    log: silentLog,
    report: (health) => told.push(health),
  });
  const stop = new AbortController();
  const running = watch.run(stop.signal).catch(() => undefined);
  return {
    clock,
    state,
    last: () => told.at(-1),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("over"));
      await running;
    },
  };
}

test("a runtime that is away for a moment is not missed, one that stays away is", async () => {
  await using w = watching();
  await w.clock.advance(1000);
  const images = [{ names: ["nginx"], sizeBytes: 7 }];
  assert.deepEqual(w.last(), { images });
  w.state.runtime = async () => {
    throw new Error("connection refused");
  };
  await w.clock.advance(20_000);
  assert.deepEqual(w.last(), { images });
  await w.clock.advance(20_000);
  assert.deepEqual(w.last(), { notReady: "container runtime is down", images });
  w.state.runtime = async () => undefined;
  await w.clock.advance(10_000);
  assert.deepEqual(w.last(), { images });
});

test("a runtime that says nothing at all is not waited for", async () => {
  await using w = watching();
  await w.clock.advance(1000);
  w.state.runtime = () => new Promise(() => undefined);
  await w.clock.advance(60_000);
  assert.equal(w.last()?.notReady, "container runtime is down");
});

test("pressure is told for five minutes longer than it lasts", async () => {
  await using w = watching();
  w.state.machine = { ...well, memoryAvailableBytes: 0 };
  await w.clock.advance(10_000);
  assert.equal(w.last()?.memoryPressure, true);
  w.state.machine = well;
  await w.clock.advance(290_000);
  assert.equal(w.last()?.memoryPressure, true);
  await w.clock.advance(20_000);
  assert.equal(w.last()?.memoryPressure, undefined);
});

test("what changes is reported once, in upstream's words", () => {
  assert.deepEqual(healthEvents(undefined, {}), [
    "NodeHasSufficientMemory",
    "NodeHasNoDiskPressure",
    "NodeHasSufficientPID",
    "NodeReady",
  ]);
  assert.deepEqual(healthEvents({}, { notReady: "x" }), ["NodeNotReady"]);
  assert.deepEqual(healthEvents({ notReady: "x" }, { notReady: "y", diskPressure: true }), ["NodeHasDiskPressure"]);
});

test("a pressed node takes only pods that it must or that do no harm", () => {
  const bestEffort = podOf();
  const burstable = podOf({ containers: [{ name: "c", image: "i", resources: { requests: { memory: "1Mi" } } }] });
  const tolerant = podOf({ tolerations: [{ key: "node.kubernetes.io/memory-pressure", operator: "Exists" }] });
  const critical = podOf({ priority: 2_000_000_000 });
  const memory = { memoryPressure: true };
  const both = { memoryPressure: true, diskPressure: true };
  assert.equal(admitUnderPressure(bestEffort, {}), undefined);
  assert.deepEqual(admitUnderPressure(bestEffort, memory), {
    reason: "Evicted",
    message: "The node had condition: [MemoryPressure]. ",
  });
  for (const pod of [burstable, tolerant, critical]) assert.equal(admitUnderPressure(pod, memory), undefined);
  assert.equal(admitUnderPressure(burstable, both)?.message, "The node had condition: [MemoryPressure DiskPressure]. ");
  assert.equal(admitUnderPressure(critical, both), undefined);
});

test("a node tells its largest images, and not all their names", () => {
  const images = Array.from({ length: 60 }, (_, i) => ({
    id: `sha256:${i}`,
    names: Array.from({ length: 9 }, (_name, n) => `image-${i}:${n}`),
    sizeBytes: i,
  }));
  const told = nodeImages(images);
  assert.deepEqual([told.length, told[0]?.sizeBytes, told[0]?.names.length], [50, 59, 5]);
});
