import { bool, type Infer, int32, list, map, ref, string, struct } from "#schema/index.ts";
import { LocalObjectReference, ObjectReference, SecretReference } from "./references.ts";

export const AWSElasticBlockStoreVolumeSource = struct("core/v1.AWSElasticBlockStoreVolumeSource", {
  volumeID: string(1).required(),
  fsType: string(2),
  partition: int32(3),
  readOnly: bool(4),
});
export interface AWSElasticBlockStoreVolumeSource extends Infer<typeof AWSElasticBlockStoreVolumeSource> {}

export const AzureDiskVolumeSource = struct("core/v1.AzureDiskVolumeSource", {
  diskName: string(1).required(),
  diskURI: string(2).required(),
  cachingMode: string(3).oneOf("None", "ReadOnly", "ReadWrite").pointer().default("ReadWrite"),
  fsType: string(4).pointer().default("ext4"),
  readOnly: bool(5).pointer().default(false),
  kind: string(6).oneOf("Dedicated", "Managed", "Shared").pointer().default("Shared"),
});
export interface AzureDiskVolumeSource extends Infer<typeof AzureDiskVolumeSource> {}

export const AzureFilePersistentVolumeSource = struct("core/v1.AzureFilePersistentVolumeSource", {
  secretName: string(1).required(),
  shareName: string(2).required(),
  readOnly: bool(3),
  secretNamespace: string(4).pointer(),
});
export interface AzureFilePersistentVolumeSource extends Infer<typeof AzureFilePersistentVolumeSource> {}

export const AzureFileVolumeSource = struct("core/v1.AzureFileVolumeSource", {
  secretName: string(1).required(),
  shareName: string(2).required(),
  readOnly: bool(3),
});
export interface AzureFileVolumeSource extends Infer<typeof AzureFileVolumeSource> {}

export const CephFSPersistentVolumeSource = struct("core/v1.CephFSPersistentVolumeSource", {
  monitors: list(1, "string").required(),
  path: string(2),
  user: string(3),
  secretFile: string(4),
  secretRef: ref(5, SecretReference),
  readOnly: bool(6),
});
export interface CephFSPersistentVolumeSource extends Infer<typeof CephFSPersistentVolumeSource> {}

export const CephFSVolumeSource = struct("core/v1.CephFSVolumeSource", {
  monitors: list(1, "string").required(),
  path: string(2),
  user: string(3),
  secretFile: string(4),
  secretRef: ref(5, LocalObjectReference),
  readOnly: bool(6),
});
export interface CephFSVolumeSource extends Infer<typeof CephFSVolumeSource> {}

export const CinderPersistentVolumeSource = struct("core/v1.CinderPersistentVolumeSource", {
  volumeID: string(1).required(),
  fsType: string(2),
  readOnly: bool(3),
  secretRef: ref(4, SecretReference),
});
export interface CinderPersistentVolumeSource extends Infer<typeof CinderPersistentVolumeSource> {}

export const CinderVolumeSource = struct("core/v1.CinderVolumeSource", {
  volumeID: string(1).required(),
  fsType: string(2),
  readOnly: bool(3),
  secretRef: ref(4, LocalObjectReference),
});
export interface CinderVolumeSource extends Infer<typeof CinderVolumeSource> {}

export const FCVolumeSource = struct("core/v1.FCVolumeSource", {
  targetWWNs: list(1, "string"),
  lun: int32(2).pointer(),
  fsType: string(3),
  readOnly: bool(4),
  wwids: list(5, "string"),
});
export interface FCVolumeSource extends Infer<typeof FCVolumeSource> {}

export const FlexPersistentVolumeSource = struct("core/v1.FlexPersistentVolumeSource", {
  driver: string(1).required(),
  fsType: string(2),
  secretRef: ref(3, SecretReference),
  readOnly: bool(4),
  options: map(5, "string"),
});
export interface FlexPersistentVolumeSource extends Infer<typeof FlexPersistentVolumeSource> {}

export const FlexVolumeSource = struct("core/v1.FlexVolumeSource", {
  driver: string(1).required(),
  fsType: string(2),
  secretRef: ref(3, LocalObjectReference),
  readOnly: bool(4),
  options: map(5, "string"),
});
export interface FlexVolumeSource extends Infer<typeof FlexVolumeSource> {}

export const FlockerVolumeSource = struct("core/v1.FlockerVolumeSource", {
  datasetName: string(1),
  datasetUUID: string(2),
});
export interface FlockerVolumeSource extends Infer<typeof FlockerVolumeSource> {}

export const GCEPersistentDiskVolumeSource = struct("core/v1.GCEPersistentDiskVolumeSource", {
  pdName: string(1).required(),
  fsType: string(2),
  partition: int32(3),
  readOnly: bool(4),
});
export interface GCEPersistentDiskVolumeSource extends Infer<typeof GCEPersistentDiskVolumeSource> {}

export const GitRepoVolumeSource = struct("core/v1.GitRepoVolumeSource", {
  repository: string(1).required(),
  revision: string(2),
  directory: string(3),
});
export interface GitRepoVolumeSource extends Infer<typeof GitRepoVolumeSource> {}

export const GlusterfsPersistentVolumeSource = struct("core/v1.GlusterfsPersistentVolumeSource", {
  endpoints: string(1).required(),
  path: string(2).required(),
  readOnly: bool(3),
  endpointsNamespace: string(4).pointer(),
});
export interface GlusterfsPersistentVolumeSource extends Infer<typeof GlusterfsPersistentVolumeSource> {}

export const GlusterfsVolumeSource = struct("core/v1.GlusterfsVolumeSource", {
  endpoints: string(1).required(),
  path: string(2).required(),
  readOnly: bool(3),
});
export interface GlusterfsVolumeSource extends Infer<typeof GlusterfsVolumeSource> {}

export const ISCSIPersistentVolumeSource = struct("core/v1.ISCSIPersistentVolumeSource", {
  targetPortal: string(1).required(),
  iqn: string(2).required(),
  lun: int32(3).required(),
  iscsiInterface: string(4).default("default"),
  fsType: string(5),
  readOnly: bool(6),
  portals: list(7, "string"),
  chapAuthDiscovery: bool(8),
  chapAuthSession: bool(11),
  secretRef: ref(10, SecretReference),
  initiatorName: string(12).pointer(),
});
export interface ISCSIPersistentVolumeSource extends Infer<typeof ISCSIPersistentVolumeSource> {}

export const ISCSIVolumeSource = struct("core/v1.ISCSIVolumeSource", {
  targetPortal: string(1).required(),
  iqn: string(2).required(),
  lun: int32(3).required(),
  iscsiInterface: string(4).default("default"),
  fsType: string(5),
  readOnly: bool(6),
  portals: list(7, "string"),
  chapAuthDiscovery: bool(8),
  chapAuthSession: bool(11),
  secretRef: ref(10, LocalObjectReference),
  initiatorName: string(12).pointer(),
});
export interface ISCSIVolumeSource extends Infer<typeof ISCSIVolumeSource> {}

export const NFSVolumeSource = struct("core/v1.NFSVolumeSource", {
  server: string(1).required(),
  path: string(2).required(),
  readOnly: bool(3),
});
export interface NFSVolumeSource extends Infer<typeof NFSVolumeSource> {}

export const PhotonPersistentDiskVolumeSource = struct("core/v1.PhotonPersistentDiskVolumeSource", {
  pdID: string(1).required(),
  fsType: string(2),
});
export interface PhotonPersistentDiskVolumeSource extends Infer<typeof PhotonPersistentDiskVolumeSource> {}

export const PortworxVolumeSource = struct("core/v1.PortworxVolumeSource", {
  volumeID: string(1).required(),
  fsType: string(2),
  readOnly: bool(3),
});
export interface PortworxVolumeSource extends Infer<typeof PortworxVolumeSource> {}

export const QuobyteVolumeSource = struct("core/v1.QuobyteVolumeSource", {
  registry: string(1).required(),
  volume: string(2).required(),
  readOnly: bool(3),
  user: string(4),
  group: string(5),
  tenant: string(6),
});
export interface QuobyteVolumeSource extends Infer<typeof QuobyteVolumeSource> {}

export const RBDPersistentVolumeSource = struct("core/v1.RBDPersistentVolumeSource", {
  monitors: list(1, "string").required(),
  image: string(2).required(),
  fsType: string(3),
  pool: string(4).default("rbd"),
  user: string(5).default("admin"),
  keyring: string(6).default("/etc/ceph/keyring"),
  secretRef: ref(7, SecretReference),
  readOnly: bool(8),
});
export interface RBDPersistentVolumeSource extends Infer<typeof RBDPersistentVolumeSource> {}

export const RBDVolumeSource = struct("core/v1.RBDVolumeSource", {
  monitors: list(1, "string").required(),
  image: string(2).required(),
  fsType: string(3),
  pool: string(4).default("rbd"),
  user: string(5).default("admin"),
  keyring: string(6).default("/etc/ceph/keyring"),
  secretRef: ref(7, LocalObjectReference),
  readOnly: bool(8),
});
export interface RBDVolumeSource extends Infer<typeof RBDVolumeSource> {}

export const ScaleIOPersistentVolumeSource = struct("core/v1.ScaleIOPersistentVolumeSource", {
  gateway: string(1).required(),
  system: string(2).required(),
  secretRef: ref(3, SecretReference).required().pointer(),
  sslEnabled: bool(4),
  protectionDomain: string(5),
  storagePool: string(6),
  storageMode: string(7).default("ThinProvisioned"),
  volumeName: string(8),
  fsType: string(9).default("xfs"),
  readOnly: bool(10),
});
export interface ScaleIOPersistentVolumeSource extends Infer<typeof ScaleIOPersistentVolumeSource> {}

export const ScaleIOVolumeSource = struct("core/v1.ScaleIOVolumeSource", {
  gateway: string(1).required(),
  system: string(2).required(),
  secretRef: ref(3, LocalObjectReference).required().pointer(),
  sslEnabled: bool(4),
  protectionDomain: string(5),
  storagePool: string(6),
  storageMode: string(7).default("ThinProvisioned"),
  volumeName: string(8),
  fsType: string(9).default("xfs"),
  readOnly: bool(10),
});
export interface ScaleIOVolumeSource extends Infer<typeof ScaleIOVolumeSource> {}

export const StorageOSPersistentVolumeSource = struct("core/v1.StorageOSPersistentVolumeSource", {
  volumeName: string(1),
  volumeNamespace: string(2),
  fsType: string(3),
  readOnly: bool(4),
  secretRef: ref(5, ObjectReference),
});
export interface StorageOSPersistentVolumeSource extends Infer<typeof StorageOSPersistentVolumeSource> {}

export const StorageOSVolumeSource = struct("core/v1.StorageOSVolumeSource", {
  volumeName: string(1),
  volumeNamespace: string(2),
  fsType: string(3),
  readOnly: bool(4),
  secretRef: ref(5, LocalObjectReference),
});
export interface StorageOSVolumeSource extends Infer<typeof StorageOSVolumeSource> {}

export const VsphereVirtualDiskVolumeSource = struct("core/v1.VsphereVirtualDiskVolumeSource", {
  volumePath: string(1).required(),
  fsType: string(2),
  storagePolicyName: string(3),
  storagePolicyID: string(4),
});
export interface VsphereVirtualDiskVolumeSource extends Infer<typeof VsphereVirtualDiskVolumeSource> {}
