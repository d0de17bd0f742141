import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/v1/namespace.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { claimProtectionController, volumeProtectionController } from "../../src/controllers/volume-protection.ts";
import { testCluster } from "./cluster.ts";

const namespace = "default";

test("a claim that is deleted goes with the last pod that has it, and a volume when it is free, by accounts that may do no more", async () => {
  await using cluster = await testCluster({
    controllers: [claimProtectionController, volumeProtectionController],
    serviceAccounts: { "pvc-protection": "pvc-protection-controller", "pv-protection": "pv-protection-controller" },
    server: { admission: admissionOf({ disable: ["ServiceAccount"] }) },
  });
  const { client, server, until } = cluster;
  await client.create(Namespace, { metadata: { name: namespace } });
  const accessModes = ["ReadWriteOnce" as const];
  const claim = await client.create(PersistentVolumeClaim, {
    metadata: { namespace, name: "data" },
    spec: { accessModes, resources: { requests: { storage: "1Gi" } } },
  });
  assert.deepEqual(claim.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
  for (const name of ["one", "two"])
    await client.create(Pod, {
      metadata: { namespace, name },
      spec: { nodeName: "n1", volumes, containers: [{ name: "c", image: "i" }] },
    });
  await client.delete(PersistentVolumeClaim, claim.metadata);
  const isThere = async () => (await client.find(PersistentVolumeClaim, claim.metadata)) !== undefined;
  await server.clock.advance(60_000);
  await client.delete(Pod, { namespace, name: "one" }, { graceSeconds: 0 });
  await server.clock.advance(60_000);
  assert.ok(await isThere(), "the other pod has it");
  await client.delete(Pod, { namespace, name: "two" }, { graceSeconds: 0 });
  await until(async () => !(await isThere()));

  const volume = await client.create(PersistentVolume, {
    metadata: { name: "disk" },
    spec: { capacity: { storage: "1Gi" }, accessModes, hostPath: { path: "/disk" } },
  });
  await client.update(PersistentVolume, { ...volume, status: { phase: "Bound" } }, "status");
  await client.delete(PersistentVolume, volume.metadata);
  await server.clock.advance(60_000);
  const bound = await client.get(PersistentVolume, volume.metadata);
  await client.update(PersistentVolume, { ...bound, status: { phase: "Released" } }, "status");
  await until(async () => (await client.find(PersistentVolume, volume.metadata)) === undefined);
});
