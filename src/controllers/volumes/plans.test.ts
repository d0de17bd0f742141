import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { claimBinder } from "./claim-binder.ts";
import { ephemeralVolumeController } from "./ephemeral.ts";
import { expansionController } from "./expansion.ts";
import { volumeBinder } from "./volume-binder.ts";

const namespace = "default";
const accessModes = ["ReadWriteOnce" as const];
const done = { "pv.kubernetes.io/bind-completed": "yes" };
const ours = { "pv.kubernetes.io/bound-by-controller": "yes" };

type ClaimDraft = Draft<PersistentVolumeClaim>;
type VolumeDraft = Draft<PersistentVolume>;
const claimOf = (spec: ClaimDraft["spec"] = {}, metadata: ClaimDraft["metadata"] = {}): ClaimDraft => ({
  metadata: { namespace, name: "data", uid: "u", ...metadata },
  spec: { accessModes, resources: { requests: { storage: "1Gi" } }, storageClassName: "", ...spec },
});
const volumeOf = (spec: VolumeDraft["spec"] = {}, more: VolumeDraft = {}): VolumeDraft => ({
  metadata: { name: "disk", ...more.metadata },
  spec: { accessModes, capacity: { storage: "1Gi" }, hostPath: { path: "/disk" }, ...spec },
  status: { phase: "Available", ...more.status },
});
const mine = { namespace, name: "data", uid: "u" };

interface Case {
  readonly claim: ClaimDraft;
  readonly have?: (w: ClientWorld) => unknown;
  readonly events?: readonly string[];
  readonly writes?: readonly string[];
  readonly phase?: string;
  readonly fails?: RegExp;
}
const bindsBoth = [
  "update PersistentVolume disk",
  "update PersistentVolume disk/status",
  "update PersistentVolumeClaim data",
  "update PersistentVolumeClaim data/status",
];
const provisioner =
  (name: string, more: Draft<StorageClass> = {}) =>
  (w: ClientWorld) =>
    w.have(StorageClass, { metadata: { name: "fast" }, provisioner: name, ...more });
const waiting = (name: string): Draft<Pod> => ({
  metadata: { namespace, name },
  spec: {
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
  },
});
const external = (who: string) =>
  `Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner '${who}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
const late = provisioner("example.com/x", { volumeBindingMode: "WaitForFirstConsumer" });
const fast = { storageClassName: "fast" };

const cases: Readonly<Record<string, Case>> = {
  "without a class or a volume waits": {
    claim: claimOf(),
    events: ["Normal FailedBinding no persistent volumes available for this claim and no storage class is set"],
    phase: "Pending",
  },
  "gets a volume, which is told first": {
    claim: claimOf(),
    have: (w) => w.have(PersistentVolume, volumeOf()),
    writes: bindsBoth,
    phase: "Bound",
  },
  "gets a volume that expects it, which does not count as chosen": {
    claim: claimOf(),
    have: (w) => w.have(PersistentVolume, volumeOf({ claimRef: { namespace, name: "data" } })),
    writes: bindsBoth,
    phase: "Bound",
  },
  "does not get a volume that expects another": {
    claim: claimOf(),
    have: (w) => w.have(PersistentVolume, volumeOf({ claimRef: { namespace, name: "data", uid: "older" } })),
    events: ["Normal FailedBinding no persistent volumes available for this claim and no storage class is set"],
    phase: "Pending",
  },
  "names a volume that is not there": { claim: claimOf({ volumeName: "disk" }), phase: "Pending" },
  "names a volume that somebody has": {
    claim: claimOf({ volumeName: "disk" }),
    have: (w) => w.have(PersistentVolume, volumeOf({ claimRef: { namespace, name: "other", uid: "o" } })),
    events: ['Warning FailedBinding volume "disk" already bound to a different claim.'],
    phase: "Pending",
  },
  "was given a volume by us that somebody has": {
    claim: claimOf({ volumeName: "disk" }, { annotations: ours }),
    have: (w) => w.have(PersistentVolume, volumeOf({ claimRef: { namespace, name: "other", uid: "o" } })),
    events: ['Warning FailedBinding volume "disk" already bound to a different claim.'],
    fails: /invalid binding of claim "default\/data" to volume "disk": volume already claimed by "default\/other"/,
  },
  "wants a class that is not there": {
    claim: claimOf(fast),
    events: ['Warning ProvisioningFailed storageclass.storage.k8s.io "fast" not found'],
  },
  "wants a class that nobody provisions": {
    claim: claimOf(fast),
    have: provisioner("kubernetes.io/no-provisioner"),
    events: ["Warning ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner"],
  },
  "is handed to a provisioner": {
    claim: claimOf(fast),
    have: provisioner("example.com/x"),
    events: [external("example.com/x")],
    writes: ["update PersistentVolumeClaim data"],
  },
  "is handed to the CSI driver of an in-tree one": {
    claim: claimOf(fast),
    have: provisioner("kubernetes.io/aws-ebs"),
    events: [external("ebs.csi.aws.com")],
    writes: ["update PersistentVolumeClaim data"],
  },
  "waits for its first pod": {
    claim: claimOf(fast),
    have: late,
    events: ["Normal WaitForFirstConsumer waiting for first consumer to be created before binding"],
    phase: "Pending",
  },
  "waits for its pod to be scheduled": {
    claim: claimOf(fast),
    have: (w) => [late(w), w.have(Pod, waiting("web"))],
    events: ["Normal WaitForPodScheduled waiting for pod web to be scheduled"],
    phase: "Pending",
  },
  "waits for several pods": {
    claim: claimOf(fast),
    have: (w) => [late(w), w.have(Pod, waiting("a")), w.have(Pod, waiting("b"))],
    events: ["Normal WaitForPodScheduled waiting for pods a,b to be scheduled"],
    phase: "Pending",
  },
  "is provisioned once its pod has a node": {
    claim: claimOf(fast, { annotations: { "volume.kubernetes.io/selected-node": "n1" } }),
    have: late,
    events: [external("example.com/x")],
    writes: ["update PersistentVolumeClaim data"],
  },
  "has lost its volume's name": {
    claim: claimOf({}, { annotations: done }),
    events: ["Warning ClaimLost Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"],
    phase: "Lost",
  },
  "has lost its volume": {
    claim: claimOf({ volumeName: "disk" }, { annotations: done }),
    events: ["Warning ClaimLost Bound claim has lost its PersistentVolume. Data on the volume is lost!"],
    phase: "Lost",
  },
  "has a volume that is another's": {
    claim: claimOf({ volumeName: "disk" }, { annotations: done }),
    have: (w) => w.have(PersistentVolume, volumeOf({ claimRef: { namespace, name: "other", uid: "o" } })),
    events: ["Warning ClaimMisbound Two claims are bound to the same volume, this one is bound incorrectly"],
    phase: "Lost",
  },
  "has a volume that has forgotten it": {
    claim: claimOf({ volumeName: "disk" }, { annotations: done }),
    have: (w) => w.have(PersistentVolume, volumeOf()),
    phase: "Bound",
  },
};
const misfits: readonly (readonly [string, VolumeDraft, ClaimDraft["spec"]?])[] = [
  ["requested PV is too small", volumeOf({ capacity: { storage: "1Mi" } })],
  ["storageClassName does not match", volumeOf({ storageClassName: "fast" })],
  ["volumeAttributesClassName does not match", volumeOf({ volumeAttributesClassName: "gold" })],
  ["incompatible volumeMode", volumeOf({ volumeMode: "Block" })],
  ["incompatible accessMode", volumeOf({ accessModes: ["ReadOnlyMany"] })],
];

for (const [name, { claim, have, events = [], writes, phase, fails }] of Object.entries(cases))
  test(`a claim that ${name}`, async () => {
    const w = world();
    have?.(w);
    const made = w.have(PersistentVolumeClaim, claim);
    const reconciled = w.reconcile(claimBinder(), made);
    if (fails) await assert.rejects(reconciled, fails);
    else await reconciled;
    assert.deepEqual(w.events(), events);
    if (writes) assert.deepEqual(w.writes(), writes);
    if (phase) assert.equal(w.get(PersistentVolumeClaim, made.metadata)?.status.phase, phase);
  });

for (const [problem, volume] of misfits)
  test(`a claim does not get the volume it names: ${problem}`, async () => {
    const w = world();
    w.have(PersistentVolume, volume);
    await w.reconcile(claimBinder(), w.have(PersistentVolumeClaim, claimOf({ volumeName: "disk" })));
    assert.deepEqual(w.events(), [`Warning VolumeMismatch Cannot bind to requested volume "disk": ${problem}`]);
    assert.equal(w.get(PersistentVolume, { name: "disk" })?.spec.claimRef, undefined);
  });

test("a claim without a class gets the newest default class, and one that wants none does not", async () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  for (const storageClassName of [undefined, ""]) {
    const w = world();
    for (const [name, creationTimestamp] of [
      ["old", "2026-01-01T00:00:00Z"],
      ["new", "2026-01-02T00:00:00Z"],
    ] as const)
      w.have(StorageClass, { metadata: { name, creationTimestamp, annotations }, provisioner: "example.com/x" });
    const { storageClassName: _none, ...spec } = claimOf().spec ?? {};
    const named = storageClassName === undefined ? spec : { ...spec, storageClassName };
    await w.reconcile(claimBinder(), w.have(PersistentVolumeClaim, { ...claimOf(), spec: named }));
    const found = w.get(PersistentVolumeClaim, { namespace, name: "data" })?.spec.storageClassName;
    assert.equal(found, storageClassName ?? "new");
  }
});

interface VolumeCase {
  readonly volume: VolumeDraft;
  readonly claim?: ClaimDraft;
  readonly phase: string;
  readonly events?: readonly string[];
  readonly reference?: object | undefined;
}
const bound = { phase: "Bound" as const };
const volumeCases: Readonly<Record<string, VolumeCase>> = {
  "nobody has is available": { volume: volumeOf({}, { status: { phase: "Pending" } }), phase: "Available" },
  "expects a claim is available": {
    volume: volumeOf({ claimRef: { namespace, name: "data" } }, { status: { phase: "Pending" } }),
    phase: "Available",
  },
  "has its claim is bound": {
    volume: volumeOf({ claimRef: mine }, { status: { phase: "Pending" } }),
    claim: claimOf({ volumeName: "disk" }),
    phase: "Bound",
  },
  "was given to a claim that has another is taken back": {
    volume: volumeOf({ claimRef: mine }, { metadata: { annotations: ours }, status: bound }),
    claim: claimOf({ volumeName: "other" }),
    phase: "Available",
    reference: undefined,
  },
  "names a claim that has another goes on to expect it": {
    volume: volumeOf({ claimRef: mine }, { status: bound }),
    claim: claimOf({ volumeName: "other" }),
    phase: "Available",
    reference: { namespace, name: "data" },
  },
  "was made for a claim that has another is released": {
    volume: volumeOf(
      { claimRef: mine, persistentVolumeReclaimPolicy: "Delete" },
      { metadata: { annotations: { "pv.kubernetes.io/provisioned-by": "example.com/x" } }, status: bound },
    ),
    claim: claimOf({ volumeName: "other" }),
    phase: "Released",
  },
  "has lost its claim is kept": { volume: volumeOf({ claimRef: mine }, { status: bound }), phase: "Released" },
  "has lost its claim to one of the same name is kept": {
    volume: volumeOf({ claimRef: { ...mine, uid: "older" } }, { status: bound }),
    claim: claimOf(),
    phase: "Released",
  },
  "has lost its claim and is to be recycled fails": {
    volume: volumeOf({ claimRef: mine, persistentVolumeReclaimPolicy: "Recycle" }, { status: bound }),
    phase: "Failed",
    events: ["Warning VolumeFailedRecycle No recycler plugin found for the volume!"],
  },
  "nobody can delete fails": {
    volume: volumeOf({ claimRef: mine, persistentVolumeReclaimPolicy: "Delete" }, { status: bound }),
    phase: "Failed",
    events: ["Warning VolumeFailedDelete host_path deleter only supports /tmp/.+ but received provided /disk"],
  },
  "is to be deleted by its maker is released": {
    volume: volumeOf(
      { claimRef: mine, persistentVolumeReclaimPolicy: "Delete" },
      { metadata: { annotations: { "pv.kubernetes.io/provisioned-by": "example.com/x" } }, status: bound },
    ),
    phase: "Released",
  },
  "cannot be its claim's for its mode says so": {
    volume: volumeOf({ claimRef: mine, volumeMode: "Block" }),
    claim: claimOf(),
    phase: "Available",
    events: [
      'Warning VolumeMismatch Cannot bind PersistentVolume to requested PersistentVolumeClaim "data" due to incompatible volumeMode.',
      'Warning VolumeMismatch Cannot bind PersistentVolume "disk" to requested PersistentVolumeClaim due to incompatible volumeMode.',
    ],
  },
};

for (const [name, expected] of Object.entries(volumeCases))
  test(`a volume that ${name}`, async () => {
    const w = world();
    if (expected.claim) w.have(PersistentVolumeClaim, expected.claim);
    await w.reconcile(volumeBinder, w.have(PersistentVolume, expected.volume));
    const found = w.get(PersistentVolume, { name: "disk" });
    assert.equal(found?.status.phase, expected.phase);
    assert.deepEqual(w.events(), expected.events ?? []);
    if ("reference" in expected) assert.deepEqual(found?.spec.claimRef, expected.reference);
  });

test("a claim that wants to grow is left to whoever can let it, and to the CSI driver of an in-tree one", async () => {
  const grows = claimOf({ volumeName: "disk", resources: { requests: { storage: "2Gi" } } });
  const status = { phase: "Bound" as const, capacity: { storage: "1Gi" } };
  for (const [source, message, resizer] of [
    [{ hostPath: { path: "/x" } }, "waiting for an external controller to expand this PVC", undefined],
    [
      { hostPath: undefined, awsElasticBlockStore: { volumeID: "v" } },
      "CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc",
      "ebs.csi.aws.com",
    ],
  ] as const) {
    const w = world();
    const { hostPath: _path, ...spec } = volumeOf({ claimRef: mine }).spec ?? {};
    w.have(PersistentVolume, {
      ...volumeOf(),
      spec: {
        ...spec,
        ...(source.hostPath ? { hostPath: source.hostPath } : { awsElasticBlockStore: { volumeID: "v" } }),
      },
    });
    const claim = w.have(PersistentVolumeClaim, { ...grows, status });
    await w.reconcile(expansionController, claim);
    assert.deepEqual(w.events(), [`Normal ExternalExpanding ${message}`]);
    const annotations = w.get(PersistentVolumeClaim, claim.metadata)?.metadata.annotations;
    assert.equal(annotations?.["volume.kubernetes.io/storage-resizer"], resizer);
  }
});

test("a pod's own volumes get claims that it owns; a claim that is another's is left alone and reported", async () => {
  const pod: Draft<Pod> = {
    metadata: { namespace, name: "web", uid: "p" },
    spec: {
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "own", ephemeral: { volumeClaimTemplate: { spec: claimOf().spec ?? {} } } }],
    },
  };
  const w = world();
  const made = w.have(Pod, pod);
  await w.reconcile(ephemeralVolumeController, made);
  assert.deepEqual(w.writes(), ["create PersistentVolumeClaim web-own"]);
  const claim = w.get(PersistentVolumeClaim, { namespace, name: "web-own" });
  assert.deepEqual(claim?.metadata.ownerReferences, [
    { apiVersion: "v1", kind: "Pod", name: "web", uid: "p", controller: true, blockOwnerDeletion: true },
  ]);
  await w.reconcile(ephemeralVolumeController, made);
  assert.deepEqual(w.writes(), []);

  const other = world();
  other.have(PersistentVolumeClaim, claimOf({}, { name: "web-own" }));
  await assert.rejects(other.reconcile(ephemeralVolumeController, other.have(Pod, pod)));
  assert.deepEqual(other.events(), [
    "Warning FailedBinding ephemeral volume own: PVC default/web-own was not created for pod default/web (pod is not owner)",
  ]);
  assert.deepEqual(other.writes(), []);
});
