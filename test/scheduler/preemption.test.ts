import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { asking, type SchedulingCluster, schedulingCluster } from "./cluster.ts";

const find = (cluster: SchedulingCluster, name: string) => cluster.client.find(Pod, { namespace: "default", name });
const important = (cpu: string) => asking({ cpu }, { priority: 1000 });

/** There is no kubelet: what is being deleted ends by this. */
async function end(cluster: SchedulingCluster, name: string): Promise<void> {
  await cluster.client.delete(Pod, { namespace: "default", name }, { graceSeconds: 0 });
}

test("an important pod sends away the fewest less important pods that make room for it", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.havePod("small", asking({ cpu: "500m" }));
  await cluster.havePod("large", asking({ cpu: "1500m" }));
  await cluster.until(async () => Boolean((await cluster.nodeOf("small")) && (await cluster.nodeOf("large"))));
  await cluster.havePod("boss", important("1"));
  await cluster.until(async () => (await find(cluster, "large"))?.metadata.deletionTimestamp !== undefined);
  const large = await find(cluster, "large");
  const disrupted = large?.status.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.equal(disrupted?.reason, "PreemptionByScheduler");
  assert.equal(disrupted?.message, "default-scheduler: preempting to accommodate a higher priority pod");
  assert.equal((await find(cluster, "small"))?.metadata.deletionTimestamp, undefined);
  await cluster.until(async () => (await cluster.pod("boss")).status.nominatedNodeName === "a");
  const boss = await cluster.pod("boss");
  assert.ok((await cluster.events()).includes(`Preempted: Preempted by pod ${boss.metadata.uid} on node a`));

  await cluster.havePod("late", asking({ cpu: "1" }));
  await cluster.server.clock.advance(5000);
  await end(cluster, "large");
  await cluster.until(async () => (await cluster.nodeOf("boss")) === "a");
  assert.equal((await cluster.pod("boss")).status.nominatedNodeName, undefined);
  assert.equal(await cluster.nodeOf("late"), undefined, "the room was kept for whom it was made");
});

test("a pod that may not preempt waits", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.havePod("first", asking({ cpu: "2" }));
  await cluster.until(async () => (await cluster.nodeOf("first")) === "a");
  await cluster.havePod("polite", asking({ cpu: "1" }, { priority: 1000, preemptionPolicy: "Never" }));
  await cluster.until(async () => (await cluster.events()).some((event) => event.startsWith("Failed")));
  assert.ok(
    (await cluster.events()).includes(
      "FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
    ),
  );
});

test("of two nodes, the one is cleared where no disruption budget is broken", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.havePod("guarded", { ...asking({ cpu: "2" }), metadata: { labels: { app: "guarded" } } });
  await cluster.until(async () => (await cluster.nodeOf("guarded")) === "a");
  await cluster.haveNode("b");
  await cluster.havePod("free", asking({ cpu: "2" }, { priority: 10 }));
  await cluster.until(async () => (await cluster.nodeOf("free")) === "b");
  await cluster.client.create(PodDisruptionBudget, {
    metadata: { name: "guarded", namespace: "default" },
    spec: { selector: { matchLabels: { app: "guarded" } }, minAvailable: 1 },
  });
  await cluster.havePod("boss", important("1"));
  await cluster.until(async () => (await find(cluster, "free"))?.metadata.deletionTimestamp !== undefined);
  assert.equal((await find(cluster, "guarded"))?.metadata.deletionTimestamp, undefined);
});
