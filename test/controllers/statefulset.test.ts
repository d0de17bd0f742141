import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { statefulSetController } from "../../src/controllers/statefulset/statefulset.ts";
import { type TestCluster, testCluster } from "./cluster.ts";
import { runPods } from "./pods.ts";

const namespace = "default";
const place = { namespace, name: "db" };
const labels = { app: "db" };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "c", image }] } });
const db = (replicas: number, more: object = {}) => ({
  metadata: place,
  spec: { replicas, serviceName: "db", selector: { matchLabels: labels }, template: template("v1"), ...more },
});
const controllers = [statefulSetController];
const serviceAccounts = { statefulset: "statefulset-controller" };

const settled = (cluster: TestCluster) =>
  cluster.until(async () => {
    await runPods(cluster);
    const { metadata, spec, status } = await cluster.client.get(StatefulSet, place);
    const { replicas, updatedReplicas = 0, availableReplicas, observedGeneration } = status;
    const isFull = [replicas, updatedReplicas, availableReplicas].every((count) => count === spec.replicas);
    return isFull && observedGeneration === metadata.generation;
  });
const images = async ({ client }: TestCluster) =>
  (await client.list(Pod)).items.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`).sort();

test("a stateful set grows, rolls out, goes back and shrinks with no more rights than its service account has", async () => {
  await using cluster = await testCluster({ controllers, serviceAccounts });
  const { client, until } = cluster;
  const volumeClaimTemplates = [
    {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  ];
  const persistentVolumeClaimRetentionPolicy = { whenScaled: "Delete", whenDeleted: "Delete" };
  await client.create(StatefulSet, db(3, { volumeClaimTemplates, persistentVolumeClaimRetentionPolicy }));
  await settled(cluster);
  assert.deepEqual(await images(cluster), ["db-0 v1", "db-1 v1", "db-2 v1"]);
  const owners = async () =>
    (await client.list(PersistentVolumeClaim)).items.map(({ metadata }) => [
      metadata.name,
      metadata.ownerReferences?.map(({ kind }) => kind).join(),
    ]);
  await until(async () => (await owners()).every(([, kind]) => kind === "StatefulSet"));

  await client.patch(StatefulSet, place, "strategic", { spec: { template: template("v2") } });
  await settled(cluster);
  assert.deepEqual(await images(cluster), ["db-0 v2", "db-1 v2", "db-2 v2"]);
  await client.patch(StatefulSet, place, "strategic", { spec: { template: template("v1") } });
  await settled(cluster);
  const revisions = (await client.list(ControllerRevision)).items.map(({ revision }) => revision);
  assert.deepEqual(revisions.toSorted(), [2, 3]);

  await client.patch(StatefulSet, place, "merge", { spec: { replicas: 1 } });
  await settled(cluster);
  assert.deepEqual(await images(cluster), ["db-0 v1"]);
  assert.deepEqual(await owners(), [
    ["data-db-0", "StatefulSet"],
    ["data-db-1", "Pod"],
    ["data-db-2", "Pod"],
  ]);
});

test("members are adopted and released with no more rights than the service account has", async () => {
  await using cluster = await testCluster({ controllers, serviceAccounts });
  const { client, until } = cluster;
  await client.create(Pod, { metadata: { namespace, name: "db-0", labels }, spec: template("old").spec });
  await client.create(StatefulSet, db(1));
  await settled(cluster).catch(() => undefined);
  await until(async () => {
    await runPods(cluster);
    return (await images(cluster))[0] === "db-0 v1";
  });
  await client.patch(Pod, { namespace, name: "db-0" }, "merge", { metadata: { labels: { app: "mine" } } });
  await until(async () => (await client.get(Pod, { namespace, name: "db-0" })).metadata.ownerReferences === undefined);
});

test("once all is as wanted nothing is written", async () => {
  let writes = 0;
  await using cluster = await testCluster({
    controllers,
    transport:
      ({ server }) =>
      (request) => {
        if (!["get", "list", "watch"].includes(request.verb)) writes++;
        return server.request(request);
      },
  });
  const { client, server } = cluster;
  await client.create(StatefulSet, db(2, { minReadySeconds: 5 }));
  await settled(cluster);
  await server.clock.advance(30_000);
  writes = 0;
  await server.clock.advance(600_000);
  assert.equal(writes, 0);
});
