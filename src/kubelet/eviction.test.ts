import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import {
  type EvictionPeer,
  Evictor,
  type EvictorOptions,
  evictionMessage,
  evictionOrder,
  type MeasuredPod,
  shortageOf,
} from "./eviction.ts";
import { evictionThresholds, type MachineState } from "./node/pressure.ts";
import type { FsStats, PodStats } from "./stats/summary.ts";
import { podOf, stateOf } from "./testing.ts";

const time = "2026-01-01T00:00:00Z";
const mib = 2 ** 20;
const gib = 2 ** 30;
const holding = (usedBytes: number): FsStats => ({
  time,
  usedBytes,
  availableBytes: 0,
  capacityBytes: 0,
  inodes: 0,
  inodesFree: 0,
});

function measured(name: string, memory: number, request: string | undefined, priority = 0) {
  const resources = request === undefined ? {} : { requests: { memory: request } };
  const pod = podOf(
    { priority, containers: [{ name: "web", image: "nginx", resources }] },
    { metadata: { name, uid: name } },
  );
  const stats: PodStats = {
    podRef: { name, namespace: "default", uid: name },
    startTime: time,
    memory: { time, workingSetBytes: memory },
    containers: [
      {
        name: "web",
        startTime: time,
        memory: { time, workingSetBytes: memory },
        rootfs: holding(mib),
        logs: holding(0),
      },
    ],
    "ephemeral-storage": holding(mib),
  };
  return { pod, stats };
}

test("who takes more than it asked for goes first, then who matters less, then who takes most", () => {
  const pods = [
    measured("within", 50 * mib, "100Mi"),
    measured("critical", 900 * mib, undefined, 2_000_000_000),
    measured("much", 300 * mib, "100Mi"),
    measured("little", 110 * mib, "100Mi"),
    measured("important", 800 * mib, "100Mi", 1000),
    { ...measured("unknown", 0, undefined), stats: undefined },
  ];
  assert.deepEqual(
    evictionOrder("memory", pods).map(({ pod }) => pod.metadata.name),
    ["unknown", "much", "little", "important", "within"],
  );
});

const disk = { capacityBytes: 100 * gib, availableBytes: 50 * gib, usedBytes: 0, inodes: 0, inodesFree: 0 };
const well: MachineState = { memoryBytes: 8 * gib, memoryAvailableBytes: 4 * gib, nodeFs: disk, imageFs: disk };
const starved: MachineState = { ...well, memoryAvailableBytes: 50 * mib };

test("the reason names what there was too little of, and who took it", () => {
  const shortage = shortageOf("memoryPressure", starved, evictionThresholds);
  assert.equal(
    evictionMessage(shortage, measured("much", 300 * mib, "100Mi")),
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
      "Container web was using 300Mi, request is 100Mi, has larger consumption of memory. ",
  );
  const full = { ...well, nodeFs: { ...disk, availableBytes: 5 * gib } };
  assert.equal(
    evictionMessage(shortageOf("diskPressure", full, evictionThresholds), measured("any", 0, undefined)),
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 5Gi. " +
      "Container web was using 1Mi, request is 0, has larger consumption of ephemeral-storage. ",
  );
});

/** A node with these pods, and what became of them. */
function node(pods: readonly MeasuredPod[], state: { machine: MachineState }, peers?: EvictorOptions["peers"]) {
  const gone = new Set<string>();
  const did: string[] = [];
  const peer: EvictionPeer = {
    pods: () =>
      pods.map(({ pod }) =>
        gone.has(pod.metadata.uid)
          ? { pod: { ...pod, status: { phase: "Failed" } }, state: stateOf(["web exited 0"]) }
          : { pod, state: stateOf(["web running"]) },
      ),
    stats: async () => ({
      node: { nodeName: "n1", startTime: time },
      pods: pods.flatMap(({ stats }) => stats ?? []),
    }),
  };
  const evictor = new Evictor({
    ...peer,
    ...(peers && { peers }),
    machine: async () => state.machine,
    freeImages: async () => did.push("images"),
    evict: (uid) => did.push(uid),
    thresholds: evictionThresholds,
    clock: new ManualClock(),
    log: silentLog,
  });
  return { ...peer, gone, did, evictor };
}

const { signal } = new AbortController();

test("one pod goes at a time, and images before pods", async () => {
  const state = { machine: starved };
  const { evictor, gone, did } = node(
    [measured("a", 300 * mib, undefined), measured("b", 200 * mib, undefined)],
    state,
  );
  await evictor.relieve(new Set(["memoryPressure"]), signal);
  await evictor.relieve(new Set(["memoryPressure"]), signal);
  assert.deepEqual(did, ["a"], "it is waited for the first");
  gone.add("a");
  await evictor.relieve(new Set(["memoryPressure"]), signal);
  assert.deepEqual(did, ["a", "b"]);
  gone.add("b");
  state.machine = well;
  await evictor.relieve(new Set(["diskPressure"]), signal);
  assert.deepEqual(did, ["a", "b", "images"], "without them there is room");
  await evictor.relieve(new Set(), signal);
  assert.equal(did.length, 3);
});

test("of nodes that share a machine the one ends a pod that has the worst", async () => {
  const state = { machine: starved };
  const other = node([measured("b", 300 * mib, undefined)], state);
  const { evictor, did } = node([measured("a", 200 * mib, undefined)], state, () => [other]);
  await evictor.relieve(new Set(["memoryPressure"]), signal);
  assert.deepEqual(did, []);
  other.gone.add("b");
  await evictor.relieve(new Set(["memoryPressure"]), signal);
  assert.deepEqual(did, ["a"]);
});

test("a disk that is full of what is nobody's pod ends none", async () => {
  const nodeFs = { ...disk, availableBytes: 5 * gib };
  const { evictor, did } = node([measured("a", 0, undefined)], { machine: { ...well, nodeFs } });
  await evictor.relieve(new Set(["diskPressure"]), signal);
  assert.deepEqual(did, ["images"]);
});
