import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { silentLog } from "#base/log.ts";
import { PodGarbageCollector } from "../../src/controllers/pod-garbage/collector.ts";
import { type TestCluster, testCluster } from "./cluster.ts";

const namespace = "default";
const cluster = (terminatedPodThreshold = 12_500) =>
  testCluster({
    controllers: [],
    components: ({ client, informers, server: { clock } }) => [
      new PodGarbageCollector({ client, informers, clock, log: silentLog, terminatedPodThreshold }),
    ],
  });
const finalizers = ["example.com/hold"];

async function addPod(
  { client }: TestCluster,
  name: string,
  more: { metadata?: object; spec?: object; status?: object },
) {
  const spec = { containers: [{ name: "c", image: "i" }], ...more.spec };
  const pod = await client.create(Pod, { metadata: { namespace, name, ...more.metadata }, spec });
  if (more.status) await client.update(Pod, { ...pod, status: { ...pod.status, ...more.status } }, "status");
}
const names = async ({ client }: TestCluster) =>
  (await client.list(Pod)).items.map(({ metadata }) => metadata.name).join();

test("pods of a node that is gone are marked as failed and deleted, after a while", async () => {
  await using c = await cluster();
  await c.client.create(Node, { metadata: { name: "here" } });
  await addPod(c, "a", { spec: { nodeName: "gone" }, metadata: { finalizers } });
  await addPod(c, "b", { spec: { nodeName: "here" } });
  await c.server.clock.advance(39_000);
  assert.equal((await c.client.get(Pod, { namespace, name: "a" })).status.phase, "Pending");
  await c.until(async () => {
    const { metadata } = await c.client.get(Pod, { namespace, name: "a" });
    return metadata.deletionTimestamp !== undefined;
  }, 1000);
  const { status } = await c.client.get(Pod, { namespace, name: "a" });
  assert.equal(status.phase, "Failed");
  const condition = status.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.equal(condition?.reason, "DeletionByPodGC");
  await c.client.patch(Pod, { namespace, name: "a" }, "merge", { metadata: { finalizers: null } });
  await c.until(async () => (await names(c)) === "b");
});

test("a node that comes back in time keeps its pods", async () => {
  await using c = await cluster();
  await addPod(c, "a", { spec: { nodeName: "late" } });
  await c.server.clock.advance(30_000);
  await c.client.create(Node, { metadata: { name: "late" } });
  await c.server.clock.advance(120_000);
  assert.equal(await names(c), "a");
});

test("pods on a node that is out of service go at once", async () => {
  await using c = await cluster();
  const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" as const, value: "nodeshutdown" }];
  await c.client.create(Node, { metadata: { name: "off" }, spec: { taints } });
  await addPod(c, "going", { spec: { nodeName: "off" } });
  await addPod(c, "stays", { spec: { nodeName: "off" } });
  await c.client.delete(Pod, { namespace, name: "going" });
  await c.until(async () => (await names(c)) === "stays");
});

test("of the pods that have ended only so many are kept, evicted ones least", async () => {
  await using c = await cluster(2);
  await addPod(c, "a", { status: { phase: "Succeeded" } });
  await addPod(c, "b", { status: { phase: "Failed" } });
  await addPod(c, "c", { status: { phase: "Failed", reason: "Evicted" } });
  await addPod(c, "d", { status: { phase: "Running" } });
  await c.until(async () => (await names(c)) === "a,b,d");
  await c.server.clock.advance(60_000);
  assert.equal(await names(c), "a,b,d");
});
