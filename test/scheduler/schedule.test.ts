import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { asking, schedulingCluster } from "./cluster.ts";

test("the scheduler binds a pod to a node with room for it and says so", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("small", { status: { allocatable: { cpu: "100m", memory: "1Gi", pods: "10" } } });
  await cluster.haveNode("large");
  await cluster.havePod("web", asking({ cpu: "1" }));
  await cluster.until(async () => (await cluster.nodeOf("web")) === "large");
  const { status } = await cluster.pod("web");
  assert.equal(status.conditions?.find(({ type }) => type === "PodScheduled")?.status, "True");
  await cluster.until(async () => (await cluster.events()).length > 0);
  assert.deepEqual(await cluster.events(), ["Scheduled: Successfully assigned default/web to large"]);
});

test("a pod that fits nowhere says why, once, and is placed when room is made", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.haveNode("b", { spec: { unschedulable: true } });
  await cluster.haveNode("c", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } });
  await cluster.havePod("first", asking({ cpu: "1500m" }));
  await cluster.until(async () => (await cluster.nodeOf("first")) === "a");
  await cluster.havePod("second", asking({ cpu: "1" }));
  const condition = async () =>
    (await cluster.pod("second")).status.conditions?.find(({ type }) => type === "PodScheduled");
  await cluster.until(async () => (await condition()) !== undefined);
  const said =
    "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. " +
    "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, " +
    "2 Preemption is not helpful for scheduling.";
  assert.equal((await condition())?.reason, "Unschedulable");
  assert.equal((await condition())?.message, said);
  const { uid, resourceVersion } = (await cluster.pod("second")).metadata;
  const attempt = cluster.scheduler.attempts.of({ uid: uid ?? "" });
  assert.deepEqual(attempt?.verdicts?.map(({ node, plugin }) => `${node} ${plugin}`).toSorted(), [
    "a NodeResourcesFit",
    "b NodeUnschedulable",
    "c TaintToleration",
  ]);

  await cluster.server.clock.advance(11 * 60_000);
  assert.equal((await cluster.pod("second")).metadata.resourceVersion, resourceVersion, "nothing is written again");
  assert.deepEqual(
    (await cluster.events()).filter((event) => event.startsWith("Failed")),
    [`FailedScheduling: ${said}`],
  );
  await cluster.client.delete(Pod, { namespace: "default", name: "first" }, { graceSeconds: 0 });
  await cluster.until(async () => (await cluster.nodeOf("second")) === "a");
});

test("for a pod that waits, every plugin can be asked about every node", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a", { spec: { unschedulable: true, taints: [{ key: "k", effect: "NoSchedule" }] } });
  await cluster.haveNode("b");
  await cluster.havePod("web", asking({ cpu: "9" }));
  await cluster.until(async () => cluster.scheduler.pending.stuck === 1);
  const { uid } = (await cluster.pod("web")).metadata;
  assert.deepEqual(
    cluster.scheduler.explain({ uid })?.map(({ node, plugin, reasons }) => `${node} ${plugin}: ${reasons.join()}`),
    [
      "a NodeUnschedulable: node(s) were unschedulable",
      "a TaintToleration: node(s) had untolerated taint(s)",
      "a NodeResourcesFit: Insufficient cpu",
      "b NodeResourcesFit: Insufficient cpu",
    ],
  );
  assert.equal(cluster.scheduler.explain({ uid: "another" }), undefined);
});

test("a pod without any node to go to says so, and is placed when one comes", async () => {
  await using cluster = await schedulingCluster();
  await cluster.havePod("web");
  await cluster.until(async () => (await cluster.events()).length > 0);
  assert.deepEqual(await cluster.events(), ["FailedScheduling: no nodes available to schedule pods"]);
  await cluster.haveNode("a");
  await cluster.until(async () => (await cluster.nodeOf("web")) === "a");
});

test("a gated pod is left alone until its gates are gone", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.havePod("web", { spec: { schedulingGates: [{ name: "example.com/wait" }] } });
  await cluster.server.clock.advance(60_000);
  assert.equal(await cluster.nodeOf("web"), undefined);
  assert.deepEqual(cluster.scheduler.pending, { active: 0, backOff: 0, stuck: 0, gated: 1 });
  await cluster.client.patch(Pod, { namespace: "default", name: "web" }, "merge", { spec: { schedulingGates: null } });
  await cluster.until(async () => (await cluster.nodeOf("web")) === "a");
});

test("a pod of another scheduler is left alone", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.havePod("theirs", { spec: { schedulerName: "another" } });
  await cluster.havePod("ours");
  await cluster.until(async () => (await cluster.nodeOf("ours")) === "a");
  assert.equal(await cluster.nodeOf("theirs"), undefined);
});
