// A volume of a storage driver, whether it is a persistent one or made for a pod: what the driver is asked for.
// Upstream: pkg/volume/csi/csi_mounter.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import type { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { own } from "#base/collections.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";

export interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
}

export interface CsiVolume {
  readonly driver: string;
  /** What the driver calls the volume. */
  readonly handle: string;
  /** What the kubelet calls it: the name of the persistent volume, or of the pod's. */
  readonly specName: string;
  readonly mode: "Persistent" | "Ephemeral";
  readonly isBlock: boolean;
  readonly isReadOnly: boolean;
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly mountOptions: readonly string[];
  readonly accessModes: readonly string[];
  readonly stageSecret?: SecretPlace | undefined;
  readonly publishSecret?: SecretPlace | undefined;
  readonly expandSecret?: SecretPlace | undefined;
}

/** Undefined for volumes of other kinds. */
export function csiVolumeOf(
  { volume, persistentVolume }: { readonly volume: Volume; readonly persistentVolume?: PersistentVolume },
  { metadata }: Pod,
): CsiVolume | undefined {
  if (volume.csi) {
    const { driver, readOnly = false, fsType = "", volumeAttributes, nodePublishSecretRef } = volume.csi;
    const name = nodePublishSecretRef?.name;
    return {
      driver,
      handle: `csi-${hex(sha256(`${metadata.uid}${volume.name}`))}`,
      specName: volume.name,
      mode: "Ephemeral",
      isBlock: false,
      isReadOnly: readOnly,
      fsType,
      attributes: volumeAttributes ?? {},
      mountOptions: [],
      accessModes: ["ReadWriteOnce"],
      publishSecret: name ? { namespace: metadata.namespace ?? "", name } : undefined,
    };
  }
  const source = persistentVolume?.spec.csi;
  if (!source) return undefined;
  return {
    driver: source.driver,
    handle: source.volumeHandle,
    specName: persistentVolume.metadata.name,
    mode: "Persistent",
    isBlock: persistentVolume.spec.volumeMode === "Block",
    isReadOnly: volume.persistentVolumeClaim?.readOnly ?? false,
    fsType: source.fsType ?? "",
    attributes: source.volumeAttributes ?? {},
    mountOptions: persistentVolume.spec.mountOptions ?? [],
    accessModes: persistentVolume.spec.accessModes ?? [],
    stageSecret: secretPlace(source.nodeStageSecretRef),
    publishSecret: secretPlace(source.nodePublishSecretRef),
    expandSecret: secretPlace(source.nodeExpandSecretRef),
  };
}

const secretPlace = (
  ref: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined,
): SecretPlace | undefined => (ref?.name ? { namespace: ref.namespace ?? "", name: ref.name } : undefined);

/** As everybody names the attachment of a volume to a node. */
export const attachmentOf = ({ handle, driver }: Pick<CsiVolume, "handle" | "driver">, node: string): string =>
  `csi-${hex(sha256(`${handle}${driver}${node}`))}`;

/** As nodes and the attach/detach controller name the volume to each other. */
export const uniqueNameOf = ({ driver, handle }: Pick<CsiVolume, "handle" | "driver">): string =>
  `kubernetes.io/csi/${driver}^${handle}`;

const plainModes: Readonly<Record<string, number>> = {
  ReadWriteOnce: 1,
  ReadOnlyMany: 3,
  ReadWriteMany: 5,
  ReadWriteOncePod: 1,
};
const singleNodeModes: Readonly<Record<string, number>> = { ...plainModes, ReadWriteOnce: 7, ReadWriteOncePod: 6 };

/** VolumeCapability as drivers want it. A driver that knows more about writers of one node is told more. */
export function capabilityOf(
  { isBlock, fsType, mountOptions, accessModes: [first = "ReadWriteOnce"] }: CsiVolume,
  { knowsWriters, group }: { readonly knowsWriters: boolean; readonly group?: number | undefined },
) {
  const accessMode = { mode: own(knowsWriters ? singleNodeModes : plainModes, first) ?? 0 };
  const volumeMountGroup = group === undefined ? "" : String(group);
  return isBlock
    ? { block: {}, accessMode }
    : { mount: { fsType, mountFlags: [...mountOptions], volumeMountGroup }, accessMode };
}

/** What a driver that asks for it is told of the pod. */
export const podInfo = ({ metadata, spec }: Pod, { mode }: CsiVolume): Readonly<Record<string, string>> => ({
  "csi.storage.k8s.io/pod.name": metadata.name,
  "csi.storage.k8s.io/pod.namespace": metadata.namespace ?? "",
  "csi.storage.k8s.io/pod.uid": metadata.uid ?? "",
  "csi.storage.k8s.io/serviceAccount.name": spec.serviceAccountName ?? "",
  "csi.storage.k8s.io/ephemeral": String(mode === "Ephemeral"),
});

export const tokensAttribute = "csi.storage.k8s.io/serviceAccount.tokens";

/** Why the driver cannot have such a volume; undefined if it can. Only persistent ones need no word about the driver in the API. */
export function modeProblem({ mode, driver }: CsiVolume, described: CSIDriver | undefined): string | undefined {
  if (!described)
    return mode === "Persistent"
      ? undefined
      : `volume mode "${mode}" not supported by driver ${driver} (no CSIDriver object)`;
  const modes: readonly string[] = described.spec.volumeLifecycleModes;
  return modes.includes(mode)
    ? undefined
    : `volume mode "${mode}" not supported by driver ${driver} (only supports ${JSON.stringify(modes)})`;
}

/** Whether the kubelet gives the files to the pod's fsGroup, where the driver does not do it. */
export function givesToGroup(
  { isReadOnly, fsType, mode, accessModes }: CsiVolume,
  described: CSIDriver | undefined,
): boolean {
  const policy = described?.spec.fsGroupPolicy ?? "ReadWriteOnceWithFSType";
  if (policy === "None" || isReadOnly) return false;
  if (policy === "File") return true;
  if (fsType === "") return false;
  return mode === "Ephemeral" || accessModes.includes("ReadWriteOnce") || accessModes.includes("ReadWriteOncePod");
}
