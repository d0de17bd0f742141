import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { VolumeAttributesClass } from "#api/storage/v1/volume-attributes-class.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import type { Draft } from "#schema/infer.ts";
import {
  attributesClassProtectionController,
  claimProtectionController,
  volumeProtectionController,
} from "./volume-protection.ts";

const namespace = "default";
const deletionTimestamp = "2026-01-01T00:00:00Z";
const finalizers = ["example.com/other", "kubernetes.io/pvc-protection"];
const leaving = { namespace, name: "data", deletionTimestamp, finalizers };
const owner = { apiVersion: "v1", kind: "Pod", name: "web", uid: "u-web", controller: true };

const using = (spec: Draft<Pod["spec"]>, metadata: Draft<Pod["metadata"]> = {}): Draft<Pod> => ({
  metadata: { namespace, name: "web", uid: "u-web", ...metadata },
  spec: { nodeName: "n1", volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }], ...spec },
});
const ephemeral: Draft<Pod["spec"]> = { volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: {} } } }] };
const own = { name: "web-v", ownerReferences: [owner] };

const cases: readonly (readonly [string, Draft<Pod> | undefined, Draft<PersistentVolumeClaim["metadata"]>, boolean])[] =
  [
    ["nobody has", undefined, {}, true],
    ["a pod has", using({}), {}, false],
    ["a pod without a node wants", using({ nodeName: "" }), {}, true],
    ["a pod that has ended still names", { ...using({}), status: { phase: "Succeeded" } }, {}, false],
    ["another pod of another claim has", using({ volumes: [] }), {}, true],
    ["was made for a pod", using(ephemeral), own, false],
    ["has the name of one for a pod, but is not", using(ephemeral), { name: "web-v" }, true],
    [
      "was made for a pod that is shut down",
      using(ephemeral, { deletionTimestamp, deletionGracePeriodSeconds: 0 }),
      own,
      true,
    ],
  ];

for (const [name, pod, metadata, goes] of cases)
  test(`a claim that is to go and that ${name} ${goes ? "goes" : "stays"}`, async () => {
    const w = world();
    if (pod) w.have(Pod, pod);
    const claim = w.have(PersistentVolumeClaim, { metadata: { ...leaving, ...metadata } });
    await w.reconcile(claimProtectionController, claim);
    const left = w.list(PersistentVolumeClaim)[0]?.metadata.finalizers;
    assert.deepEqual(left, goes ? ["example.com/other"] : finalizers);
  });

test("a claim that is not to go is protected, once", async () => {
  const w = world();
  const claim = w.have(PersistentVolumeClaim, { metadata: { namespace, name: "data" } });
  await w.reconcile(claimProtectionController, claim);
  await w.reconcile(claimProtectionController, w.list(PersistentVolumeClaim)[0]!);
  assert.deepEqual(w.writes(), ["update PersistentVolumeClaim data"]);
  assert.deepEqual(w.list(PersistentVolumeClaim)[0]?.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
});

test("a volume stays while it is bound", async () => {
  for (const [phase, goes] of [
    ["Bound", false],
    ["Released", true],
    ["Available", true],
  ] as const) {
    const w = world();
    const metadata = { name: "pv", deletionTimestamp, finalizers: ["kubernetes.io/pv-protection"] };
    const volume = w.have(PersistentVolume, { metadata, status: { phase } });
    await w.reconcile(volumeProtectionController, volume);
    assert.deepEqual(w.writes(), goes ? ["update PersistentVolume pv"] : [], phase);
  }
});

test("a class of attributes stays while a claim or a volume has it, or is to have it", async () => {
  const users: readonly (readonly [string, (w: ClientWorld) => unknown, boolean])[] = [
    ["nobody", () => undefined, true],
    ["a claim", (w) => w.have(PersistentVolumeClaim, { spec: { volumeAttributesClassName: "fast" } }), false],
    ["a claim of another", (w) => w.have(PersistentVolumeClaim, { spec: { volumeAttributesClassName: "slow" } }), true],
    [
      "a claim that had it",
      (w) => w.have(PersistentVolumeClaim, { status: { currentVolumeAttributesClassName: "fast" } }),
      false,
    ],
    ["a volume", (w) => w.have(PersistentVolume, { spec: { volumeAttributesClassName: "fast" } }), false],
  ];
  for (const [name, use, goes] of users) {
    const w = world();
    use(w);
    const metadata = { name: "fast", deletionTimestamp, finalizers: ["kubernetes.io/vac-protection"] };
    const one = w.have(VolumeAttributesClass, { metadata, driverName: "d" });
    await w.reconcile(attributesClassProtectionController, one);
    assert.deepEqual(w.writes(), goes ? ["update VolumeAttributesClass fast"] : [], name);
  }
});
