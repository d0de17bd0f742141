// Lets claims and volumes go when nobody uses them any more, and not before: admission gives each a finalizer, which is taken away here.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { index } from "#client/cache.ts";
import { controller, watching } from "#client/controller.ts";
import { controllerOf, keyOf, type Place } from "#client/place.ts";

const claimFinalizer = "kubernetes.io/pvc-protection";
const volumeFinalizer = "kubernetes.io/pv-protection";

/** Claims that a pod has for its volumes, or would have if they were made for it. */
const claimsOf = ({ metadata, spec }: Pod): readonly Place[] =>
  (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
    return claim === undefined ? [] : [{ namespace: metadata.namespace, name: claim }];
  });

const podsByClaim = index(Pod, (pod) => claimsOf(pod).map(keyOf));

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

interface Protected {
  readonly metadata: PersistentVolume["metadata"];
}

/** One that stays is to have the finalizer, also if it was made without; one that is to go, only while it is used. */
function changeOf({ metadata }: Protected, finalizer: string): "add" | "remove" | undefined {
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const isProtected = metadata.finalizers?.includes(finalizer) ?? false;
  return isLeaving === isProtected ? (isLeaving ? "remove" : "add") : undefined;
}

function changed<O extends Protected>(object: O, finalizer: string, change: "add" | "remove"): O {
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
