// Which volumes a claim can have: for the scheduler, which chooses them with the node, and for all others who bind them.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { labelSelection } from "#api/label-selection.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { nodeSelector, type Selectable } from "./node-selection.ts";

const classAnnotation = "volume.beta.kubernetes.io/storage-class";
const bindCompleted = "pv.kubernetes.io/bind-completed";
/** Set on a claim: where a volume is to be made for it. */
export const selectedNode = "volume.kubernetes.io/selected-node";
/** Set on a volume: it did not name its claim itself. */
export const boundByController = "pv.kubernetes.io/bound-by-controller";
export const noProvisioner = "kubernetes.io/no-provisioner";

interface ClassHolder {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec: { readonly storageClassName?: string | undefined };
}

export const classOf = ({ metadata, spec }: ClassHolder): string =>
  metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? "";

export const claimKey = ({ metadata }: PersistentVolumeClaim): string => `${metadata.namespace}/${metadata.name}`;

export const isFullyBound = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  Boolean(spec.volumeName) && metadata.annotations?.[bindCompleted] !== undefined;

/** Whether volumes of the class are only chosen once a pod needs them. */
export const waitsForPod = (storageClass: StorageClass | undefined): boolean =>
  storageClass?.volumeBindingMode === "WaitForFirstConsumer";

export const requestedBytes = ({ spec }: PersistentVolumeClaim): number => bytesOf(spec.resources.requests?.storage);
export const volumeBytes = ({ spec }: PersistentVolume): number => bytesOf(spec.capacity?.storage);

const bytesOf = (amount = "0"): number => Number(quantityValue(parseQuantity(amount)));

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

/**
 * The smallest of the volumes of its class that a claim could have, and that `isUsable`: the one that insists on the claim before all others.
 * See upstream's FindMatchingVolume in pkg/volume/persistentvolume.
 */
export function smallestVolumeFor(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  isUsable: (volume: PersistentVolume) => boolean,
): PersistentVolume | undefined {
  const bytes = requestedBytes(claim);
  const selects = claim.spec.selector && labelSelection(claim.spec.selector);
  let smallest: PersistentVolume | undefined;
  for (const volume of volumes) {
    const { metadata, spec, status } = volume;
    const insists = isFor(volume, claim);
    if (metadata.deletionTimestamp || (spec.claimRef && !insists)) continue;
    if (volumeBytes(volume) < bytes || spec.volumeMode !== claim.spec.volumeMode) continue;
    if ((spec.volumeAttributesClassName ?? "") !== (claim.spec.volumeAttributesClassName ?? "")) continue;
    if (insists) return isUsable(volume) ? volume : undefined;
    if (status.phase !== "Available" || selects?.(metadata.labels) === false) continue;
    if (!(claim.spec.accessModes ?? []).every((mode) => spec.accessModes?.includes(mode))) continue;
    if (smallest && volumeBytes(smallest) <= volumeBytes(volume)) continue;
    if (isUsable(volume)) smallest = volume;
  }
  return smallest;
}
