// What the volumes of the local provisioner look like in the API.
import type { Node } from "#api/core/v1/node.ts";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import { provisionedBy } from "#rules/volumes.ts";
import type { Draft } from "#schema/infer.ts";
import { localProvisioner, type MadeVolume } from "./node-storage.ts";

/** Keeps a volume in the API until its folder is gone, as upstream's provisioners do. */
export const deletionFinalizer = "external-provisioner.volume.kubernetes.io/finalizer";
/** Says on a volume whether more can be written to it than its size: `enforced` or `none`. */
const quotaAnnotation = "knarr.dev/quota";
const hostname = "kubernetes.io/hostname";

export const isLocalVolume = ({ metadata }: PersistentVolume): boolean =>
  metadata.annotations?.[provisionedBy] === localProvisioner;

/** Which node a volume is on, as its folder is; undefined if someone has changed that. */
export function nodeOf({ spec }: PersistentVolume, nodes: readonly Node[]): string | undefined {
  const [term] = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const [value] = term?.matchExpressions?.find(({ key }) => key === hostname)?.values ?? [];
  return nodes.find(({ metadata }) => (metadata.labels?.[hostname] ?? metadata.name) === value)?.metadata.name;
}

export const volumeNameFor = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata.uid}`;

/** Why no volume of this provisioner will do for the claim, in the words that follow `failed to provision volume`. */
export function problemOf({ spec }: PersistentVolumeClaim): string | undefined {
  if (spec.volumeMode === "Block") return "block volumes are not supported";
  if (spec.selector) return "claim Selector is not supported";
  if (spec.dataSource ?? spec.dataSourceRef) return "data sources are not supported";
  if (spec.volumeAttributesClassName) return "VolumeAttributesClass is not supported";
  const odd = spec.accessModes?.find((mode) => mode !== "ReadWriteOnce" && mode !== "ReadWriteOncePod");
  if (odd === undefined) return undefined;
  return `access mode ${odd} is not supported: a folder of a node can be reached from that node only`;
}

export function newVolume(
  claim: PersistentVolumeClaim,
  { metadata: { name: className }, reclaimPolicy, mountOptions }: StorageClass,
  node: Node,
  { path, isLimited }: MadeVolume,
): Draft<PersistentVolume> {
  const { apiVersion, kind, metadata, spec } = claim;
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    metadata: {
      name: volumeNameFor(claim),
      annotations: { [provisionedBy]: localProvisioner, [quotaAnnotation]: isLimited ? "enforced" : "none" },
      finalizers: [deletionFinalizer],
    },
    spec: {
      capacity: { storage: spec.resources.requests?.storage ?? "0" },
      accessModes: spec.accessModes ?? [],
      volumeMode: "Filesystem",
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: className,
      ...(mountOptions && { mountOptions }),
      claimRef: { apiVersion, kind, namespace, name, uid, resourceVersion },
      local: { path },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                {
                  key: hostname,
                  operator: "In",
                  values: [node.metadata.labels?.[hostname] ?? node.metadata.name],
                },
              ],
            },
          ],
        },
      },
    },
  };
}
