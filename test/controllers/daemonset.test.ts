import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { daemonSetController } from "../../src/controllers/daemonset/daemonset.ts";
import { targetNode } from "../../src/controllers/daemonset/placement.ts";
import { type TestCluster, testCluster } from "./cluster.ts";
import { runPods } from "./pods.ts";

const namespace = "default";
const place = { namespace, name: "agent" };
const labels = { app: "agent" };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "c", image }] } });
const agent = (more: object = {}) => ({
  metadata: place,
  spec: { selector: { matchLabels: labels }, template: template("v1"), ...more },
});
const serviceAccounts = { daemonset: "daemon-set-controller" };

const settled = (cluster: TestCluster, count: number) =>
  cluster.until(async () => {
    await runPods(cluster);
    const { metadata, status } = await cluster.client.get(DaemonSet, place);
    const { updatedNumberScheduled = 0, numberAvailable = 0, desiredNumberScheduled, observedGeneration } = status;
    const isFull = [updatedNumberScheduled, numberAvailable, desiredNumberScheduled].every((n) => n === count);
    const pods = (await cluster.client.list(Pod)).items;
    return isFull && pods.length === count && observedGeneration === metadata.generation;
  });
const images = async ({ client }: TestCluster) =>
  (await client.list(Pod)).items.map((pod) => `${targetNode(pod)} ${pod.spec.containers[0]?.image}`).sort();

test("a daemon set follows its nodes and its template with no more rights than its service account has", async () => {
  await using cluster = await testCluster({ controllers: [daemonSetController()], serviceAccounts });
  const { client, until } = cluster;
  for (const name of ["a", "b", "c"]) await client.create(Node, { metadata: { name } });
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  await client.create(DaemonSet, agent({ updateStrategy: { type: "RollingUpdate", rollingUpdate } }));
  await settled(cluster, 3);
  assert.deepEqual(await images(cluster), ["a v1", "b v1", "c v1"]);

  await client.patch(DaemonSet, place, "strategic", { spec: { template: template("v2") } });
  await settled(cluster, 3);
  assert.deepEqual(await images(cluster), ["a v2", "b v2", "c v2"]);
  await client.patch(DaemonSet, place, "strategic", { spec: { template: template("v1") } });
  await settled(cluster, 3);
  const revisions = (await client.list(ControllerRevision)).items.map(({ revision }) => revision);
  assert.deepEqual(revisions.toSorted(), [2, 3]);

  await client.create(Node, { metadata: { name: "d" } });
  await settled(cluster, 4);
  const taints = [{ key: "maintenance", effect: "NoExecute" }];
  await client.patch(Node, { name: "a" }, "merge", { spec: { taints } });
  await settled(cluster, 3);
  assert.deepEqual(await images(cluster), ["b v1", "c v1", "d v1"]);
  await client.patch(Node, { name: "a" }, "merge", { spec: { taints: null } });
  await settled(cluster, 4);
  await client.delete(Node, { name: "d" });
  await until(async () => (await client.get(DaemonSet, place)).status.desiredNumberScheduled === 3);
});

test("orphans are adopted with no more rights than the service account has", async () => {
  await using cluster = await testCluster({ controllers: [daemonSetController()], serviceAccounts });
  const { client, until } = cluster;
  await client.create(Node, { metadata: { name: "a" } });
  const metadata = { namespace, name: "orphan", labels };
  await client.create(Pod, { metadata, spec: { ...template("old").spec, nodeName: "a" } });
  await client.create(DaemonSet, agent());
  await settled(cluster, 1);
  assert.deepEqual(await images(cluster), ["a v1"]);
  const [pod] = (await client.list(Pod)).items;
  await client.patch(Pod, pod!.metadata, "merge", { metadata: { labels: { app: "mine" } } });
  await until(async () => (await client.get(Pod, pod!.metadata)).metadata.ownerReferences === undefined);
});

test("a pod that a kubelet keeps refusing is replaced ever more slowly", async () => {
  await using cluster = await testCluster({ controllers: [daemonSetController()] });
  const { client, server, until } = cluster;
  await client.create(Node, { metadata: { name: "a" } });
  await client.create(DaemonSet, agent());
  const seen = new Set<string>();
  const refuse = async () => {
    for (const pod of (await client.list(Pod)).items) {
      if (pod.metadata.deletionTimestamp !== undefined) await client.delete(Pod, pod.metadata, { graceSeconds: 0 });
      else if (pod.status.phase !== "Failed") {
        seen.add(pod.metadata.uid ?? "");
        await client.update(Pod, { ...pod, status: { ...pod.status, phase: "Failed" } }, "status");
      }
    }
  };
  await until(async () => {
    await refuse();
    return seen.size >= 2;
  });
  for (let second = 0; second < 600; second++) {
    await refuse();
    await server.clock.advance(1000);
  }
  assert.ok(seen.size >= 6 && seen.size < 15, `${seen.size} pods in ten minutes`);
});
