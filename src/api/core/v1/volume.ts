import { dns1123Label } from "#schema/formats.ts";
import {
  bool,
  type Infer,
  inline,
  int32,
  int64,
  list,
  map,
  type Problem,
  quantity,
  ref,
  string,
  struct,
} from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { fileMode, noBacksteps } from "./checks/paths.ts";
import { checkProjection } from "./checks/projection.ts";
import {
  checkClaimTemplate,
  checkCsiSource,
  checkDownwardApi,
  checkEmptyDir,
  checkFileSource,
  checkKeyToPath,
  checkVolume,
} from "./checks/volumes.ts";
import { pullPolicyFor } from "./defaults.ts";
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

export const CSIVolumeSource = struct(
  "core/v1.CSIVolumeSource",
  {
    driver: string(1, "Name of the driver.").required(),
    readOnly: bool(2, "Whether it is mounted read-only.").pointer(),
    fsType: string(3, "File system to make; the driver's choice when left out.").pointer(),
    volumeAttributes: map(4, "string", "What the driver needs to know."),
    nodePublishSecretRef: ref(5, LocalObjectReference, "Secret to give to the driver."),
  },
  {
    doc: "A volume that a driver makes for this pod alone.",
    check: (source): Iterable<Problem> => checkCsiSource(source),
  },
);
export interface CSIVolumeSource extends Infer<typeof CSIVolumeSource> {}

export const ClusterTrustBundleProjection = struct(
  "core/v1.ClusterTrustBundleProjection",
  {
    name: string(1, "Name of one bundle.").pointer(),
    signerName: string(2, "All bundles of this signer; in place of name.").pointer(),
    labelSelector: ref(3, LabelSelector, "Which bundles of the signer."),
    optional: bool(5, "Whether the bundles may be missing.").pointer(),
    path: string(4, "File to write, relative to the volume.").required(),
  },
  { doc: "Certificates to trust, in one file." },
);
export interface ClusterTrustBundleProjection extends Infer<typeof ClusterTrustBundleProjection> {}

export const KeyToPath = struct(
  "core/v1.KeyToPath",
  {
    key: string(1, "The key to write.").required().nonEmpty(),
    path: string(2, "File to write it to, relative to the volume.").required().nonEmpty(),
    mode: int32(3, "Permissions of the file; those of the volume when left out.").pointer(),
  },
  { doc: "A key, and the file it goes to.", check: (item): Iterable<Problem> => checkKeyToPath(item) },
);
export interface KeyToPath extends Infer<typeof KeyToPath> {}

export const ConfigMapProjection = struct(
  "core/v1.ConfigMapProjection",
  {
    ...inline(1, LocalObjectReference),
    items: list(2, KeyToPath, "Keys to write; all when left out."),
    optional: bool(4, "Whether the config map or its keys may be missing.").pointer(),
  },
  { doc: "Keys of a config map as files." },
);
export interface ConfigMapProjection extends Infer<typeof ConfigMapProjection> {}

export const ConfigMapVolumeSource = struct(
  "core/v1.ConfigMapVolumeSource",
  {
    ...inline(1, LocalObjectReference),
    items: list(2, KeyToPath, "Keys to write; all when left out."),
    defaultMode: int32(3, "Permissions of the files.").pointer().default(0o644),
    optional: bool(4, "Whether the config map or its keys may be missing.").pointer(),
  },
  {
    doc: "A config map as a folder with a file for each key.",
    check: ({ name, defaultMode }): Iterable<Problem> => checkFileSource("name", name, defaultMode),
  },
);
export interface ConfigMapVolumeSource extends Infer<typeof ConfigMapVolumeSource> {}

export const DownwardAPIVolumeFile = struct(
  "core/v1.DownwardAPIVolumeFile",
  {
    path: string(1, "File to write, relative to the volume.").required(),
    fieldRef: ref(2, ObjectFieldSelector, "A field of the pod: name, namespace, uid, labels or annotations."),
    resourceFieldRef: ref(3, ResourceFieldSelector, "A limit or request of a container."),
    mode: int32(4, "Permissions of the file; those of the volume when left out.").pointer(),
  },
  { doc: "A field of the pod, and the file it goes to." },
);
export interface DownwardAPIVolumeFile extends Infer<typeof DownwardAPIVolumeFile> {}

export const DownwardAPIProjection = struct(
  "core/v1.DownwardAPIProjection",
  {
    items: list(1, DownwardAPIVolumeFile, "Files to write."),
  },
  { doc: "Fields of the pod as files." },
);
export interface DownwardAPIProjection extends Infer<typeof DownwardAPIProjection> {}

export const DownwardAPIVolumeSource = struct(
  "core/v1.DownwardAPIVolumeSource",
  {
    items: list(1, DownwardAPIVolumeFile, "Files to write."),
    defaultMode: int32(2, "Permissions of the files.").pointer().default(0o644),
  },
  {
    doc: "Fields of the pod as files.",
    check: (source): Iterable<Problem> => checkDownwardApi(source),
  },
);
export interface DownwardAPIVolumeSource extends Infer<typeof DownwardAPIVolumeSource> {}

export const EmptyDirVolumeSource = struct(
  "core/v1.EmptyDirVolumeSource",
  {
    medium: string(1, "Where it is kept: the node's disk when empty, or Memory."),
    sizeLimit: quantity(2, "The most it may hold.").pointer(),
  },
  {
    doc: "An empty folder that lives as long as the pod.",
    check: (source): Iterable<Problem> => checkEmptyDir(source),
  },
);
export interface EmptyDirVolumeSource extends Infer<typeof EmptyDirVolumeSource> {}

export const PersistentVolumeClaimTemplate = struct(
  "core/v1.PersistentVolumeClaimTemplate",
  {
    metadata: ref(1, ObjectMeta, "Labels and annotations of the claim.").default({}),
    spec: ref(2, PersistentVolumeClaimSpec, "What the claim asks for.").required(),
  },
  {
    doc: "The claim that is made for a pod.",
    check: (template): Iterable<Problem> => checkClaimTemplate(template),
  },
);
export interface PersistentVolumeClaimTemplate extends Infer<typeof PersistentVolumeClaimTemplate> {}

export const EphemeralVolumeSource = struct(
  "core/v1.EphemeralVolumeSource",
  {
    volumeClaimTemplate: ref(1, PersistentVolumeClaimTemplate, "The claim to make; it goes with the pod.").nonEmpty(),
  },
  { doc: "A claim made for this pod alone, named after pod and volume." },
);
export interface EphemeralVolumeSource extends Infer<typeof EphemeralVolumeSource> {}

export const HostPathVolumeSource = struct(
  "core/v1.HostPathVolumeSource",
  {
    path: string(1, "Path on the node.").required().nonEmpty(),
    type: string(2, "What must be there, or is made; nothing is checked when empty.")
      .oneOf("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
      .pointer()
      .default(""),
  },
  {
    doc: "A file or folder of the node.",
    problemOrder: "path type",
    check: ({ path }): Iterable<Problem> => noBacksteps("path", path),
  },
);
export interface HostPathVolumeSource extends Infer<typeof HostPathVolumeSource> {}

export const ImageVolumeSource = struct(
  "core/v1.ImageVolumeSource",
  {
    reference: string(1, "The image, named as for containers."),
    pullPolicy: string(2, "When to pull it; Always if its tag is latest, else IfNotPresent.").oneOf(
      "Always",
      "IfNotPresent",
      "Never",
    ),
  },
  {
    doc: "The files of an image, read-only.",
    complete(source): void {
      source.pullPolicy ||= pullPolicyFor(source.reference ?? "");
    },
  },
);
export interface ImageVolumeSource extends Infer<typeof ImageVolumeSource> {}

export const PersistentVolumeClaimVolumeSource = struct(
  "core/v1.PersistentVolumeClaimVolumeSource",
  {
    claimName: string(1, "Name of a claim in the pod's namespace.").required().nonEmpty(),
    readOnly: bool(2, "Whether all mounts of it are read-only."),
  },
  { doc: "Storage that a claim has got." },
);
export interface PersistentVolumeClaimVolumeSource extends Infer<typeof PersistentVolumeClaimVolumeSource> {}

export const PodCertificateProjection = struct(
  "core/v1.PodCertificateProjection",
  {
    signerName: string(1, "The signer to ask.").required().omitEmpty(),
    keyType: string(2, "Kind of the key to make, such as ED25519.").required().omitEmpty(),
    maxExpirationSeconds: int32(3, "The longest the certificate may live.").pointer(),
    credentialBundlePath: string(4, "File for key and certificates together."),
    keyPath: string(5, "File for the key."),
    certificateChainPath: string(6, "File for the certificates."),
    userAnnotations: map(7, "string", "What the signer may want to know."),
  },
  { doc: "A key and a certificate for the pod, renewed in time." },
);
export interface PodCertificateProjection extends Infer<typeof PodCertificateProjection> {}

export const SecretProjection = struct(
  "core/v1.SecretProjection",
  {
    ...inline(1, LocalObjectReference),
    items: list(2, KeyToPath, "Keys to write; all when left out."),
    optional: bool(4, "Whether the secret or its keys may be missing.").pointer(),
  },
  { doc: "Keys of a secret as files." },
);
export interface SecretProjection extends Infer<typeof SecretProjection> {}

export const ServiceAccountTokenProjection = struct(
  "core/v1.ServiceAccountTokenProjection",
  {
    audience: string(1, "For whom the token is meant; the API server when left out."),
    expirationSeconds: int64(2, "How long a token is valid; it is renewed in time.").pointer().default(3600),
    path: string(3, "File to write, relative to the volume.").required(),
  },
  { doc: "A token of the pod's service account, in a file." },
);
export interface ServiceAccountTokenProjection extends Infer<typeof ServiceAccountTokenProjection> {}

export const VolumeProjection = struct(
  "core/v1.VolumeProjection",
  {
    secret: ref(1, SecretProjection, "Keys of a secret."),
    downwardAPI: ref(2, DownwardAPIProjection, "Fields of the pod."),
    configMap: ref(3, ConfigMapProjection, "Keys of a config map."),
    serviceAccountToken: ref(4, ServiceAccountTokenProjection, "A token of the pod's service account."),
    clusterTrustBundle: ref(5, ClusterTrustBundleProjection, "Certificates to trust.").off(
      "ClusterTrustBundleProjection",
    ),
    podCertificate: ref(6, PodCertificateProjection, "A key and a certificate for the pod."),
  },
  { doc: "One thing to put into the folder; exactly one of these." },
);
export interface VolumeProjection extends Infer<typeof VolumeProjection> {}

export const ProjectedVolumeSource = struct(
  "core/v1.ProjectedVolumeSource",
  {
    sources: list(1, VolumeProjection, "What goes into the folder.").always(),
    defaultMode: int32(2, "Permissions of the files.").pointer().default(0o644),
  },
  {
    doc: "Several sources in one folder.",
    *check(source): Iterable<Problem> {
      yield* fileMode("defaultMode", source.defaultMode);
      yield* checkProjection(source);
    },
  },
);
export interface ProjectedVolumeSource extends Infer<typeof ProjectedVolumeSource> {}

export const SecretVolumeSource = struct(
  "core/v1.SecretVolumeSource",
  {
    secretName: string(1, "Name of the secret."),
    items: list(2, KeyToPath, "Keys to write; all when left out."),
    defaultMode: int32(3, "Permissions of the files.").pointer().default(0o644),
    optional: bool(4, "Whether the secret or its keys may be missing.").pointer(),
  },
  {
    doc: "A secret as a folder with a file for each key.",
    check: ({ secretName, defaultMode }): Iterable<Problem> => checkFileSource("secretName", secretName, defaultMode),
  },
);
export interface SecretVolumeSource extends Infer<typeof SecretVolumeSource> {}

export const VolumeSource = struct(
  "core/v1.VolumeSource",
  {
    hostPath: ref(1, HostPathVolumeSource, "A file or folder of the node."),
    emptyDir: ref(2, EmptyDirVolumeSource, "An empty folder that lives as long as the pod."),
    gcePersistentDisk: ref(3, GCEPersistentDiskVolumeSource, "A Google Compute Engine disk."),
    awsElasticBlockStore: ref(4, AWSElasticBlockStoreVolumeSource, "An EBS disk."),
    gitRepo: ref(5, GitRepoVolumeSource, "A clone of a git repository."),
    secret: ref(6, SecretVolumeSource, "Keys of a secret as files."),
    nfs: ref(7, NFSVolumeSource, "A folder exported over NFS."),
    iscsi: ref(8, ISCSIVolumeSource, "An iSCSI disk."),
    glusterfs: ref(9, GlusterfsVolumeSource, "A GlusterFS volume."),
    persistentVolumeClaim: ref(10, PersistentVolumeClaimVolumeSource, "Storage that a claim has got."),
    rbd: ref(11, RBDVolumeSource, "A Rados block device."),
    flexVolume: ref(12, FlexVolumeSource, "A volume made by a FlexVolume driver."),
    cinder: ref(13, CinderVolumeSource, "An OpenStack Cinder disk."),
    cephfs: ref(14, CephFSVolumeSource, "A Ceph file system."),
    flocker: ref(15, FlockerVolumeSource, "A Flocker dataset."),
    downwardAPI: ref(16, DownwardAPIVolumeSource, "Fields of the pod as files."),
    fc: ref(17, FCVolumeSource, "A Fibre Channel disk."),
    azureFile: ref(18, AzureFileVolumeSource, "An Azure file share."),
    configMap: ref(19, ConfigMapVolumeSource, "Keys of a config map as files."),
    vsphereVolume: ref(20, VsphereVirtualDiskVolumeSource, "A vSphere disk."),
    quobyte: ref(21, QuobyteVolumeSource, "A Quobyte volume."),
    azureDisk: ref(22, AzureDiskVolumeSource, "An Azure data disk."),
    photonPersistentDisk: ref(23, PhotonPersistentDiskVolumeSource, "A Photon Controller disk."),
    projected: ref(26, ProjectedVolumeSource, "Several sources in one folder."),
    portworxVolume: ref(24, PortworxVolumeSource, "A Portworx volume."),
    scaleIO: ref(25, ScaleIOVolumeSource, "A ScaleIO volume."),
    storageos: ref(27, StorageOSVolumeSource, "A StorageOS volume."),
    csi: ref(28, CSIVolumeSource, "A volume that a CSI driver makes for this pod."),
    ephemeral: ref(29, EphemeralVolumeSource, "A claim made for this pod alone."),
    image: ref(30, ImageVolumeSource, "The files of an image, read-only."),
  },
  { doc: "Where a volume comes from; exactly one of these." },
);
export interface VolumeSource extends Infer<typeof VolumeSource> {}

const volumeSources: ReadonlySet<string> = new Set(Object.keys(VolumeSource.fields));

export const Volume = struct(
  "core/v1.Volume",
  {
    name: string(1, "Name that mounts refer to, unique in the pod.").required().nonEmpty().is(dns1123Label),
    ...inline(2, VolumeSource),
  },
  {
    doc: "Storage for the containers of a pod.",
    problemOrder: "* name",
    complete(volume): void {
      if (!Object.keys(volume).some((field) => volumeSources.has(field))) volume.emptyDir = {};
    },
    check: (volume): Iterable<Problem> => checkVolume(volume),
  },
);
export interface Volume extends Infer<typeof Volume> {}
