import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { explain } from "#base/errors.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { csiSourceOf, translatedVolume } from "./csi-translation.ts";

const volume = (spec: object, metadata: object = {}): PersistentVolume =>
  applyDefaults(PersistentVolume, {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv", ...metadata },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
  } as never) as PersistentVolume;

test("volumes of in-tree drivers are found by the drivers that have taken their place", () => {
  const cases: readonly (readonly [PersistentVolume, object])[] = [
    [
      volume({ awsElasticBlockStore: { volumeID: "aws://us-east-1a/vol-1", fsType: "ext4", partition: 2 } }),
      { driver: "ebs.csi.aws.com", volumeHandle: "vol-1", fsType: "ext4", volumeAttributes: { partition: "2" } },
    ],
    [
      volume({
        azureDisk: { diskName: "d", diskURI: "/subscriptions/d", kind: "Managed", cachingMode: "None", fsType: "xfs" },
      }),
      {
        driver: "disk.csi.azure.com",
        volumeHandle: "/subscriptions/d",
        fsType: "xfs",
        volumeAttributes: { kind: "managed", cachingmode: "None", fstype: "xfs" },
      },
    ],
    [
      volume({ azureFile: { secretName: "azure-storage-account-me-secret", shareName: "s", secretNamespace: "ns" } }),
      {
        driver: "file.csi.azure.com",
        volumeHandle: "#me#s#pv#ns",
        volumeAttributes: { sharename: "s" },
        nodeStageSecretRef: { name: "azure-storage-account-me-secret", namespace: "ns" },
      },
    ],
    [
      volume({ cinder: { volumeID: "c", readOnly: true } }),
      { driver: "cinder.csi.openstack.org", volumeHandle: "c", readOnly: true, volumeAttributes: {} },
    ],
    [
      volume(
        { gcePersistentDisk: { pdName: "d" } },
        { labels: { "topology.kubernetes.io/zone": "europe-west1-b__europe-west1-c" } },
      ),
      {
        driver: "pd.csi.storage.gke.io",
        volumeHandle: "projects/UNSPECIFIED/regions/europe-west1/disks/d",
        volumeAttributes: { partition: "" },
      },
    ],
    [
      volume({ vsphereVolume: { volumePath: "[ds] v.vmdk", storagePolicyName: "gold" } }),
      {
        driver: "csi.vsphere.vmware.com",
        volumeHandle: "[ds] v.vmdk",
        volumeAttributes: { storagepolicyname: "gold" },
      },
    ],
  ];
  for (const [one, source] of cases) assert.deepEqual({ ...csiSourceOf(one) }, source);
  const disk = volume({ gcePersistentDisk: { pdName: "d" }, accessModes: ["ReadOnlyMany", "ReadWriteMany"] });
  assert.deepEqual(translatedVolume(disk).spec.accessModes, ["ReadWriteOnce"]);
});

test("a volume that cannot be translated is told of, and has no driver; others stay as they are", () => {
  const dedicated = volume({ azureDisk: { diskName: "d", diskURI: "u", kind: "Dedicated" } });
  assert.throws(
    () => translatedVolume(dedicated),
    (error) => /kind\(Dedicated\) is not supported/.test(explain(error)),
  );
  assert.equal(csiSourceOf(dedicated), undefined);
  const local = volume({ hostPath: { path: "/x" } });
  assert.equal(translatedVolume(local), local);
});
