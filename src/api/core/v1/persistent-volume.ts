import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import {
  bool,
  type Infer,
  inline,
  list,
  map,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { validateObject } from "#schema/validate.ts";
import { NodeSelector } from "./affinity.ts";
import { noBacksteps } from "./checks/paths.ts";
import {
  checkCsiVolume,
  checkMountOptions,
  checkPersistentVolume,
  checkVolumeUpdate,
} from "./checks/persistent-volume.ts";
import { under } from "./checks/problems.ts";
import { accessModes, storageClassOf } from "./columns/storage.ts";
import { roundUpAmounts } from "./defaults.ts";
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

export const CSIPersistentVolumeSource = struct(
  "core/v1.CSIPersistentVolumeSource",
  {
    driver: string(1, "Name of the driver.").required(),
    volumeHandle: string(2, "Id of the volume, as the driver knows it.").required(),
    readOnly: bool(3, "Whether it is mounted read-only."),
    fsType: string(4, "File system of the volume, such as ext4."),
    volumeAttributes: map(5, "string", "What the driver needs to know."),
    controllerPublishSecretRef: ref(6, SecretReference, "Secret for attaching and detaching."),
    nodeStageSecretRef: ref(7, SecretReference, "Secret for staging on a node."),
    nodePublishSecretRef: ref(8, SecretReference, "Secret for mounting."),
    controllerExpandSecretRef: ref(9, SecretReference, "Secret for growing the volume."),
    nodeExpandSecretRef: ref(10, SecretReference, "Secret for growing the file system on a node."),
  },
  { doc: "A volume of a CSI driver.", check: (source): Iterable<Problem> => checkCsiVolume(source) },
);
export interface CSIPersistentVolumeSource extends Infer<typeof CSIPersistentVolumeSource> {}

export const LocalVolumeSource = struct(
  "core/v1.LocalVolumeSource",
  {
    path: string(1, "Path on the node.").required().nonEmpty(),
    fsType: string(2, "File system to make if it is a disk without one.").pointer(),
  },
  { doc: "A disk or folder of one node.", check: ({ path }): Iterable<Problem> => noBacksteps("path", path) },
);
export interface LocalVolumeSource extends Infer<typeof LocalVolumeSource> {}

export const PersistentVolumeSource = struct(
  "core/v1.PersistentVolumeSource",
  {
    gcePersistentDisk: ref(1, GCEPersistentDiskVolumeSource, "A Google Compute Engine disk."),
    awsElasticBlockStore: ref(2, AWSElasticBlockStoreVolumeSource, "An EBS disk."),
    hostPath: ref(3, HostPathVolumeSource, "A folder of the node, for tests on one node."),
    glusterfs: ref(4, GlusterfsPersistentVolumeSource, "A GlusterFS volume."),
    nfs: ref(5, NFSVolumeSource, "A folder exported over NFS."),
    rbd: ref(6, RBDPersistentVolumeSource, "A Rados block device."),
    iscsi: ref(7, ISCSIPersistentVolumeSource, "An iSCSI disk."),
    cinder: ref(8, CinderPersistentVolumeSource, "An OpenStack Cinder disk."),
    cephfs: ref(9, CephFSPersistentVolumeSource, "A Ceph file system."),
    fc: ref(10, FCVolumeSource, "A Fibre Channel disk."),
    flocker: ref(11, FlockerVolumeSource, "A Flocker dataset."),
    flexVolume: ref(12, FlexPersistentVolumeSource, "A volume made by a FlexVolume driver."),
    azureFile: ref(13, AzureFilePersistentVolumeSource, "An Azure file share."),
    vsphereVolume: ref(14, VsphereVirtualDiskVolumeSource, "A vSphere disk."),
    quobyte: ref(15, QuobyteVolumeSource, "A Quobyte volume."),
    azureDisk: ref(16, AzureDiskVolumeSource, "An Azure data disk."),
    photonPersistentDisk: ref(17, PhotonPersistentDiskVolumeSource, "A Photon Controller disk."),
    portworxVolume: ref(18, PortworxVolumeSource, "A Portworx volume."),
    scaleIO: ref(19, ScaleIOPersistentVolumeSource, "A ScaleIO volume."),
    local: ref(20, LocalVolumeSource, "A disk or folder of one node."),
    storageos: ref(21, StorageOSPersistentVolumeSource, "A StorageOS volume."),
    csi: ref(22, CSIPersistentVolumeSource, "A volume of a CSI driver."),
  },
  { doc: "Where the storage is; exactly one of these." },
);
export interface PersistentVolumeSource extends Infer<typeof PersistentVolumeSource> {}

export const VolumeNodeAffinity = struct(
  "core/v1.VolumeNodeAffinity",
  {
    required: ref(1, NodeSelector, "The nodes."),
  },
  {
    doc: "From which nodes a volume can be reached.",
    *check({ required: nodes }): Iterable<Problem> {
      if (!nodes) yield required("required", "must specify required node constraints");
    },
  },
);
export interface VolumeNodeAffinity extends Infer<typeof VolumeNodeAffinity> {}

export const PersistentVolumeSpec = struct(
  "core/v1.PersistentVolumeSpec",
  {
    capacity: map(1, "quantity", "Its size."),
    ...inline(2, PersistentVolumeSource),
    accessModes: list(3, "string", "Ways it can be used.").known(
      "ReadOnlyMany",
      "ReadWriteMany",
      "ReadWriteOnce",
      "ReadWriteOncePod",
    ),
    claimRef: ref(4, ObjectReference, "The claim that has got it.").granular(),
    persistentVolumeReclaimPolicy: string(5, "What becomes of it when its claim is gone.")
      .oneOf("Delete", "Recycle", "Retain")
      .default("Retain"),
    storageClassName: string(6, "Class of the storage; empty means it has none.").is(dns1123Subdomain),
    mountOptions: list(7, "string", "Options to mount it with; not checked."),
    volumeMode: string(8, "Whether it is used as files or as a block device.")
      .oneOf("Block", "Filesystem")
      .pointer()
      .default("Filesystem"),
    nodeAffinity: ref(9, VolumeNodeAffinity, "From which nodes it can be reached."),
    volumeAttributesClassName: string(10, "Class of attributes that may change while it is used.").pointer(),
  },
  {
    doc: "What a volume is made of.",
    complete(spec): void {
      roundUpAmounts(spec.capacity);
    },
  },
);
export interface PersistentVolumeSpec extends Infer<typeof PersistentVolumeSpec> {}

export const PersistentVolumeStatus = struct(
  "core/v1.PersistentVolumeStatus",
  {
    phase: string(1, "Whether a claim has got it.")
      .known("Available", "Bound", "Failed", "Pending", "Released")
      .default("Pending"),
    message: string(2, "Why it is in this state, in words."),
    reason: string(3, "Why it is in this state, in one CamelCase word."),
    lastPhaseTransitionTime: time(4, "When the phase last changed.").pointer(),
  },
  { doc: "What has become of a volume." },
);
export interface PersistentVolumeStatus extends Infer<typeof PersistentVolumeStatus> {}

export const PersistentVolume = resource({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  returnsDeleted: true,
  shortNames: ["pv"],
  scope: "Cluster",
  doc: "A piece of storage in the cluster, made by hand or by a provisioner, that a claim can get.",
  fields: {
    spec: ref(2, PersistentVolumeSpec, "What the volume is made of.").default({}),
    status: ref(3, PersistentVolumeStatus, "What has become of it.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    { name: "Capacity", doc: "Its size.", cell: ({ spec }) => spec.capacity?.storage ?? "0" },
    { name: "Access Modes", doc: "Ways it can be used.", cell: ({ spec }) => accessModes(spec.accessModes) },
    {
      name: "Reclaim Policy",
      doc: "What becomes of it when its claim is gone.",
      cell: ({ spec }) => spec.persistentVolumeReclaimPolicy,
    },
    {
      name: "Status",
      doc: "Whether a claim has got it.",
      cell: ({ metadata, status }) => (metadata.deletionTimestamp ? "Terminating" : status.phase),
    },
    {
      name: "Claim",
      doc: "The claim that has got it.",
      cell: ({ spec: { claimRef } }) => (claimRef ? `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}` : ""),
    },
    {
      name: "StorageClass",
      doc: "Class of the storage.",
      cell: ({ metadata, spec }) => storageClassOf(metadata, spec),
    },
    {
      name: "VolumeAttributesClass",
      doc: "Class of attributes that may change.",
      cell: ({ spec }) => spec.volumeAttributesClassName ?? "<unset>",
    },
    { name: "Reason", doc: "Why it is in this state.", cell: ({ status }) => status.reason ?? "" },
    ageColumn,
    { name: "VolumeMode", wide: true, doc: "Files or block device.", cell: ({ spec }) => spec.volumeMode },
  ],
  *check(volume, old): Iterable<Problem> {
    yield* checkPersistentVolume(volume);
    yield* checkMountOptions(volume);
    if (!old) return;
    // Upstream checks the volume once more, so that answers name each of its problems twice.
    yield* under("spec", validateObject(PersistentVolumeSpec, volume.spec));
    yield* checkPersistentVolume(volume);
    yield* checkVolumeUpdate(volume, old);
  },
});
export interface PersistentVolume extends Infer<typeof PersistentVolume> {}
