import { bool, type Infer, inline, int32, int64, list, map, quantity, ref, string, struct } from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { ObjectFieldSelector, ResourceFieldSelector } from "./env.ts";
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  AzureFileVolumeSource,
  CephFSVolumeSource,
  CinderVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  GitRepoVolumeSource,
  GlusterfsVolumeSource,
  ISCSIVolumeSource,
  NFSVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  RBDVolumeSource,
  ScaleIOVolumeSource,
  StorageOSVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from "./network-volumes.ts";
import { PersistentVolumeClaimSpec } from "./persistent-volume-claim.ts";
import { LocalObjectReference } from "./references.ts";

export const CSIVolumeSource = struct("core/v1.CSIVolumeSource", {
  driver: string(1).required(),
  readOnly: bool(2).pointer(),
  fsType: string(3).pointer(),
  volumeAttributes: map(4, "string"),
  nodePublishSecretRef: ref(5, LocalObjectReference),
});
export interface CSIVolumeSource extends Infer<typeof CSIVolumeSource> {}

export const ClusterTrustBundleProjection = struct("core/v1.ClusterTrustBundleProjection", {
  name: string(1).pointer(),
  signerName: string(2).pointer(),
  labelSelector: ref(3, LabelSelector),
  optional: bool(5).pointer(),
  path: string(4).required(),
});
export interface ClusterTrustBundleProjection extends Infer<typeof ClusterTrustBundleProjection> {}

export const KeyToPath = struct("core/v1.KeyToPath", {
  key: string(1).required(),
  path: string(2).required(),
  mode: int32(3).pointer(),
});
export interface KeyToPath extends Infer<typeof KeyToPath> {}

export const ConfigMapProjection = struct("core/v1.ConfigMapProjection", {
  ...inline(1, LocalObjectReference),
  items: list(2, KeyToPath),
  optional: bool(4).pointer(),
});
export interface ConfigMapProjection extends Infer<typeof ConfigMapProjection> {}

export const ConfigMapVolumeSource = struct("core/v1.ConfigMapVolumeSource", {
  ...inline(1, LocalObjectReference),
  items: list(2, KeyToPath),
  defaultMode: int32(3).pointer().default(420),
  optional: bool(4).pointer(),
});
export interface ConfigMapVolumeSource extends Infer<typeof ConfigMapVolumeSource> {}

export const DownwardAPIVolumeFile = struct("core/v1.DownwardAPIVolumeFile", {
  path: string(1).required(),
  fieldRef: ref(2, ObjectFieldSelector),
  resourceFieldRef: ref(3, ResourceFieldSelector),
  mode: int32(4).pointer(),
});
export interface DownwardAPIVolumeFile extends Infer<typeof DownwardAPIVolumeFile> {}

export const DownwardAPIProjection = struct("core/v1.DownwardAPIProjection", {
  items: list(1, DownwardAPIVolumeFile),
});
export interface DownwardAPIProjection extends Infer<typeof DownwardAPIProjection> {}

export const DownwardAPIVolumeSource = struct("core/v1.DownwardAPIVolumeSource", {
  items: list(1, DownwardAPIVolumeFile),
  defaultMode: int32(2).pointer().default(420),
});
export interface DownwardAPIVolumeSource extends Infer<typeof DownwardAPIVolumeSource> {}

export const EmptyDirVolumeSource = struct("core/v1.EmptyDirVolumeSource", {
  medium: string(1),
  sizeLimit: quantity(2).pointer(),
});
export interface EmptyDirVolumeSource extends Infer<typeof EmptyDirVolumeSource> {}

export const PersistentVolumeClaimTemplate = struct("core/v1.PersistentVolumeClaimTemplate", {
  metadata: ref(1, ObjectMeta).default({}),
  spec: ref(2, PersistentVolumeClaimSpec).required(),
});
export interface PersistentVolumeClaimTemplate extends Infer<typeof PersistentVolumeClaimTemplate> {}

export const EphemeralVolumeSource = struct("core/v1.EphemeralVolumeSource", {
  volumeClaimTemplate: ref(1, PersistentVolumeClaimTemplate),
});
export interface EphemeralVolumeSource extends Infer<typeof EphemeralVolumeSource> {}

export const HostPathVolumeSource = struct("core/v1.HostPathVolumeSource", {
  path: string(1).required(),
  type: string(2)
    .oneOf("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
    .pointer()
    .default(""),
});
export interface HostPathVolumeSource extends Infer<typeof HostPathVolumeSource> {}

export const ImageVolumeSource = struct("core/v1.ImageVolumeSource", {
  reference: string(1),
  pullPolicy: string(2).oneOf("Always", "IfNotPresent", "Never"),
});
export interface ImageVolumeSource extends Infer<typeof ImageVolumeSource> {}

export const PersistentVolumeClaimVolumeSource = struct("core/v1.PersistentVolumeClaimVolumeSource", {
  claimName: string(1).required(),
  readOnly: bool(2),
});
export interface PersistentVolumeClaimVolumeSource extends Infer<typeof PersistentVolumeClaimVolumeSource> {}

export const PodCertificateProjection = struct("core/v1.PodCertificateProjection", {
  signerName: string(1).required().omitEmpty(),
  keyType: string(2).required().omitEmpty(),
  maxExpirationSeconds: int32(3).pointer(),
  credentialBundlePath: string(4),
  keyPath: string(5),
  certificateChainPath: string(6),
  userAnnotations: map(7, "string"),
});
export interface PodCertificateProjection extends Infer<typeof PodCertificateProjection> {}

export const SecretProjection = struct("core/v1.SecretProjection", {
  ...inline(1, LocalObjectReference),
  items: list(2, KeyToPath),
  optional: bool(4).pointer(),
});
export interface SecretProjection extends Infer<typeof SecretProjection> {}

export const ServiceAccountTokenProjection = struct("core/v1.ServiceAccountTokenProjection", {
  audience: string(1),
  expirationSeconds: int64(2).pointer().default(3600),
  path: string(3).required(),
});
export interface ServiceAccountTokenProjection extends Infer<typeof ServiceAccountTokenProjection> {}

export const VolumeProjection = struct("core/v1.VolumeProjection", {
  secret: ref(1, SecretProjection),
  downwardAPI: ref(2, DownwardAPIProjection),
  configMap: ref(3, ConfigMapProjection),
  serviceAccountToken: ref(4, ServiceAccountTokenProjection),
  clusterTrustBundle: ref(5, ClusterTrustBundleProjection).off("ClusterTrustBundleProjection"),
  podCertificate: ref(6, PodCertificateProjection),
});
export interface VolumeProjection extends Infer<typeof VolumeProjection> {}

export const ProjectedVolumeSource = struct("core/v1.ProjectedVolumeSource", {
  sources: list(1, VolumeProjection).always(),
  defaultMode: int32(2).pointer().default(420),
});
export interface ProjectedVolumeSource extends Infer<typeof ProjectedVolumeSource> {}

export const SecretVolumeSource = struct("core/v1.SecretVolumeSource", {
  secretName: string(1),
  items: list(2, KeyToPath),
  defaultMode: int32(3).pointer().default(420),
  optional: bool(4).pointer(),
});
export interface SecretVolumeSource extends Infer<typeof SecretVolumeSource> {}

export const VolumeSource = struct("core/v1.VolumeSource", {
  hostPath: ref(1, HostPathVolumeSource),
  emptyDir: ref(2, EmptyDirVolumeSource),
  gcePersistentDisk: ref(3, GCEPersistentDiskVolumeSource),
  awsElasticBlockStore: ref(4, AWSElasticBlockStoreVolumeSource),
  gitRepo: ref(5, GitRepoVolumeSource),
  secret: ref(6, SecretVolumeSource),
  nfs: ref(7, NFSVolumeSource),
  iscsi: ref(8, ISCSIVolumeSource),
  glusterfs: ref(9, GlusterfsVolumeSource),
  persistentVolumeClaim: ref(10, PersistentVolumeClaimVolumeSource),
  rbd: ref(11, RBDVolumeSource),
  flexVolume: ref(12, FlexVolumeSource),
  cinder: ref(13, CinderVolumeSource),
  cephfs: ref(14, CephFSVolumeSource),
  flocker: ref(15, FlockerVolumeSource),
  downwardAPI: ref(16, DownwardAPIVolumeSource),
  fc: ref(17, FCVolumeSource),
  azureFile: ref(18, AzureFileVolumeSource),
  configMap: ref(19, ConfigMapVolumeSource),
  vsphereVolume: ref(20, VsphereVirtualDiskVolumeSource),
  quobyte: ref(21, QuobyteVolumeSource),
  azureDisk: ref(22, AzureDiskVolumeSource),
  photonPersistentDisk: ref(23, PhotonPersistentDiskVolumeSource),
  projected: ref(26, ProjectedVolumeSource),
  portworxVolume: ref(24, PortworxVolumeSource),
  scaleIO: ref(25, ScaleIOVolumeSource),
  storageos: ref(27, StorageOSVolumeSource),
  csi: ref(28, CSIVolumeSource),
  ephemeral: ref(29, EphemeralVolumeSource),
  image: ref(30, ImageVolumeSource),
});
export interface VolumeSource extends Infer<typeof VolumeSource> {}

export const Volume = struct("core/v1.Volume", {
  name: string(1).required(),
  ...inline(2, VolumeSource),
});
export interface Volume extends Infer<typeof Volume> {}
