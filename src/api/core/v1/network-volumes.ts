// Storage from all over the world. Most of it is spoken for by CSI drivers today, but the fields remain.
import { dns1123Label } from "#schema/formats.ts";
import { bool, type Infer, int32, list, map, type Problem, ref, string, struct } from "#schema/index.ts";
import {
  checkAzureDisk,
  checkFibreChannel,
  checkFlex,
  checkFlocker,
  checkGlusterfs,
  checkIscsi,
  checkNfs,
  checkPartition,
  checkQuobyte,
  notEmptyIfSet,
  secretNamed,
} from "./checks/network-volumes.ts";
import { descending } from "./checks/paths.ts";
import { LocalObjectReference, ObjectReference, SecretReference } from "./references.ts";

export const AWSElasticBlockStoreVolumeSource = struct(
  "core/v1.AWSElasticBlockStoreVolumeSource",
  {
    volumeID: string(1, "Id of the volume.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    partition: int32(3, "Partition to mount; the whole volume when 0."),
    readOnly: bool(4, "Whether it is mounted read-only."),
  },
  { doc: "An EBS disk.", check: ({ partition = 0 }): Iterable<Problem> => checkPartition(partition) },
);
export interface AWSElasticBlockStoreVolumeSource extends Infer<typeof AWSElasticBlockStoreVolumeSource> {}

export const AzureDiskVolumeSource = struct(
  "core/v1.AzureDiskVolumeSource",
  {
    diskName: string(1, "Name of the disk.").required().nonEmpty(),
    diskURI: string(2, "Address of the disk.").required().nonEmpty(),
    cachingMode: string(3, "How the host caches it.")
      .oneOf("None", "ReadOnly", "ReadWrite")
      .pointer()
      .default("ReadWrite"),
    fsType: string(4, "File system of the volume, such as ext4.").pointer().default("ext4"),
    readOnly: bool(5, "Whether it is mounted read-only.").pointer().default(false),
    kind: string(6, "How the disk is kept.").oneOf("Dedicated", "Managed", "Shared").pointer().default("Shared"),
  },
  { doc: "An Azure data disk.", check: (source): Iterable<Problem> => checkAzureDisk(source) },
);
export interface AzureDiskVolumeSource extends Infer<typeof AzureDiskVolumeSource> {}

export const AzureFilePersistentVolumeSource = struct(
  "core/v1.AzureFilePersistentVolumeSource",
  {
    secretName: string(1, "Secret with the account and its key.").required().nonEmpty(),
    shareName: string(2, "Name of the share.").required().nonEmpty(),
    readOnly: bool(3, "Whether it is mounted read-only."),
    secretNamespace: string(4, "Namespace of that secret.").nullable(),
  },
  {
    doc: "An Azure file share.",
    check: ({ secretNamespace }): Iterable<Problem> => notEmptyIfSet("secretNamespace", secretNamespace),
  },
);
export interface AzureFilePersistentVolumeSource extends Infer<typeof AzureFilePersistentVolumeSource> {}

export const AzureFileVolumeSource = struct(
  "core/v1.AzureFileVolumeSource",
  {
    secretName: string(1, "Secret with the account and its key.").required().nonEmpty(),
    shareName: string(2, "Name of the share.").required().nonEmpty(),
    readOnly: bool(3, "Whether it is mounted read-only."),
  },
  { doc: "An Azure file share." },
);
export interface AzureFileVolumeSource extends Infer<typeof AzureFileVolumeSource> {}

export const CephFSPersistentVolumeSource = struct(
  "core/v1.CephFSPersistentVolumeSource",
  {
    monitors: list(1, "string", "Addresses of the monitors.").required().nonEmpty(),
    path: string(2, "Path to mount."),
    user: string(3, "User to connect as."),
    secretFile: string(4, "File on the node with the key."),
    secretRef: ref(5, SecretReference, "Secret to connect with."),
    readOnly: bool(6, "Whether it is mounted read-only."),
  },
  { doc: "A Ceph file system." },
);
export interface CephFSPersistentVolumeSource extends Infer<typeof CephFSPersistentVolumeSource> {}

export const CephFSVolumeSource = struct(
  "core/v1.CephFSVolumeSource",
  {
    monitors: list(1, "string", "Addresses of the monitors.").required().nonEmpty(),
    path: string(2, "Path to mount."),
    user: string(3, "User to connect as."),
    secretFile: string(4, "File on the node with the key."),
    secretRef: ref(5, LocalObjectReference, "Secret to connect with."),
    readOnly: bool(6, "Whether it is mounted read-only."),
  },
  { doc: "A Ceph file system." },
);
export interface CephFSVolumeSource extends Infer<typeof CephFSVolumeSource> {}

export const CinderPersistentVolumeSource = struct(
  "core/v1.CinderPersistentVolumeSource",
  {
    volumeID: string(1, "Id of the volume.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    readOnly: bool(3, "Whether it is mounted read-only."),
    secretRef: ref(4, SecretReference, "Secret to connect with."),
  },
  { doc: "An OpenStack Cinder disk.", check: ({ secretRef }): Iterable<Problem> => secretNamed(secretRef, true) },
);
export interface CinderPersistentVolumeSource extends Infer<typeof CinderPersistentVolumeSource> {}

export const CinderVolumeSource = struct(
  "core/v1.CinderVolumeSource",
  {
    volumeID: string(1, "Id of the volume.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    readOnly: bool(3, "Whether it is mounted read-only."),
    secretRef: ref(4, LocalObjectReference, "Secret to connect with."),
  },
  { doc: "An OpenStack Cinder disk.", check: ({ secretRef }): Iterable<Problem> => secretNamed(secretRef, false) },
);
export interface CinderVolumeSource extends Infer<typeof CinderVolumeSource> {}

export const FCVolumeSource = struct(
  "core/v1.FCVolumeSource",
  {
    targetWWNs: list(1, "string", "World wide names of the targets."),
    lun: int32(2, "Number of the logical unit.").pointer(),
    fsType: string(3, "File system of the volume, such as ext4."),
    readOnly: bool(4, "Whether it is mounted read-only."),
    wwids: list(5, "string", "World wide identifiers; in place of targetWWNs and lun."),
  },
  { doc: "A Fibre Channel disk.", check: (source): Iterable<Problem> => checkFibreChannel(source) },
);
export interface FCVolumeSource extends Infer<typeof FCVolumeSource> {}

export const FlexPersistentVolumeSource = struct(
  "core/v1.FlexPersistentVolumeSource",
  {
    driver: string(1, "Name of the driver.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    secretRef: ref(3, SecretReference, "Secret to connect with."),
    readOnly: bool(4, "Whether it is mounted read-only."),
    options: map(5, "string", "Options for the driver."),
  },
  { doc: "A volume made by a FlexVolume driver.", check: (source): Iterable<Problem> => checkFlex(source) },
);
export interface FlexPersistentVolumeSource extends Infer<typeof FlexPersistentVolumeSource> {}

export const FlexVolumeSource = struct(
  "core/v1.FlexVolumeSource",
  {
    driver: string(1, "Name of the driver.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    secretRef: ref(3, LocalObjectReference, "Secret to connect with."),
    readOnly: bool(4, "Whether it is mounted read-only."),
    options: map(5, "string", "Options for the driver."),
  },
  { doc: "A volume made by a FlexVolume driver.", check: (source): Iterable<Problem> => checkFlex(source) },
);
export interface FlexVolumeSource extends Infer<typeof FlexVolumeSource> {}

export const FlockerVolumeSource = struct(
  "core/v1.FlockerVolumeSource",
  {
    datasetName: string(1, "Name of the dataset."),
    datasetUUID: string(2, "Id of the dataset."),
  },
  { doc: "A Flocker dataset.", check: (source): Iterable<Problem> => checkFlocker(source) },
);
export interface FlockerVolumeSource extends Infer<typeof FlockerVolumeSource> {}

export const GCEPersistentDiskVolumeSource = struct(
  "core/v1.GCEPersistentDiskVolumeSource",
  {
    pdName: string(1, "Name of the disk.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    partition: int32(3, "Partition to mount; the whole volume when 0."),
    readOnly: bool(4, "Whether it is mounted read-only."),
  },
  { doc: "A Google Compute Engine disk.", check: ({ partition = 0 }): Iterable<Problem> => checkPartition(partition) },
);
export interface GCEPersistentDiskVolumeSource extends Infer<typeof GCEPersistentDiskVolumeSource> {}

export const GitRepoVolumeSource = struct(
  "core/v1.GitRepoVolumeSource",
  {
    repository: string(1, "Address of the repository.").required().nonEmpty(),
    revision: string(2, "Commit to check out."),
    directory: string(3, "Folder to clone into."),
  },
  {
    doc: "A clone of a git repository; an init container does this better.",
    check: ({ directory = "" }): Iterable<Problem> => descending("directory", directory),
  },
);
export interface GitRepoVolumeSource extends Infer<typeof GitRepoVolumeSource> {}

export const GlusterfsPersistentVolumeSource = struct(
  "core/v1.GlusterfsPersistentVolumeSource",
  {
    endpoints: string(1, "Endpoints object that lists the servers.").required().nonEmpty(),
    path: string(2, "Path to mount.").required().nonEmpty(),
    readOnly: bool(3, "Whether it is mounted read-only."),
    endpointsNamespace: string(4, "Namespace of that object.").pointer(),
  },
  { doc: "A GlusterFS volume.", check: (source): Iterable<Problem> => checkGlusterfs(source) },
);
export interface GlusterfsPersistentVolumeSource extends Infer<typeof GlusterfsPersistentVolumeSource> {}

export const GlusterfsVolumeSource = struct(
  "core/v1.GlusterfsVolumeSource",
  {
    endpoints: string(1, "Endpoints object that lists the servers.").required().nonEmpty(),
    path: string(2, "Path to mount.").required().nonEmpty(),
    readOnly: bool(3, "Whether it is mounted read-only."),
  },
  { doc: "A GlusterFS volume." },
);
export interface GlusterfsVolumeSource extends Infer<typeof GlusterfsVolumeSource> {}

export const ISCSIPersistentVolumeSource = struct(
  "core/v1.ISCSIPersistentVolumeSource",
  {
    targetPortal: string(1, "Address of the target, with port if it is not the usual one.").required().nonEmpty(),
    iqn: string(2, "Name of the target.").required().nonEmpty(),
    lun: int32(3, "Number of the logical unit.").required().min(0).max(255),
    iscsiInterface: string(4, "Interface of the initiator.").default("default"),
    fsType: string(5, "File system of the volume, such as ext4."),
    readOnly: bool(6, "Whether it is mounted read-only."),
    portals: list(7, "string", "More addresses of the target."),
    chapAuthDiscovery: bool(8, "Whether discovery needs CHAP."),
    chapAuthSession: bool(11, "Whether sessions need CHAP."),
    secretRef: ref(10, SecretReference, "Secret to connect with."),
    initiatorName: string(12, "Name of the initiator, over that of the node.").pointer(),
  },
  { doc: "An iSCSI disk.", check: (source): Iterable<Problem> => checkIscsi(source, "must be valid format") },
);
export interface ISCSIPersistentVolumeSource extends Infer<typeof ISCSIPersistentVolumeSource> {}

export const ISCSIVolumeSource = struct(
  "core/v1.ISCSIVolumeSource",
  {
    targetPortal: string(1, "Address of the target, with port if it is not the usual one.").required().nonEmpty(),
    iqn: string(2, "Name of the target.").required().nonEmpty(),
    lun: int32(3, "Number of the logical unit.").required().min(0).max(255),
    iscsiInterface: string(4, "Interface of the initiator.").default("default"),
    fsType: string(5, "File system of the volume, such as ext4."),
    readOnly: bool(6, "Whether it is mounted read-only."),
    portals: list(7, "string", "More addresses of the target."),
    chapAuthDiscovery: bool(8, "Whether discovery needs CHAP."),
    chapAuthSession: bool(11, "Whether sessions need CHAP."),
    secretRef: ref(10, LocalObjectReference, "Secret to connect with."),
    initiatorName: string(12, "Name of the initiator, over that of the node.").pointer(),
  },
  {
    doc: "An iSCSI disk.",
    check: (source): Iterable<Problem> => checkIscsi(source, "must be valid format starting with iqn, eui, or naa"),
  },
);
export interface ISCSIVolumeSource extends Infer<typeof ISCSIVolumeSource> {}

export const NFSVolumeSource = struct(
  "core/v1.NFSVolumeSource",
  {
    server: string(1, "Host name or address of the server.").required().nonEmpty(),
    path: string(2, "Path to mount.").required().nonEmpty(),
    readOnly: bool(3, "Whether it is mounted read-only."),
  },
  { doc: "A folder exported over NFS.", check: (source): Iterable<Problem> => checkNfs(source) },
);
export interface NFSVolumeSource extends Infer<typeof NFSVolumeSource> {}

export const PhotonPersistentDiskVolumeSource = struct(
  "core/v1.PhotonPersistentDiskVolumeSource",
  {
    pdID: string(1, "Id of the disk.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
  },
  { doc: "A Photon Controller disk." },
);
export interface PhotonPersistentDiskVolumeSource extends Infer<typeof PhotonPersistentDiskVolumeSource> {}

export const PortworxVolumeSource = struct(
  "core/v1.PortworxVolumeSource",
  {
    volumeID: string(1, "Id of the volume.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    readOnly: bool(3, "Whether it is mounted read-only."),
  },
  { doc: "A Portworx volume." },
);
export interface PortworxVolumeSource extends Infer<typeof PortworxVolumeSource> {}

export const QuobyteVolumeSource = struct(
  "core/v1.QuobyteVolumeSource",
  {
    registry: string(1, "Registries as host:port pairs.").required().nonEmpty(),
    volume: string(2, "Name of the volume.").required().nonEmpty(),
    readOnly: bool(3, "Whether it is mounted read-only."),
    user: string(4, "User to connect as."),
    group: string(5, "Group to map access to."),
    tenant: string(6, "Tenant that owns the volume."),
  },
  { doc: "A Quobyte volume.", check: (source): Iterable<Problem> => checkQuobyte(source) },
);
export interface QuobyteVolumeSource extends Infer<typeof QuobyteVolumeSource> {}

export const RBDPersistentVolumeSource = struct(
  "core/v1.RBDPersistentVolumeSource",
  {
    monitors: list(1, "string", "Addresses of the monitors.").required().nonEmpty(),
    image: string(2, "Name of the image.").required().nonEmpty(),
    fsType: string(3, "File system of the volume, such as ext4."),
    pool: string(4, "Pool of the image.").default("rbd"),
    user: string(5, "User to connect as.").default("admin"),
    keyring: string(6, "Key file on the node.").default("/etc/ceph/keyring"),
    secretRef: ref(7, SecretReference, "Secret to connect with."),
    readOnly: bool(8, "Whether it is mounted read-only."),
  },
  { doc: "A Rados block device." },
);
export interface RBDPersistentVolumeSource extends Infer<typeof RBDPersistentVolumeSource> {}

export const RBDVolumeSource = struct(
  "core/v1.RBDVolumeSource",
  {
    monitors: list(1, "string", "Addresses of the monitors.").required().nonEmpty(),
    image: string(2, "Name of the image.").required().nonEmpty(),
    fsType: string(3, "File system of the volume, such as ext4."),
    pool: string(4, "Pool of the image.").default("rbd"),
    user: string(5, "User to connect as.").default("admin"),
    keyring: string(6, "Key file on the node.").default("/etc/ceph/keyring"),
    secretRef: ref(7, LocalObjectReference, "Secret to connect with."),
    readOnly: bool(8, "Whether it is mounted read-only."),
  },
  { doc: "A Rados block device." },
);
export interface RBDVolumeSource extends Infer<typeof RBDVolumeSource> {}

export const ScaleIOPersistentVolumeSource = struct(
  "core/v1.ScaleIOPersistentVolumeSource",
  {
    gateway: string(1, "Address of the gateway.").required().nonEmpty(),
    system: string(2, "Name of the storage system.").required().nonEmpty(),
    secretRef: ref(3, SecretReference, "Secret to connect with.").required().pointer(),
    sslEnabled: bool(4, "Whether TLS is used."),
    protectionDomain: string(5, "Protection domain of the storage."),
    storagePool: string(6, "Pool in that domain."),
    storageMode: string(7, "Thick or thin provisioning.").default("ThinProvisioned"),
    volumeName: string(8, "Name of the volume.").nonEmpty(),
    fsType: string(9, "File system of the volume, such as ext4.").default("xfs"),
    readOnly: bool(10, "Whether it is mounted read-only."),
  },
  { doc: "A ScaleIO volume." },
);
export interface ScaleIOPersistentVolumeSource extends Infer<typeof ScaleIOPersistentVolumeSource> {}

export const ScaleIOVolumeSource = struct(
  "core/v1.ScaleIOVolumeSource",
  {
    gateway: string(1, "Address of the gateway.").required().nonEmpty(),
    system: string(2, "Name of the storage system.").required().nonEmpty(),
    secretRef: ref(3, LocalObjectReference, "Secret to connect with.").required().pointer(),
    sslEnabled: bool(4, "Whether TLS is used."),
    protectionDomain: string(5, "Protection domain of the storage."),
    storagePool: string(6, "Pool in that domain."),
    storageMode: string(7, "Thick or thin provisioning.").default("ThinProvisioned"),
    volumeName: string(8, "Name of the volume.").nonEmpty(),
    fsType: string(9, "File system of the volume, such as ext4.").default("xfs"),
    readOnly: bool(10, "Whether it is mounted read-only."),
  },
  { doc: "A ScaleIO volume." },
);
export interface ScaleIOVolumeSource extends Infer<typeof ScaleIOVolumeSource> {}

export const StorageOSPersistentVolumeSource = struct(
  "core/v1.StorageOSPersistentVolumeSource",
  {
    volumeName: string(1, "Name of the volume.").nonEmpty().is(dns1123Label),
    volumeNamespace: string(2, "Namespace of the volume within the storage system.").is(dns1123Label),
    fsType: string(3, "File system of the volume, such as ext4."),
    readOnly: bool(4, "Whether it is mounted read-only."),
    secretRef: ref(5, ObjectReference, "Secret to connect with."),
  },
  { doc: "A StorageOS volume.", check: ({ secretRef }): Iterable<Problem> => secretNamed(secretRef, true) },
);
export interface StorageOSPersistentVolumeSource extends Infer<typeof StorageOSPersistentVolumeSource> {}

export const StorageOSVolumeSource = struct(
  "core/v1.StorageOSVolumeSource",
  {
    volumeName: string(1, "Name of the volume.").nonEmpty().is(dns1123Label),
    volumeNamespace: string(2, "Namespace of the volume within the storage system.").is(dns1123Label),
    fsType: string(3, "File system of the volume, such as ext4."),
    readOnly: bool(4, "Whether it is mounted read-only."),
    secretRef: ref(5, LocalObjectReference, "Secret to connect with."),
  },
  { doc: "A StorageOS volume.", check: ({ secretRef }): Iterable<Problem> => secretNamed(secretRef, false) },
);
export interface StorageOSVolumeSource extends Infer<typeof StorageOSVolumeSource> {}

export const VsphereVirtualDiskVolumeSource = struct(
  "core/v1.VsphereVirtualDiskVolumeSource",
  {
    volumePath: string(1, "Path of the volume.").required().nonEmpty(),
    fsType: string(2, "File system of the volume, such as ext4."),
    storagePolicyName: string(3, "Name of the storage policy."),
    storagePolicyID: string(4, "Id of the storage policy."),
  },
  { doc: "A vSphere disk." },
);
export interface VsphereVirtualDiskVolumeSource extends Infer<typeof VsphereVirtualDiskVolumeSource> {}
