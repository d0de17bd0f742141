import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/v1/lease.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { world } from "#client/testing.ts";
import { microTimeOf, timeOf } from "#schema/time.ts";
import { nodeLifecycleController } from "./node-lifecycle.ts";

type Status = "True" | "False" | "Unknown";
const start = "2026-01-01T00:00:00Z";

function nodes(names: readonly string[], labels: Readonly<Record<string, string>> = {}) {
  const w = world({ now: start });
  const one = nodeLifecycleController();
  const have = (name: string, ready: Status | undefined, more: object = {}) =>
    w.have(Node, {
      metadata: { name, labels },
      status: { conditions: ready ? [condition("Ready", ready)] : [] },
      ...more,
    });
  for (const name of names) have(name, "True");
  return Object.assign(w, {
    add: have,
    sync: (name: string) => w.reconcile(one, w.get(Node, { name }) ?? ({ metadata: { name } } as Node)),
    node: (name: string) => w.get(Node, { name })!,
    async say(name: string, ready: Status) {
      const node = w.get(Node, { name })!;
      const conditions = [{ ...condition("Ready", ready), lastHeartbeatTime: timeOf(w.clock.now()) }];
      await w.client.update(Node, { ...node, status: { ...node.status, conditions } }, "status");
      w.writes();
    },
    renew: (name: string) =>
      w.have(Lease, {
        metadata: { namespace: "kube-node-lease", name },
        spec: { renewTime: microTimeOf(w.clock.now()) },
      }),
  });
}
type Cluster = ReturnType<typeof nodes>;
const condition = (type: string, status: Status) => ({
  type,
  status,
  reason: "R",
  message: "m",
  lastHeartbeatTime: start,
  lastTransitionTime: start,
});
const taintsOf = (w: Cluster, name: string) =>
  (w.node(name).spec.taints ?? [])
    .map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`)
    .toSorted();
const isEmptied = (w: Cluster, name: string) => taintsOf(w, name).some((taint) => taint.endsWith(":NoExecute"));

test("a node that is silent for longer than the grace period is declared unknown, once", async () => {
  const w = nodes(["a", "b"]);
  await w.sync("b");
  w.writes();
  assert.deepEqual(await w.sync("a"), { afterMs: 50_001 });
  assert.ok(w.events().includes("Normal RegisteredNode Node a event: Registered Node a in Controller"));
  await w.clock.advance(50_000);
  assert.deepEqual(await w.sync("a"), { afterMs: 1 });
  assert.deepEqual(w.writes(), []);
  await w.clock.advance(1);
  w.renew("b");
  await w.sync("b");
  await w.sync("a");
  const [ready, ...others] = w.node("a").status.conditions ?? [];
  assert.deepEqual(ready, {
    type: "Ready",
    status: "Unknown",
    reason: "NodeStatusUnknown",
    message: "Kubelet stopped posting node status.",
    lastHeartbeatTime: start,
    lastTransitionTime: "2026-01-01T00:00:50Z",
  });
  assert.deepEqual(
    others.map(({ type, status, reason }) => [type, status, reason]),
    ["MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => [type, "Unknown", "NodeStatusNeverUpdated"]),
  );
  assert.deepEqual(w.events(), ["Normal NodeNotReady Node a status is now: NodeNotReady"]);
  assert.deepEqual(w.writes(), ["update Node a/status", "patch Node a"]);
  await w.sync("a");
  assert.deepEqual(w.writes(), []);
});

test("a node that never posted a status has a minute from its creation", async () => {
  const w = nodes(["b"]);
  await w.clock.advance(20_000);
  w.add("a", undefined, { metadata: { name: "a", creationTimestamp: start } });
  assert.deepEqual(await w.sync("a"), { afterMs: 40_001 });
  await w.clock.advance(40_001);
  await w.sync("a");
  const [ready] = w.node("a").status.conditions ?? [];
  assert.deepEqual([ready?.reason, ready?.lastHeartbeatTime], ["NodeStatusNeverUpdated", start]);
  assert.ok(!w.events().some((line) => line.includes("NodeNotReady")));
});

test("a renewed lease or a posted status is a sign of life, by our clock and not by the node's", async () => {
  const w = nodes(["a", "b"]);
  const left = async () => (await w.sync("a"))?.afterMs;
  await w.sync("a");
  await w.clock.advance(30_000);
  w.renew("a");
  assert.equal(await left(), 50_001);
  await w.clock.advance(30_000);
  assert.equal(await left(), 20_001);
  w.have(Lease, {
    metadata: { namespace: "kube-node-lease", name: "a" },
    spec: { renewTime: "2020-01-01T00:00:00.000000Z" },
  });
  assert.equal(await left(), 20_001, "an older renewal is no news");
  await w.say("a", "True");
  assert.equal(await left(), 50_001);
});

test("conditions and cordons are taints that keep pods away, and others' taints are left alone", async () => {
  const rows: readonly [readonly [string, Status][], object, readonly string[]][] = [
    [[["Ready", "True"]], {}, []],
    [
      [
        ["Ready", "True"],
        ["MemoryPressure", "True"],
        ["DiskPressure", "False"],
      ],
      {},
      ["memory-pressure:NoSchedule"],
    ],
    [
      [
        ["Ready", "True"],
        ["DiskPressure", "True"],
        ["PIDPressure", "True"],
      ],
      {},
      ["disk-pressure:NoSchedule", "pid-pressure:NoSchedule"],
    ],
    [
      [
        ["Ready", "True"],
        ["NetworkUnavailable", "True"],
      ],
      {},
      ["network-unavailable:NoSchedule"],
    ],
    [[["Ready", "True"]], { unschedulable: true }, ["unschedulable:NoSchedule"]],
    [[["Ready", "True"]], { taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] }, []],
    [[["Ready", "True"]], { taints: [{ key: "mine", effect: "NoSchedule" }] }, ["mine:NoSchedule"]],
    [[["Ready", "True"]], { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoExecute" }] }, []],
    [
      [["Ready", "True"]],
      { taints: [{ key: "node.kubernetes.io/memory-pressure", effect: "NoExecute" }] },
      ["memory-pressure:NoExecute"],
    ],
  ];
  for (const [conditions, spec, wanted] of rows) {
    const w = nodes(["other"]);
    const status = { conditions: conditions.map(([type, value]) => condition(type, value)) };
    w.add("a", undefined, { spec, status });
    await w.sync("a");
    assert.deepEqual(taintsOf(w, "a"), wanted, JSON.stringify([conditions, spec]));
  }
});

test("a node that does not work is emptied, one that works again is not", async () => {
  const w = nodes(["a", "b", "c"]);
  await w.say("a", "False");
  assert.deepEqual(await w.sync("a"), { afterMs: 5000 });
  assert.deepEqual(taintsOf(w, "a"), ["not-ready:NoExecute", "not-ready:NoSchedule"]);
  assert.equal(w.node("a").spec.taints?.[0]?.timeAdded, start);
  await w.say("a", "Unknown");
  await w.sync("a");
  assert.deepEqual(taintsOf(w, "a"), ["unreachable:NoExecute", "unreachable:NoSchedule"]);
  await w.say("a", "False");
  await w.sync("a");
  assert.deepEqual(taintsOf(w, "a"), ["not-ready:NoExecute", "not-ready:NoSchedule"]);
  await w.say("a", "True");
  await w.sync("a");
  assert.deepEqual(taintsOf(w, "a"), []);
});

test("nodes of a zone are emptied one every ten seconds, in the order in which they failed", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const w = nodes(names);
  for (const name of ["b", "a"]) {
    await w.say(name, "False");
    await w.sync(name);
  }
  assert.deepEqual(
    ["a", "b"].map((name) => isEmptied(w, name)),
    [false, true],
  );
  await w.clock.advance(9_000);
  assert.deepEqual(await w.sync("a"), { afterMs: 1000 });
  await w.clock.advance(1_000);
  await w.sync("a");
  assert.equal(isEmptied(w, "a"), true);
});

test("with too many failures a small zone is left alone and a large one goes more slowly", async () => {
  const small = nodes(["a", "b", "c", "d"]);
  for (const name of ["a", "b", "c"]) await small.say(name, "False");
  await small.sync("a");
  assert.equal(isEmptied(small, "a"), false);
  await small.clock.advance(3_600_000);
  await small.sync("a");
  assert.equal(isEmptied(small, "a"), false);

  const names = Array.from({ length: 60 }, (_, i) => `n${i}`);
  const large = nodes(names);
  for (const name of names.slice(0, 40)) await large.say(name, "False");
  await large.sync("n0");
  assert.equal(isEmptied(large, "n0"), true);
  await large.sync("n1");
  await large.clock.advance(99_000);
  await large.sync("n1");
  assert.equal(isEmptied(large, "n1"), false);
  await large.clock.advance(1_000);
  await large.sync("n1");
  assert.equal(isEmptied(large, "n1"), true);
});

test("a zone that fails as a whole is emptied as fast as any while others work", async () => {
  const w = nodes(["a"], { "topology.kubernetes.io/zone": "x" });
  w.add("b", "True", { metadata: { name: "b", labels: { "topology.kubernetes.io/zone": "y" } } });
  await w.say("a", "False");
  await w.sync("a");
  assert.equal(isEmptied(w, "a"), true);
});

test("when everything fails nothing is emptied, and what was is not any more; when something works again all get their time", async () => {
  const w = nodes(["a", "b"]);
  await w.sync("a");
  await w.sync("b");
  await w.say("a", "False");
  await w.sync("a");
  assert.equal(isEmptied(w, "a"), true);
  await w.clock.advance(50_001);
  await w.sync("b");
  assert.equal(isEmptied(w, "b"), false);
  await w.sync("a");
  assert.deepEqual([isEmptied(w, "a"), isEmptied(w, "b")], [false, false]);
  await w.clock.advance(3_600_000);
  await w.sync("a");
  assert.equal(isEmptied(w, "a"), false);
  await w.say("b", "True");
  assert.deepEqual(await w.sync("b"), { afterMs: 50_001 });
  await w.sync("a");
  assert.equal(isEmptied(w, "a"), false, "the first has to wait after a stop");
  await w.clock.advance(10_000);
  await w.sync("a");
  assert.equal(isEmptied(w, "a"), true);
});

test("nodes that ask not to be counted do not make a disruption", async () => {
  const w = nodes(["a"]);
  w.add("excluded", "True", {
    metadata: { name: "excluded", labels: { "node.kubernetes.io/exclude-disruption": "" } },
  });
  await w.say("a", "False");
  await w.sync("a");
  assert.equal(isEmptied(w, "a"), false);
});

test("pods of a node nobody hears of are marked as not ready", async () => {
  const w = nodes(["a", "b"]);
  const ready = { conditions: [condition("Ready", "True"), condition("Initialized", "True")] };
  w.have(Pod, { metadata: { name: "here" }, spec: { nodeName: "a" }, status: ready });
  w.have(Pod, { metadata: { name: "there" }, spec: { nodeName: "b" }, status: ready });
  w.have(Pod, { metadata: { name: "young" }, spec: { nodeName: "a" } });
  await w.sync("a");
  await w.clock.advance(50_001);
  w.renew("b");
  await w.sync("b");
  w.events();
  await w.sync("a");
  const statusOf = (name: string) =>
    w.get(Pod, { name })?.status.conditions?.map(({ type, status }) => `${type}=${status}`);
  assert.deepEqual(statusOf("here"), ["Ready=False", "Initialized=True"]);
  assert.deepEqual([statusOf("there"), statusOf("young")], [["Ready=True", "Initialized=True"], undefined]);
  assert.ok(w.events().includes("Warning NodeNotReady Node is not ready"));
});

test("the old names of labels follow the new ones", async () => {
  const w = nodes([]);
  const labels = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64" };
  w.add("a", "True", { metadata: { name: "a", labels } });
  await w.sync("a");
  assert.deepEqual(w.node("a").metadata.labels, {
    ...labels,
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "arm64",
  });
});

test("a node that is deleted is reported and forgotten", async () => {
  const w = nodes(["a", "b"]);
  await w.sync("a");
  w.events();
  w.lose(Node, { name: "a" });
  await w.sync("a");
  assert.deepEqual(w.events(), ["Normal RemovingNode Node a event: Removing Node a from Controller"]);
  await w.sync("a");
  assert.deepEqual(w.events(), []);
});
