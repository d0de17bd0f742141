import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { Draft } from "#schema/infer.ts";
import { type SchedulingCluster, schedulingCluster } from "./cluster.ts";

const place = { namespace: "default", name: "data" };
const mounting = (claimName: string): Draft<Pod> => ({
  spec: {
    containers: [{ name: "app", image: "app", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
  },
});

const haveClass = (cluster: SchedulingCluster, more: Draft<StorageClass> = {}) =>
  cluster.client.create(StorageClass, {
    metadata: { name: "local" },
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
    ...more,
  });

const haveClaim = (cluster: SchedulingCluster, more: Draft<PersistentVolumeClaim["spec"]> = {}) =>
  cluster.client.create(PersistentVolumeClaim, {
    metadata: place,
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "local",
      ...more,
    },
  });

async function haveVolume(cluster: SchedulingCluster, name: string, size: string, node: string): Promise<void> {
  const volume = await cluster.client.create(PersistentVolume, {
    metadata: { name },
    spec: {
      capacity: { storage: size },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local",
      local: { path: `/disks/${name}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] },
          ],
        },
      },
    },
  });
  await cluster.client.update(PersistentVolume, { ...volume, status: { phase: "Available" } }, "status");
}

/** What the volume controller does once the scheduler has decided. */
async function completeBinding(cluster: SchedulingCluster, volumeName: string): Promise<void> {
  const claim = await cluster.client.get(PersistentVolumeClaim, place);
  await cluster.client.update(PersistentVolumeClaim, {
    ...claim,
    metadata: {
      ...claim.metadata,
      annotations: { ...claim.metadata.annotations, "pv.kubernetes.io/bind-completed": "yes" },
    },
    spec: { ...claim.spec, volumeName },
  });
}

test("a claim that waits for its pod gets the smallest volume that will do, and the pod its node", async () => {
  await using cluster = await schedulingCluster();
  for (const name of ["a", "b", "c"]) await cluster.haveNode(name);
  await haveClass(cluster);
  await haveVolume(cluster, "large", "5Gi", "b");
  await haveVolume(cluster, "right", "2Gi", "b");
  await haveVolume(cluster, "small", "500Mi", "c");
  await haveClaim(cluster);
  await cluster.havePod("web", mounting("data"));
  const right = () => cluster.client.get(PersistentVolume, { name: "right" });
  await cluster.until(async () => (await right()).spec.claimRef !== undefined);
  assert.equal((await right()).spec.claimRef?.name, "data");
  assert.equal((await right()).metadata.annotations?.["pv.kubernetes.io/bound-by-controller"], "yes");
  assert.equal(await cluster.nodeOf("web"), undefined, "the pod waits for its volume");
  await completeBinding(cluster, "right");
  await cluster.until(async () => (await cluster.nodeOf("web")) === "b");
});

test("a volume that has to be made is made for the node the pod goes to", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.haveNode("b", { metadata: { labels: { disk: "fast" } } });
  await haveClass(cluster, {
    provisioner: "csi.example.com",
    allowedTopologies: [{ matchLabelExpressions: [{ key: "disk", values: ["fast"] }] }],
  });
  await haveClaim(cluster);
  await cluster.havePod("web", mounting("data"));
  const claim = () => cluster.client.get(PersistentVolumeClaim, place);
  await cluster.until(async () => (await claim()).metadata.annotations !== undefined);
  assert.equal((await claim()).metadata.annotations?.["volume.kubernetes.io/selected-node"], "b");
});

test("without the claims it needs a pod says what it waits for, and goes on when it is there", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await cluster.havePod("web", mounting("data"));
  const failures = async () => (await cluster.events()).filter((event) => event.startsWith("Failed"));
  await cluster.until(async () => (await failures()).length === 1);
  assert.deepEqual(await failures(), [
    'FailedScheduling: 0/1 nodes are available: persistentvolumeclaim "data" not found. ' +
      "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
  ]);
  await haveClass(cluster, { volumeBindingMode: "Immediate" });
  await haveClaim(cluster);
  await cluster.until(async () => (await failures()).length === 2);
  assert.match((await failures())[1] ?? "", /pod has unbound immediate PersistentVolumeClaims\./);
  await haveVolume(cluster, "disk", "2Gi", "a");
  await completeBinding(cluster, "disk");
  await cluster.until(async () => (await cluster.nodeOf("web")) === "a");
});

test("a node takes no more volumes than its driver can attach", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await haveClass(cluster, { provisioner: "csi.example.com" });
  await haveClaim(cluster);
  await cluster.client.create(CSINode, {
    metadata: { name: "a" },
    spec: { drivers: [{ name: "csi.example.com", nodeID: "a", topologyKeys: [], allocatable: { count: 0 } }] },
  });
  await cluster.havePod("web", mounting("data"));
  await cluster.until(async () => (await cluster.events()).length > 0);
  assert.match((await cluster.events())[0] ?? "", /1 node\(s\) exceed max volume count\./);
});

test("a claim for one pod alone is not given to a second", async () => {
  await using cluster = await schedulingCluster();
  await cluster.haveNode("a");
  await haveClass(cluster, { volumeBindingMode: "Immediate" });
  await haveVolume(cluster, "disk", "2Gi", "a");
  await haveClaim(cluster, { accessModes: ["ReadWriteOncePod"] });
  await completeBinding(cluster, "disk");
  await cluster.havePod("first", mounting("data"));
  await cluster.until(async () => (await cluster.nodeOf("first")) === "a");
  await cluster.havePod("second", mounting("data"));
  await cluster.until(async () => (await cluster.events()).some((event) => event.startsWith("Failed")));
  assert.ok((await cluster.events()).some((event) => event.includes("ReadWriteOncePod access mode already in-use")));
});
