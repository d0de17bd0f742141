import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { world } from "#client/testing.ts";
import { podOf } from "../testing.ts";
import { capabilityOf, csiVolumeOf, givesToGroup, modeProblem } from "./csi-volume.ts";

const w = world();
const pod = podOf({});
const volumeWith = (spec: object, csi: object = {}) => {
  const persistentVolume = w.have(PersistentVolume, {
    metadata: { name: "pv" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      csi: { driver: "d.example.com", volumeHandle: "h", ...csi },
      ...spec,
    },
  });
  const volume = { name: "v", persistentVolumeClaim: { claimName: "c" } };
  return csiVolumeOf({ volume, persistentVolume }, pod) ?? assert.fail();
};
const inline = (more: object = {}) =>
  csiVolumeOf({ volume: { name: "v", csi: { driver: "d.example.com", ...more } } }, pod) ?? assert.fail();
const described = (spec: object) => w.have(CSIDriver, { metadata: { name: "d.example.com" }, spec });

test("access modes are told as the driver knows them", () => {
  const modes: readonly (readonly [string, number, number])[] = [
    ["ReadWriteOnce", 1, 7],
    ["ReadOnlyMany", 3, 3],
    ["ReadWriteMany", 5, 5],
    ["ReadWriteOncePod", 1, 6],
  ];
  for (const [mode, plain, detailed] of modes) {
    const volume = volumeWith({ accessModes: [mode] });
    assert.equal(capabilityOf(volume, { knowsWriters: false }).accessMode.mode, plain, mode);
    assert.equal(capabilityOf(volume, { knowsWriters: true }).accessMode.mode, detailed, mode);
  }
  const mounted = volumeWith({ mountOptions: ["noatime"] }, { fsType: "xfs" });
  assert.deepEqual(capabilityOf(mounted, { knowsWriters: false, group: 5 }), {
    mount: { fsType: "xfs", mountFlags: ["noatime"], volumeMountGroup: "5" },
    accessMode: { mode: 1 },
  });
  assert.deepEqual(capabilityOf(volumeWith({ volumeMode: "Block" }), { knowsWriters: false }), {
    block: {},
    accessMode: { mode: 1 },
  });
});

test("the kubelet gives a volume to the pod's group where the policy of its driver says so", () => {
  const ext4 = { fsType: "ext4" };
  const cases: readonly (readonly [string, boolean, Parameters<typeof givesToGroup>[0], string | undefined])[] = [
    ["no word about the driver", true, volumeWith({}, ext4), undefined],
    ["no file system named", false, volumeWith({}), undefined],
    ["many writers", false, volumeWith({ accessModes: ["ReadWriteMany"] }, ext4), undefined],
    ["one pod", true, volumeWith({ accessModes: ["ReadWriteOncePod"] }, ext4), "ReadWriteOnceWithFSType"],
    ["files", true, volumeWith({ accessModes: ["ReadWriteMany"] }), "File"],
    ["never", false, volumeWith({}, ext4), "None"],
    ["inline", true, inline(ext4), "ReadWriteOnceWithFSType"],
    ["inline and read-only", false, inline({ ...ext4, readOnly: true }), "File"],
  ];
  for (const [name, gives, volume, fsGroupPolicy] of cases)
    assert.equal(givesToGroup(volume, fsGroupPolicy ? described({ fsGroupPolicy }) : undefined), gives, name);
});

test("a volume within a pod is for drivers that say that they can have them", () => {
  assert.equal(
    modeProblem(inline(), undefined),
    'volume mode "Ephemeral" not supported by driver d.example.com (no CSIDriver object)',
  );
  assert.equal(
    modeProblem(inline(), described({})),
    'volume mode "Ephemeral" not supported by driver d.example.com (only supports ["Persistent"])',
  );
  assert.equal(modeProblem(inline(), described({ volumeLifecycleModes: ["Ephemeral"] })), undefined);
  assert.equal(modeProblem(volumeWith({}), undefined), undefined);
});
