// Which volumes a claim can have: for the scheduler, which chooses them with the node, and for all others who bind them.
// Upstream: staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go and
// staging/src/k8s.io/component-helpers/storage/volume/helpers.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { labelSelection } from "#api/label-selection.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { defaultClass } from "./default-class.ts";
import { nodeSelector, type Selectable } from "./node-selection.ts";

const classAnnotation = "volume.beta.kubernetes.io/storage-class";
/** Set on a claim: its volume was bound to it, too. */
export const bindCompleted = "pv.kubernetes.io/bind-completed";
/** Set on a claim: where a volume is to be made for it. */
export const selectedNode = "volume.kubernetes.io/selected-node";
/** Set on a volume: it did not name its claim itself. */
export const boundByController = "pv.kubernetes.io/bound-by-controller";
export const noProvisioner = "kubernetes.io/no-provisioner";
/** Set on a volume: who made it. */
export const provisionedBy = "pv.kubernetes.io/provisioned-by";
/** Set on a claim: who is to make a volume for it. Provisioners of before v1.23 know the older name. */
export const storageProvisioner = "volume.kubernetes.io/storage-provisioner";
export const betaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
/** Set on claims and volumes of an in-tree driver: the CSI driver that has taken its place. */
export const migratedTo = "pv.kubernetes.io/migrated-to";

interface ClassHolder {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec: { readonly storageClassName?: string | undefined };
}

export const classOf = ({ metadata, spec }: ClassHolder): string =>
  metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? "";

/** Whether the claim says which class it wants, if only that it wants none. */
export const hasClass = ({ metadata, spec }: ClassHolder): boolean =>
  metadata.annotations?.[classAnnotation] !== undefined || spec.storageClassName !== undefined;

/** The class of claims that name none. */
export const defaultStorageClass = (classes: readonly StorageClass[]): StorageClass | undefined =>
  defaultClass(
    classes,
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
  );

export const claimKey = ({ metadata }: PersistentVolumeClaim): string => `${metadata.namespace}/${metadata.name}`;

export const isFullyBound = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  Boolean(spec.volumeName) && metadata.annotations?.[bindCompleted] !== undefined;

/** Whether volumes of the class are only chosen once a pod needs them. */
export const waitsForPod = (storageClass: StorageClass | undefined): boolean =>
  storageClass?.volumeBindingMode === "WaitForFirstConsumer";

export const requestedBytes = ({ spec }: PersistentVolumeClaim): number => bytesOf(spec.resources.requests?.storage);

/** Read once for each state of a volume, since a scheduler with many volumes compares them often. */
const volumeSizes = new WeakMap<PersistentVolume, number>();
export function volumeBytes(volume: PersistentVolume): number {
  const known = volumeSizes.get(volume);
  if (known !== undefined) return known;
  const bytes = bytesOf(volume.spec.capacity?.storage);
  volumeSizes.set(volume, bytes);
  return bytes;
}

/** Whether a bound claim asks for more than it has. */
export const wantsToGrow = (claim: PersistentVolumeClaim): boolean =>
  claim.status.phase === "Bound" && requestedBytes(claim) > bytesOf(claim.status.capacity?.storage);

const bytesOf = (amount = "0"): number => Number(quantityValue(parseQuantity(amount)));

/** Whether the volume can be reached from the node. */
export function isReachable({ spec }: PersistentVolume, { labels }: Selectable): boolean {
  const required = spec.nodeAffinity?.required;
  if (required === undefined) return true;
  const matches = reaches.get(required) ?? nodeSelector(required);
  reaches.set(required, matches);
  return matches({ labels });
}

/** Compiled once for each state of a volume. */
const reaches = new WeakMap<object, ReturnType<typeof nodeSelector>>();

/** Whether the volume is bound to this claim, or reserved for it. */
export function isFor({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  if (claimRef?.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

/** Whether the volume can be used in all ways that the claim asks for. */
export const hasModes = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (claim.spec.accessModes ?? []).every((mode) => spec.accessModes?.includes(mode));

/** The volume with the claim as its own. The very same object if it has been before. */
export function boundTo(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const { apiVersion, kind, metadata } = claim;
  const { name, namespace, uid, resourceVersion } = metadata;
  const isChosen = isFor(volume, claim);
  if (isChosen && volume.spec.claimRef?.uid === uid) return volume;
  const annotations = isChosen
    ? volume.metadata.annotations
    : { [boundByController]: "yes", ...volume.metadata.annotations };
  return {
    ...volume,
    metadata: { ...volume.metadata, annotations },
    spec: { ...volume.spec, claimRef: { apiVersion, kind, namespace, name, uid, resourceVersion } },
  };
}

/** How a volume suits a claim: it may insist on the claim, or be free for any. */
export type VolumeFit = "insists" | "fits";

/** How each volume of its class suits a claim; undefined if it does not. See upstream's FindMatchingVolume. */
export function fitFor(claim: PersistentVolumeClaim): (volume: PersistentVolume) => VolumeFit | undefined {
  const bytes = requestedBytes(claim);
  const selects = claim.spec.selector && labelSelection(claim.spec.selector);
  return (volume) => {
    const { metadata, spec, status } = volume;
    const insists = isFor(volume, claim);
    if (metadata.deletionTimestamp || (spec.claimRef && !insists)) return undefined;
    if (volumeBytes(volume) < bytes || spec.volumeMode !== claim.spec.volumeMode) return undefined;
    if ((spec.volumeAttributesClassName ?? "") !== (claim.spec.volumeAttributesClassName ?? "")) return undefined;
    if (insists) return "insists";
    if (status.phase !== "Available" || selects?.(metadata.labels) === false) return undefined;
    return hasModes(volume, claim) ? "fits" : undefined;
  };
}

/** The smallest volume that a claim could have, and that `isUsable`: the one that insists on the claim before all others. */
export function smallestVolumeFor(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  isUsable: (volume: PersistentVolume) => boolean,
): PersistentVolume | undefined {
  const fitOf = fitFor(claim);
  let smallest: PersistentVolume | undefined;
  for (const volume of volumes) {
    const fit = fitOf(volume);
    if (fit === "insists") return isUsable(volume) ? volume : undefined;
    if (fit === undefined || (smallest && volumeBytes(smallest) <= volumeBytes(volume))) continue;
    if (isUsable(volume)) smallest = volume;
  }
  return smallest;
}
