// Volumes of a pod, or of a template of pods: what kind each is, and the fields that matter for it.

import { compareAmounts } from "#api/core/v1/amounts.ts";
import type { Volume, VolumeProjection } from "#api/core/v1/volume.ts";
import { isObject } from "#base/is-object.ts";
import { sprint } from "../go/format.ts";
import type { GoValue } from "../go/value.ts";
import type { KubeObject } from "../rest/client.ts";
import { writeClaim } from "./claims.ts";
import { shortened, sortedEntries } from "./common.ts";
import { DescriptionWriter } from "./description-writer.ts";

/** What stands before the value, the field, and what is shown if it is missing. */
type ShownField = readonly [label: string, field: string, missing?: unknown];
type ShownSource = readonly [type: string, ...fields: readonly ShownField[]];

const fsType: ShownField = ["FSType:", "fsType"];
const readOnly: ShownField = ["ReadOnly:", "readOnly", false];
const secretRef: ShownField = ["SecretRef:", "secretRef", "nil"];
const optional: ShownField = ["Optional:", "optional", false];

/** In the order in which upstream looks for them. */
const sources: Readonly<Record<string, ShownSource>> = {
  hostPath: ["HostPath (bare host directory volume)", ["Path:", "path"], ["HostPathType:", "type", "<none>"]],
  emptyDir: [
    "EmptyDir (a temporary directory that shares a pod's lifetime)",
    ["Medium:", "medium"],
    ["SizeLimit:", "sizeLimit", "<unset>"],
  ],
  gcePersistentDisk: [
    "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
    ["PDName:", "pdName"],
    fsType,
    ["Partition:", "partition", 0],
    readOnly,
  ],
  awsElasticBlockStore: [
    "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
    ["VolumeID:", "volumeID"],
    fsType,
    ["Partition:", "partition", 0],
    readOnly,
  ],
  gitRepo: [
    "GitRepo (a volume that is pulled from git when the pod is created)",
    ["Repository:", "repository"],
    ["Revision:", "revision"],
  ],
  secret: ["Secret (a volume populated by a Secret)", ["SecretName:", "secretName"], optional],
  configMap: ["ConfigMap (a volume populated by a ConfigMap)", ["Name:", "name"], optional],
  nfs: ["NFS (an NFS mount that lasts the lifetime of a pod)", ["Server:", "server"], ["Path:", "path"], readOnly],
  iscsi: [
    "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
    ["TargetPortal:", "targetPortal"],
    ["IQN:", "iqn"],
    ["Lun:", "lun", 0],
    ["ISCSIInterface", "iscsiInterface"],
    fsType,
    readOnly,
    ["Portals:", "portals", []],
    ["DiscoveryCHAPAuth:", "chapAuthDiscovery", false],
    ["SessionCHAPAuth:", "chapAuthSession", false],
    secretRef,
    ["InitiatorName:", "initiatorName", "<none>"],
  ],
  glusterfs: [
    "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
    ["EndpointsName:", "endpoints"],
    ["Path:", "path"],
    readOnly,
  ],
  persistentVolumeClaim: [
    "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
    ["ClaimName:", "claimName"],
    readOnly,
  ],
  ephemeral: ["EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)"],
  rbd: [
    "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
    ["CephMonitors:", "monitors", []],
    ["RBDImage:", "image"],
    fsType,
    ["RBDPool:", "pool"],
    ["RadosUser:", "user"],
    ["Keyring:", "keyring"],
    secretRef,
    readOnly,
  ],
  quobyte: [
    "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)",
    ["Registry:", "registry"],
    ["Volume:", "volume"],
    readOnly,
  ],
  downwardAPI: ["DownwardAPI (a volume populated by information about the pod)"],
  azureDisk: [
    "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
    ["DiskName:", "diskName"],
    ["DiskURI:", "diskURI"],
    ["Kind: ", "kind"],
    fsType,
    ["CachingMode:", "cachingMode"],
    readOnly,
  ],
  vsphereVolume: [
    "vSphereVolume (a Persistent Disk resource in vSphere)",
    ["VolumePath:", "volumePath"],
    fsType,
    ["StoragePolicyName:", "storagePolicyName"],
  ],
  cinder: ["Cinder (a Persistent Disk resource in OpenStack)", ["VolumeID:", "volumeID"], fsType, readOnly, secretRef],
  photonPersistentDisk: [
    "PhotonPersistentDisk (a Persistent Disk resource in photon platform)",
    ["PdID:", "pdID"],
    fsType,
  ],
  portworxVolume: ["PortworxVolume (a Portworx Volume resource)", ["VolumeID:", "volumeID"]],
  scaleIO: [
    "ScaleIO (a persistent volume backed by a block device in ScaleIO)",
    ["Gateway:", "gateway"],
    ["System:", "system"],
    ["Protection Domain:", "protectionDomain"],
    ["Storage Pool:", "storagePool"],
    ["Storage Mode:", "storageMode"],
    ["VolumeName:", "volumeName"],
    fsType,
    readOnly,
  ],
  cephfs: [
    "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
    ["Monitors:", "monitors", []],
    ["Path:", "path"],
    ["User:", "user"],
    ["SecretFile:", "secretFile"],
    secretRef,
    readOnly,
  ],
  storageos: [
    "StorageOS (a StorageOS Persistent Disk resource)",
    ["VolumeName:", "volumeName"],
    ["VolumeNamespace:", "volumeNamespace"],
    fsType,
    readOnly,
  ],
  fc: ["FC (a Fibre Channel disk)", ["TargetWWNs:", "targetWWNs"], ["LUN:", "lun", "<none>"], fsType, readOnly],
  azureFile: [
    "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
    ["SecretName:", "secretName"],
    ["ShareName:", "shareName"],
    readOnly,
  ],
  flexVolume: [
    "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
    ["Driver:", "driver"],
    fsType,
    secretRef,
    readOnly,
    ["Options:", "options", {}],
  ],
  flocker: [
    "Flocker (a Flocker volume mounted by the Flocker agent)",
    ["DatasetName:", "datasetName"],
    ["DatasetUUID:", "datasetUUID"],
  ],
  projected: ["Projected (a volume that contains injected data from multiple sources)"],
  csi: ["CSI (a Container Storage Interface (CSI) volume source)", ["Driver:", "driver"], fsType, readOnly],
  image: ["Image (a container image or OCI artifact)", ["Reference:", "reference"], ["PullPolicy:", "pullPolicy"]],
};

export function writeVolumes(w: DescriptionWriter, volumes: readonly Volume[] = [], space: string): void {
  if (volumes.length === 0) {
    w.line(0, `${space}Volumes:`, "<none>");
    return;
  }
  w.line(0, `${space}Volumes:`);
  for (const volume of volumes) {
    w.line(1, `${space === "" ? "" : " "}${volume.name}:`);
    const [name, shown] = Object.entries(sources).find(([name]) => name in volume) ?? [];
    if (name === undefined || shown === undefined) {
      w.line(1, "<unknown>");
      continue;
    }
    const [type, ...fields] = shown;
    const source = (volume as unknown as Readonly<Record<string, KubeObject>>)[name] ?? {};
    w.line(2, "Type:", type);
    for (const [label, field, missing = ""] of fields) w.line(2, label, fieldText(field, source[field], missing));
    writeMore(w, volume);
  }
}

function fieldText(field: string, value: unknown, missing: unknown): string {
  if (field === "sizeLimit" && value !== undefined && compareAmounts(String(value), "0") <= 0) return String(missing);
  if (field === "targetWWNs") return Array.isArray(value) ? value.join(", ") : "";
  if (field === "secretRef" && isObject(value)) return `&LocalObjectReference{Name:${value.name ?? ""},}`;
  return sprint([(value ?? missing) as GoValue]);
}

/** What is more than a list of fields. */
function writeMore(w: DescriptionWriter, { downwardAPI, projected, csi, ephemeral }: Volume): void {
  if (downwardAPI) {
    w.line(2, "Items:");
    for (const { fieldRef, resourceFieldRef, path } of downwardAPI.items ?? []) {
      if (fieldRef) w.line(3, `${fieldRef.fieldPath} -> ${path}`);
      if (resourceFieldRef) w.line(3, `${resourceFieldRef.resource} -> ${path}`);
    }
  }
  for (const source of projected?.sources ?? []) writeProjection(w, source);
  if (csi) writeAttributes(w, csi.volumeAttributes);
  if (ephemeral?.volumeClaimTemplate) writeClaim(new DescriptionWriter(w, 2), ephemeral.volumeClaimTemplate, undefined);
}

function writeAttributes(w: DescriptionWriter, all: Readonly<Record<string, string>> | undefined): void {
  const attributes = sortedEntries(all).map((entry) => shortened(entry.join("="), 140));
  w.line(2, "VolumeAttributes:", attributes[0] === undefined ? "<none>" : `    ${attributes[0]}`);
  // Upstream indents the tab, too.
  for (const line of attributes.slice(1)) w.write(`        \t    ${line}\n`);
}

function writeProjection(w: DescriptionWriter, source: VolumeProjection): void {
  const { secret, downwardAPI, configMap, serviceAccountToken } = source;
  const named = secret ?? (downwardAPI ? undefined : configMap);
  if (named) {
    w.line(2, secret ? "SecretName:" : "ConfigMapName:", named.name ?? "");
    w.line(2, "Optional:", named.optional ?? false);
  } else if (downwardAPI) w.line(2, "DownwardAPI:", true);
  else if (serviceAccountToken) w.line(2, "TokenExpirationSeconds:", serviceAccountToken.expirationSeconds ?? 0);
}

/** The source of a persistent volume. */
export function writePersistentSource(w: DescriptionWriter, spec: object): void {
  const values = spec as Readonly<Record<string, KubeObject>>;
  const own: Readonly<Record<string, ShownSource>> = {
    ...sources,
    local: ["LocalVolume (a persistent volume backed by local storage on a node)", ["Path:", "path"]],
    csi: [
      "CSI (a Container Storage Interface (CSI) volume source)",
      ["Driver:", "driver"],
      fsType,
      ["VolumeHandle:", "volumeHandle"],
      readOnly,
    ],
  };
  const [name, shown] = Object.entries(own).find(([name]) => isObject(values[name])) ?? [];
  if (name === undefined || shown === undefined) {
    w.line(1, "<unknown>");
    return;
  }
  const [type, ...fields] = shown;
  const source = values[name] ?? {};
  w.line(2, "Type:", type);
  for (const [label, field, missing = ""] of fields) w.line(2, label, fieldText(field, source[field], missing));
  if (name === "csi") writeAttributes(w, source.volumeAttributes as Readonly<Record<string, string>> | undefined);
}
