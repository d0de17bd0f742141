import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Draft } from "#schema/infer.ts";
import { PodView } from "./pod-view.ts";
import { asking, Scenario } from "./testing/scenario.ts";

const zone = "topology.kubernetes.io/zone";
const web = {
  id: "web",
  namespaces: ["default"],
  matches: (labels: Readonly<Record<string, string>> | undefined) => labels?.app === "web",
  endingToo: false,
};

/** Pods labelled web, by name of the node. */
const counted = ({ snapshot }: Scenario) => {
  const { values } = snapshot.count(web);
  return Object.fromEntries(snapshot.nodes.map(({ name, slot }) => [name, values[slot]]));
};
const labelled: Draft<Pod> = {
  ...asking({ cpu: "1", memory: "1Gi", "example.com/gpu": "1" }),
  metadata: { labels: { app: "web" } },
};

test("what pods take is taken from their node, and given back", () => {
  const scenario = new Scenario();
  scenario.node("a", { status: { allocatable: { "example.com/gpu": "2" } } });
  const node = scenario.snapshot.node("a");
  const pod = scenario.pod(labelled, "a");
  assert.deepEqual(
    [node?.cpu, node?.cpuLeft, node?.podsLeft, node?.others.get("example.com/gpu")],
    [1000, 3000, 99, 1],
  );
  scenario.snapshot.removePod(pod.uid);
  assert.deepEqual([node?.cpu, node?.cpuLeft, node?.podsLeft, node?.others.get("example.com/gpu")], [0, 4000, 100, 0]);
});

test("a pod that is told of before its node is there is not forgotten", () => {
  const scenario = new Scenario();
  scenario.pod(labelled, "late");
  scenario.node("late");
  assert.equal(scenario.snapshot.node("late")?.cpu, 1000);
  assert.deepEqual(counted(scenario), { late: 1 });
});

test("the pods of a node that goes and comes again are still there", () => {
  const scenario = new Scenario();
  scenario.node("a");
  scenario.node("b");
  scenario.pod(labelled, "a");
  assert.deepEqual(counted(scenario), { a: 1, b: 0 });
  scenario.snapshot.removeNode("a");
  assert.deepEqual(counted(scenario), { b: 0 });
  scenario.node("c");
  assert.deepEqual(counted(scenario), { b: 0, c: 0 }, "another node in its place has none of them");
  scenario.node("a");
  assert.deepEqual(counted(scenario), { b: 0, c: 0, a: 1 });
});

test("pods are counted by what they are now", () => {
  const scenario = new Scenario();
  scenario.node("a");
  const { pod } = scenario.pod(labelled, "a");
  assert.deepEqual(counted(scenario), { a: 1 });
  const change = (metadata: Partial<Pod["metadata"]>) =>
    scenario.snapshot.setPod(new PodView({ ...pod, metadata: { ...pod.metadata, ...metadata } }), "a");
  change({ labels: { app: "db" } });
  assert.deepEqual(counted(scenario), { a: 0 });
  change({});
  assert.deepEqual(counted(scenario), { a: 1 });
  change({ deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(counted(scenario), { a: 0 });
});

test("news of a pod's status alone changes nothing that a verdict depends on", () => {
  const scenario = new Scenario();
  scenario.node("a");
  const { pod, uid } = scenario.pod(labelled, "a");
  const { generation } = scenario.snapshot;
  scenario.snapshot.setPod(new PodView({ ...pod, status: { ...pod.status, phase: "Running" } }), "a");
  assert.equal(scenario.snapshot.generation, generation);
  assert.equal(scenario.snapshot.node("a")?.pods.get(uid)?.pod.status.phase, "Running");
  const resized = { ...pod.spec, containers: pod.spec.containers.map((one) => ({ ...one, resources: {} })) };
  scenario.snapshot.setPod(new PodView({ ...pod, spec: resized }), "a");
  assert.notEqual(scenario.snapshot.generation, generation);
  assert.equal(scenario.snapshot.node("a")?.cpu, 0);
});

test("the nodes of all zones come in turn", () => {
  const scenario = new Scenario();
  for (const [i, value] of ["x", "x", "x", "y", "z", "z"].entries())
    scenario.node(`${value}${i}`, { metadata: { labels: { [zone]: value } } });
  assert.deepEqual(
    scenario.snapshot.nodes.map(({ name }) => name),
    ["x0", "y3", "z4", "x1", "z5", "x2"],
  );
});

test("a copy of a node is its own", () => {
  const scenario = new Scenario();
  scenario.node("a");
  const pod = scenario.pod(labelled, "a");
  const node = scenario.snapshot.node("a");
  const copy = node?.copy();
  copy?.remove(pod.uid);
  assert.deepEqual([copy?.cpu, copy?.podsLeft, copy?.pods.size], [0, 100, 0]);
  assert.deepEqual([node?.cpu, node?.podsLeft, node?.pods.size], [1000, 99, 1]);
});

test("more nodes than there was room for are all known", () => {
  const scenario = new Scenario();
  for (let i = 0; i < 200; i++) {
    scenario.node(`n${i}`);
    scenario.pod(labelled, `n${i}`);
  }
  assert.ok(Object.values(counted(scenario)).every((count) => count === 1));
  assert.ok(scenario.snapshot.nodes.every(({ cpu, cpuLeft }) => cpu === 1000 && cpuLeft === 3000));
});
