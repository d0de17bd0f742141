// What volume claims and volumes say that scheduling depends on.

import { nodeSelector, type Selectable } from "#api/core/node-selection.ts";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { CacheView } from "#client/controller.ts";
import type { PodView } from "../pod-view.ts";
import { amount } from "../resources.ts";

const classAnnotation = "volume.beta.kubernetes.io/storage-class";
const bindCompleted = "pv.kubernetes.io/bind-completed";
/** Set on a claim: where a volume is to be made for it. */
export const selectedNode = "volume.kubernetes.io/selected-node";
/** Set on a volume: it did not name its claim itself. */
export const boundByController = "pv.kubernetes.io/bound-by-controller";
export const noProvisioner = "kubernetes.io/no-provisioner";

interface Classed {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec: { readonly storageClassName?: string | undefined };
}

export const classOf = ({ metadata, spec }: Classed): string =>
  metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? "";

export const claimKey = ({ metadata }: PersistentVolumeClaim): string => `${metadata.namespace}/${metadata.name}`;

export const isFullyBound = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  Boolean(spec.volumeName) && metadata.annotations?.[bindCompleted] !== undefined;

/** Whether its volume is only chosen once a pod needs it. */
export const waitsForPod = (claim: PersistentVolumeClaim, cache: CacheView): boolean =>
  cache.get(StorageClass, { name: classOf(claim) })?.volumeBindingMode === "WaitForFirstConsumer";

export const requestedBytes = ({ spec }: PersistentVolumeClaim): number =>
  amount("storage", spec.resources.requests?.storage ?? "0");
export const volumeBytes = ({ spec }: PersistentVolume): number => amount("storage", spec.capacity?.storage ?? "0");

/** Whether the volume can be reached from the node. */
export function isReachable({ spec }: PersistentVolume, { labels }: Selectable): boolean {
  const required = spec.nodeAffinity?.required;
  return required === undefined || nodeSelector(required)({ labels });
}

/** Whether the volume has this claim, or insists on it. */
export function isFor({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  if (claimRef?.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

export interface PodClaim {
  readonly name: string;
  /** Undefined if it does not exist. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** Whether it is made for the pod alone, and goes with it. */
  readonly isEphemeral: boolean;
}

export const podClaims = ({ pod, namespace, name }: PodView, cache: CacheView): readonly PodClaim[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => {
    const isEphemeral = volume.ephemeral !== undefined;
    const claimName = isEphemeral ? `${name}-${volume.name}` : volume.persistentVolumeClaim?.claimName;
    if (claimName === undefined) return [];
    const claim = cache.get(PersistentVolumeClaim, { namespace, name: claimName });
    return [{ name: claimName, claim, isEphemeral }];
  });

export const usesClaim = (pod: PodView, claim: PersistentVolumeClaim | undefined): boolean =>
  claim !== undefined && pod.claims.includes(claimKey(claim));

/** Why the pod cannot use its claims as they are, whatever the node. */
export function claimProblem(pod: PodView, claims: readonly PodClaim[]): string | undefined {
  for (const { name, claim, isEphemeral } of claims) {
    if (!claim)
      return isEphemeral
        ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
        : `persistentvolumeclaim "${name}" not found`;
    if (claim.status.phase === "Lost")
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName ?? ""}"`;
    if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`;
    if (isEphemeral && !claim.metadata.ownerReferences?.some(({ uid, controller }) => controller && uid === pod.uid))
      return `PVC ${claimKey(claim)} was not created for pod ${pod.key} (pod is not owner)`;
  }
  return undefined;
}
