// Lets claims, volumes and classes of them go when nobody uses them any more, and not before: admission gives each a finalizer, which is taken away here.
// Upstream: pkg/controller/volume/pvcprotection/pvc_protection_controller.go, pkg/controller/volume/pvprotection/pv_protection_controller.go and
// pkg/controller/volume/vacprotection/vac_protection_controller.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { VolumeAttributesClass } from "#api/storage/v1/volume-attributes-class.ts";
import { index } from "#client/cache.ts";
import { controller, watching } from "#client/controller.ts";
import { keyOf, type ObjectKey } from "#client/object-key.ts";
import { controllerOf } from "#rules/owners.ts";
import { claimsOf, podsByClaim } from "./volumes/claims-of-pods.ts";

const claimFinalizer = "kubernetes.io/pvc-protection";
const classFinalizer = "kubernetes.io/vac-protection";
const volumeFinalizer = "kubernetes.io/pv-protection";

export const claimProtectionController = controller({
  name: "pvc-protection",
  queue: "pvcprotection",
  for: PersistentVolumeClaim,
  watches: [watching(Pod, claimsOf)],

  async reconcile(claim, { client, cache }) {
    const change = changeOf(claim, claimFinalizer);
    if (change === undefined) return;
    if (change === "remove") {
      const isUsed = (pod: Pod) => uses(pod, claim);
      if (cache.by(podsByClaim, keyOf(claim.metadata)).some(isUsed)) return;
      // A pod that is not in the cache yet may have been given a node: what is let go does not come back.
      const { items } = await client.list(Pod, { namespace: claim.metadata.namespace ?? "" });
      if (items.some(isUsed)) return;
    }
    await client.update(PersistentVolumeClaim, changed(claim, claimFinalizer, change));
  },
});

export const volumeProtectionController = controller({
  name: "pv-protection",
  queue: "pvprotection",
  for: PersistentVolume,

  async reconcile(volume, { client }) {
    const change = changeOf(volume, volumeFinalizer);
    if (change === undefined || (change === "remove" && volume.status.phase === "Bound")) return;
    await client.update(PersistentVolume, changed(volume, volumeFinalizer, change));
  },
});

/** Classes that a claim has, wants, or is on its way to. */
const classesOfClaim = ({ spec, status }: PersistentVolumeClaim): readonly string[] =>
  [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].flatMap((name) => (name ? [name] : []));
const classesOfVolume = ({ spec: { volumeAttributesClassName: name } }: PersistentVolume): readonly string[] =>
  name ? [name] : [];

const claimsByClass = index(PersistentVolumeClaim, classesOfClaim);
const volumesByClass = index(PersistentVolume, classesOfVolume);
const places = (names: readonly string[]): readonly ObjectKey[] => names.map((name) => ({ name }));

export const attributesClassProtectionController = controller({
  name: "volumeattributesclass-protection",
  queue: "vacprotection",
  for: VolumeAttributesClass,
  watches: [
    watching(PersistentVolumeClaim, (claim) => places(classesOfClaim(claim))),
    watching(PersistentVolume, (volume) => places(classesOfVolume(volume))),
  ],

  async reconcile(one, { client, cache }) {
    const { name } = one.metadata;
    const change = changeOf(one, classFinalizer);
    const isUsed = () => cache.count(claimsByClass, name) + cache.count(volumesByClass, name) > 0;
    if (change === undefined || (change === "remove" && isUsed())) return;
    await client.update(VolumeAttributesClass, changed(one, classFinalizer, change));
  },
});

interface ProtectedKind {
  readonly metadata: PersistentVolume["metadata"];
}

/** One that stays is to have the finalizer, also if it was made without; one that is to go, only while it is used. */
function changeOf({ metadata }: ProtectedKind, finalizer: string): "add" | "remove" | undefined {
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const isProtected = metadata.finalizers?.includes(finalizer) ?? false;
  return isLeaving === isProtected ? (isLeaving ? "remove" : "add") : undefined;
}

function changed<O extends ProtectedKind>(object: O, finalizer: string, change: "add" | "remove"): O {
  const others = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  const finalizers = change === "add" ? [...others, finalizer] : others;
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

/** A pod without a node has not got it yet, and gets none that is being deleted. */
function uses(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!pod.spec.nodeName) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const isShutDown = deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0;
  return (pod.spec.volumes ?? []).some(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return persistentVolumeClaim.claimName === claim.metadata.name;
    if (!ephemeral || isShutDown || `${pod.metadata.name}-${name}` !== claim.metadata.name) return false;
    return controllerOf(claim)?.uid === pod.metadata.uid;
  });
}
