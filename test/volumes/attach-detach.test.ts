// Attaching volumes with no more rights than upstream's account has, and with an attacher as drivers bring along.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { attachDetachController } from "../../src/controllers/volumes/attach-detach.ts";
import { claimBinder } from "../../src/controllers/volumes/claim-binder.ts";
import { volumeBinder } from "../../src/controllers/volumes/volume-binder.ts";
import { testCluster } from "../controllers/cluster.ts";

const namespace = "default";
const accessModes = ["ReadWriteOnce" as const];

test("a volume follows its pods from node to node, and is never attached to two", async () => {
  await using cluster = await testCluster({
    controllers: [claimBinder(), volumeBinder, attachDetachController()],
    serviceAccounts: {
      attachdetach: "attachdetach-controller",
      "persistentvolume-binder-claims": "persistent-volume-binder",
      "persistentvolume-binder-volumes": "persistent-volume-binder",
    },
  });
  const { client, until } = cluster;
  for (const name of ["n1", "n2"])
    await client.create(Node, {
      metadata: { name, annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" } },
    });
  await client.create(PersistentVolume, {
    metadata: { name: "disk" },
    spec: { accessModes, capacity: { storage: "1Gi" }, csi: { driver: "csi.example.com", volumeHandle: "h" } },
  });
  await client.create(PersistentVolumeClaim, {
    metadata: { namespace, name: "data" },
    spec: { accessModes, storageClassName: "", resources: { requests: { storage: "1Gi" } } },
  });
  const run = (name: string, nodeName: string) =>
    client.create(Pod, {
      metadata: { namespace, name },
      spec: {
        nodeName,
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
      },
    });
  /** Attaches what is asked for, as a driver's attacher does. */
  const attachAll = async () => {
    const { items } = await client.list(VolumeAttachment);
    assert.ok(items.length <= 1, "two nodes have the volume");
    for (const one of items)
      if (!one.status.attached) await client.update(VolumeAttachment, { ...one, status: { attached: true } }, "status");
    return items;
  };
  const isAttached = (node: string) => async () => {
    await attachAll();
    const { volumesAttached } = (await client.get(Node, { name: node })).status;
    return volumesAttached?.some(({ name }) => name === "kubernetes.io/csi/csi.example.com^h") === true;
  };
  await run("first", "n1");
  await until(isAttached("n1"));
  await run("second", "n2");
  for (let i = 0; i < 10; i++) {
    await cluster.server.clock.advance(1000);
    await attachAll();
  }
  assert.equal(await isAttached("n2")(), false);
  await client.delete(Pod, { namespace, name: "first" }, { graceSeconds: 0 });
  await until(isAttached("n2"));
  await client.delete(Pod, { namespace, name: "second" }, { graceSeconds: 0 });
  await until(async () => (await attachAll()).length === 0);
});
