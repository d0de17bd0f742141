// Warnings about accepted storage objects.
// Upstream: pkg/api/persistentvolume/util.go, pkg/api/persistentvolumeclaim/util.go and pkg/api/storage/util.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from "#api/core/v1/persistent-volume-claim.ts";
import type { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import type { CSIStorageCapacity } from "#api/storage/v1/csi-storage-capacity.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import { equal } from "#base/collections.ts";
import { parseQuantity, quantityMilliValue } from "#schema/quantity.ts";
import { deprecatedNodeLabel, nodeSelectorTermWarnings, nodeSelectorWarnings } from "./node-labels.ts";

const classAnnotation = "volume.beta.kubernetes.io/storage-class";
const useClassName = 'deprecated since v1.8; use "storageClassName" attribute instead';

const volumeAnnotations: Readonly<Record<string, string>> = {
  [classAnnotation]: useClassName,
  "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
};

const deadSources = {
  cephfs: "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
  photonPersistentDisk: "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
  scaleIO: "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
  storageos: "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
  rbd: "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
} as const satisfies { readonly [K in keyof PersistentVolume["spec"]]?: string };

export function* persistentVolumeWarnings({
  metadata,
  spec,
}: Pick<PersistentVolume, "metadata" | "spec">): Iterable<string> {
  for (const [name, why] of Object.entries(volumeAnnotations))
    if (metadata.annotations?.[name] !== undefined) yield `metadata.annotations[${name}]: ${why}`;
  if (spec.persistentVolumeReclaimPolicy === "Recycle")
    yield "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
  for (const [i, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries())
    yield* nodeSelectorTermWarnings(`spec.nodeAffinity.required.nodeSelectorTerms[${i}]`, term);
  for (const [name, why] of Object.entries(deadSources)) if (Object.hasOwn(spec, name)) yield why;
}

export function* claimWarnings({ metadata, spec }: Pick<PersistentVolumeClaim, "metadata" | "spec">): Iterable<string> {
  if (metadata.annotations?.[classAnnotation] !== undefined)
    yield `metadata.annotations[${classAnnotation}]: ${useClassName}`;
  yield* claimSpecWarnings("spec", spec);
}

/** Also of claims that pods and stateful sets describe. */
export function* claimSpecWarnings(path: string, { resources }: PersistentVolumeClaimSpec): Iterable<string> {
  for (const list of ["requests", "limits"] as const) {
    const storage = resources[list]?.storage;
    if (storage !== undefined && quantityMilliValue(parseQuantity(storage)) % 1000n !== 0n)
      yield `${path}.resources.${list}[storage]: fractional byte value ${JSON.stringify(storage)} is invalid, must be an integer`;
  }
}

export function* storageClassWarnings({
  allowedTopologies = [],
}: Pick<StorageClass, "allowedTopologies">): Iterable<string> {
  for (const [i, { matchLabelExpressions = [] }] of allowedTopologies.entries())
    for (const [j, { key }] of matchLabelExpressions.entries()) {
      const why = deprecatedNodeLabel(key);
      if (why !== undefined) yield `allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${why}`;
    }
}

export const capacityWarnings = ({ nodeTopology }: Pick<CSIStorageCapacity, "nodeTopology">): Iterable<string> =>
  nodeSelectorWarnings("nodeTopology", nodeTopology);

export function* driverWarnings(
  { spec: { tokenRequests = [], serviceAccountTokenInSecrets } }: Pick<CSIDriver, "spec">,
  old: Pick<CSIDriver, "spec"> | undefined,
): Iterable<string> {
  if (tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return;
  if (!old || !equal(tokenRequests, old.spec.tokenRequests))
    yield "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";
}
