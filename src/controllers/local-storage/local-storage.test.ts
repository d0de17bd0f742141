import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { localProvisionController, localReclaimController } from "./local-provisioner.ts";
import { localResizeController } from "./local-resizer.ts";
import { localProvisioner, type NodeStorage } from "./node-storage.ts";

const namespace = "default";
const finalizer = "external-provisioner.volume.kubernetes.io/finalizer";
type ClaimDraft = Draft<PersistentVolumeClaim>;

/** Storage that remembers what it holds. */
class FakeStorage implements NodeStorage {
  readonly volumes = new Map<string, number>();
  isOn = true;
  failure: Error | undefined;

  isReachable(): boolean {
    return this.isOn;
  }
  async make(node: string, volume: string, bytes: number) {
    if (this.failure) throw this.failure;
    this.volumes.set(`${node}/${volume}`, bytes);
    return { path: `/volumes/${volume}`, isLimited: false };
  }
  async resize(node: string, volume: string, bytes: number): Promise<void> {
    if (this.failure) throw this.failure;
    this.volumes.set(`${node}/${volume}`, bytes);
  }
  async remove(node: string, volume: string): Promise<void> {
    if (this.failure) throw this.failure;
    this.volumes.delete(`${node}/${volume}`);
  }
}

function storageWorld(reclaimPolicy: "Delete" | "Retain" = "Delete") {
  const w = world();
  w.have(Node, { metadata: { name: "n1", labels: { "kubernetes.io/hostname": "host-1" } } });
  w.have(StorageClass, { metadata: { name: "local" }, provisioner: localProvisioner, reclaimPolicy });
  return { w, storage: new FakeStorage() };
}
const claimOf = (spec: ClaimDraft["spec"] = {}, node: string | undefined = "n1"): ClaimDraft => ({
  metadata: {
    namespace,
    name: "data",
    uid: "u",
    annotations: {
      "volume.kubernetes.io/storage-provisioner": localProvisioner,
      ...(node && { "volume.kubernetes.io/selected-node": node }),
    },
  },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    storageClassName: "local",
    ...spec,
  },
});
const provision = (w: ClientWorld, storage: NodeStorage, claim = claimOf()) =>
  w.reconcile(localProvisionController(storage), w.have(PersistentVolumeClaim, claim));

test("a claim gets a folder of the node that was selected for it, and a volume that only this node reaches", async () => {
  const { w, storage } = storageWorld();
  await provision(w, storage);
  assert.deepEqual([...storage.volumes], [["n1/pvc-u", 2 ** 30]]);
  const volume = w.get(PersistentVolume, { name: "pvc-u" });
  assert.deepEqual(volume?.metadata.finalizers, [finalizer]);
  const { claimRef, local, nodeAffinity, capacity, persistentVolumeReclaimPolicy, storageClassName } =
    volume?.spec ?? {};
  assert.deepEqual([claimRef?.uid, local?.path, capacity?.storage], ["u", "/volumes/pvc-u", "1Gi"]);
  assert.deepEqual([persistentVolumeReclaimPolicy, storageClassName], ["Delete", "local"]);
  assert.deepEqual(nodeAffinity?.required?.nodeSelectorTerms, [
    { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["host-1"] }] },
  ]);
  assert.deepEqual(w.events(), [
    'Normal Provisioning External provisioner is provisioning volume for claim "default/data"',
    "Normal ProvisioningSucceeded Successfully provisioned volume pvc-u",
  ]);
  w.writes();
  await provision(w, storage, { ...claimOf() });
  assert.deepEqual([w.writes(), w.events()], [[], []], "once is enough");
});

const refusals: readonly (readonly [string, ClaimDraft])[] = [
  ["no node was selected: use WaitForFirstConsumer", claimOf({}, "")],
  ["block volumes are not supported", claimOf({ volumeMode: "Block" })],
  ["claim Selector is not supported", claimOf({ selector: { matchLabels: { a: "b" } } })],
  ["data sources are not supported", claimOf({ dataSource: { kind: "PersistentVolumeClaim", name: "x" } })],
  [
    "access mode ReadWriteMany is not supported: a folder of a node can be reached from that node only",
    claimOf({ accessModes: ["ReadWriteOnce", "ReadWriteMany"] }),
  ],
];
for (const [why, claim] of refusals)
  test(`a claim is refused: ${why}`, async () => {
    const { w, storage } = storageWorld();
    await provision(w, storage, claim);
    assert.deepEqual(w.events(), [
      `Warning ProvisioningFailed failed to provision volume with StorageClass "local": ${why}`,
    ]);
    assert.deepEqual([w.writes(), storage.volumes.size], [[], 0]);
  });

test("claims of other provisioners and classes are left alone", async () => {
  const { w, storage } = storageWorld();
  await provision(w, storage, { ...claimOf(), metadata: { namespace, name: "data" } });
  w.have(StorageClass, { metadata: { name: "local" }, provisioner: "example.com/other" });
  await provision(w, storage);
  assert.deepEqual([w.writes(), w.events(), storage.volumes.size], [[], [], 0]);
});

test("a node that is gone is given up, one that is off is waited for, and a failure is told and tried again", async () => {
  const { w, storage } = storageWorld();
  await provision(w, storage, claimOf({}, "gone"));
  const selected = "volume.kubernetes.io/selected-node";
  assert.equal(w.get(PersistentVolumeClaim, { name: "data" })?.metadata.annotations?.[selected], undefined);

  storage.isOn = false;
  assert.ok((await provision(w, storage))?.afterMs);
  storage.isOn = true;
  storage.failure = new Error("the disk is full");
  w.events();
  await assert.rejects(provision(w, storage));
  assert.equal(
    w.events().at(-1),
    'Warning ProvisioningFailed failed to provision volume with StorageClass "local": the disk is full',
  );
  assert.equal(w.list(PersistentVolume).length, 0);
});

test("a folder goes with its claim, unless the volume is to be kept; the volume stays in the API until it is gone", async () => {
  for (const policy of ["Delete", "Retain"] as const) {
    const { w, storage } = storageWorld(policy);
    await provision(w, storage);
    const reclaimer = localReclaimController(storage);
    const volume = () => w.get(PersistentVolume, { name: "pvc-u" });
    await w.reconcile(reclaimer, volume()!);
    assert.equal(storage.volumes.size, 1, "nobody has let it go");
    w.have(PersistentVolume, { ...volume()!, status: { phase: "Released" } });
    if (policy === "Delete") {
      storage.failure = new Error("busy");
      await assert.rejects(w.reconcile(reclaimer, volume()!));
      assert.equal(w.events().at(-1), "Warning VolumeFailedDelete busy");
      assert.ok(volume());
      storage.failure = undefined;
    }
    await w.reconcile(reclaimer, volume()!);
    assert.deepEqual([storage.volumes.size, volume() === undefined], policy === "Delete" ? [0, true] : [1, false]);
    if (policy === "Delete") continue;
    await w.client.delete(PersistentVolume, { name: "pvc-u" });
    await w.reconcile(reclaimer, volume()!);
    assert.deepEqual([storage.volumes.size, volume()], [1, undefined], "what is kept is for people to remove");
  }
});

test("a claim grows step by step, and a failure leaves it as it was to be tried again", async () => {
  const { w, storage } = storageWorld();
  await provision(w, storage);
  w.have(PersistentVolumeClaim, {
    ...claimOf({ volumeName: "pvc-u", resources: { requests: { storage: "2Gi" } } }),
    status: { phase: "Bound", capacity: { storage: "1Gi" } },
  });
  const resizer = localResizeController(storage);
  const claim = () => w.get(PersistentVolumeClaim, { name: "data" })!;
  w.events();
  storage.failure = new Error("no room");
  await assert.rejects(w.reconcile(resizer, claim()));
  const { status } = claim();
  assert.deepEqual([status.capacity?.storage, status.allocatedResources?.storage], ["1Gi", "2Gi"]);
  assert.deepEqual(status.allocatedResourceStatuses, { storage: "ControllerResizeInProgress" });
  assert.deepEqual(
    status.conditions?.map(({ type }) => type),
    ["Resizing"],
  );
  assert.deepEqual(w.events(), [
    "Normal Resizing External resizer is resizing volume pvc-u",
    'Warning VolumeResizeFailed resize volume "pvc-u" by resizer "knarr.dev/local" failed: no room',
  ]);

  storage.failure = undefined;
  await w.reconcile(resizer, claim());
  assert.deepEqual(claim().status, {
    phase: "Bound",
    capacity: { storage: "2Gi" },
    allocatedResources: { storage: "2Gi" },
  });
  assert.equal(w.get(PersistentVolume, { name: "pvc-u" })?.spec.capacity?.storage, "2Gi");
  assert.equal(storage.volumes.get("n1/pvc-u"), 2 ** 31);
  w.writes();
  await w.reconcile(resizer, claim());
  assert.deepEqual(w.writes(), []);
});
