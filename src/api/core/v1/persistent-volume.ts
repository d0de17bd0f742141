import { bool, type Infer, inline, list, map, ref, resource, string, struct, time } from "#schema/index.ts";
import { NodeSelector } from "./affinity.ts";
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  AzureFilePersistentVolumeSource,
  CephFSPersistentVolumeSource,
  CinderPersistentVolumeSource,
  FCVolumeSource,
  FlexPersistentVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  GlusterfsPersistentVolumeSource,
  ISCSIPersistentVolumeSource,
  NFSVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  RBDPersistentVolumeSource,
  ScaleIOPersistentVolumeSource,
  StorageOSPersistentVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from "./network-volumes.ts";
import { ObjectReference, SecretReference } from "./references.ts";
import { HostPathVolumeSource } from "./volume.ts";

export const CSIPersistentVolumeSource = struct("core/v1.CSIPersistentVolumeSource", {
  driver: string(1).required(),
  volumeHandle: string(2).required(),
  readOnly: bool(3),
  fsType: string(4),
  volumeAttributes: map(5, "string"),
  controllerPublishSecretRef: ref(6, SecretReference),
  nodeStageSecretRef: ref(7, SecretReference),
  nodePublishSecretRef: ref(8, SecretReference),
  controllerExpandSecretRef: ref(9, SecretReference),
  nodeExpandSecretRef: ref(10, SecretReference),
});
export interface CSIPersistentVolumeSource extends Infer<typeof CSIPersistentVolumeSource> {}

export const LocalVolumeSource = struct("core/v1.LocalVolumeSource", {
  path: string(1).required(),
  fsType: string(2).pointer(),
});
export interface LocalVolumeSource extends Infer<typeof LocalVolumeSource> {}

export const PersistentVolumeSource = struct("core/v1.PersistentVolumeSource", {
  gcePersistentDisk: ref(1, GCEPersistentDiskVolumeSource),
  awsElasticBlockStore: ref(2, AWSElasticBlockStoreVolumeSource),
  hostPath: ref(3, HostPathVolumeSource),
  glusterfs: ref(4, GlusterfsPersistentVolumeSource),
  nfs: ref(5, NFSVolumeSource),
  rbd: ref(6, RBDPersistentVolumeSource),
  iscsi: ref(7, ISCSIPersistentVolumeSource),
  cinder: ref(8, CinderPersistentVolumeSource),
  cephfs: ref(9, CephFSPersistentVolumeSource),
  fc: ref(10, FCVolumeSource),
  flocker: ref(11, FlockerVolumeSource),
  flexVolume: ref(12, FlexPersistentVolumeSource),
  azureFile: ref(13, AzureFilePersistentVolumeSource),
  vsphereVolume: ref(14, VsphereVirtualDiskVolumeSource),
  quobyte: ref(15, QuobyteVolumeSource),
  azureDisk: ref(16, AzureDiskVolumeSource),
  photonPersistentDisk: ref(17, PhotonPersistentDiskVolumeSource),
  portworxVolume: ref(18, PortworxVolumeSource),
  scaleIO: ref(19, ScaleIOPersistentVolumeSource),
  local: ref(20, LocalVolumeSource),
  storageos: ref(21, StorageOSPersistentVolumeSource),
  csi: ref(22, CSIPersistentVolumeSource),
});
export interface PersistentVolumeSource extends Infer<typeof PersistentVolumeSource> {}

export const VolumeNodeAffinity = struct("core/v1.VolumeNodeAffinity", {
  required: ref(1, NodeSelector),
});
export interface VolumeNodeAffinity extends Infer<typeof VolumeNodeAffinity> {}

export const PersistentVolumeSpec = struct("core/v1.PersistentVolumeSpec", {
  capacity: map(1, "quantity"),
  ...inline(2, PersistentVolumeSource),
  accessModes: list(3, "string").oneOf("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"),
  claimRef: ref(4, ObjectReference).granular(),
  persistentVolumeReclaimPolicy: string(5).oneOf("Delete", "Recycle", "Retain").default("Retain"),
  storageClassName: string(6),
  mountOptions: list(7, "string"),
  volumeMode: string(8).oneOf("Block", "Filesystem").pointer().default("Filesystem"),
  nodeAffinity: ref(9, VolumeNodeAffinity),
  volumeAttributesClassName: string(10).pointer(),
});
export interface PersistentVolumeSpec extends Infer<typeof PersistentVolumeSpec> {}

export const PersistentVolumeStatus = struct("core/v1.PersistentVolumeStatus", {
  phase: string(1).oneOf("Available", "Bound", "Failed", "Pending", "Released").default("Pending"),
  message: string(2),
  reason: string(3),
  lastPhaseTransitionTime: time(4).pointer(),
});
export interface PersistentVolumeStatus extends Infer<typeof PersistentVolumeStatus> {}

export const PersistentVolume = resource({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  returnsDeleted: true,
  shortNames: ["pv"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, PersistentVolumeSpec).default({}),
    status: ref(3, PersistentVolumeStatus).default({}),
  },
  subresources: { status: true },
});
export interface PersistentVolume extends Infer<typeof PersistentVolume> {}
