// Persistent volumes of in-tree drivers as volumes of the CSI drivers that have taken their place.
// Upstream: staging/src/k8s.io/csi-translation-lib/plugins/in_tree_volume.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { csiNameOf, migratedSource } from "./csi-migration.ts";

type Spec = PersistentVolume["spec"];
type CsiSource = NonNullable<Spec["csi"]>;
type Source = Omit<CsiSource, "driver">;

/** The volume with the source that its CSI driver knows; the same object if it needs no translation. Throws if it cannot be translated. */
export function translatedVolume(volume: PersistentVolume): PersistentVolume {
  const inTree = migratedSource(volume);
  const driver = inTree === undefined ? undefined : csiNameOf(inTree);
  const source = driver === undefined ? undefined : sourceOf(volume);
  if (driver === undefined || !source) return volume;
  const { spec } = volume;
  const accessModes = spec.gcePersistentDisk ? gceAccessModes(spec.accessModes) : spec.accessModes;
  return { ...volume, spec: { ...spec, ...(accessModes && { accessModes }), csi: { ...source, driver } } };
}

/** Where a CSI driver finds the volume; undefined if none does. */
export function csiSourceOf(volume: PersistentVolume): CsiSource | undefined {
  if (volume.spec.csi) return volume.spec.csi;
  try {
    return translatedVolume(volume).spec.csi;
  } catch {
    return undefined; // its pods are told why by their kubelet
  }
}

function sourceOf(volume: PersistentVolume): Source | undefined {
  const { awsElasticBlockStore, azureDisk, azureFile, cinder, gcePersistentDisk, portworxVolume, vsphereVolume } =
    volume.spec;
  if (awsElasticBlockStore) return awsSource(awsElasticBlockStore);
  if (azureDisk) return azureDiskSource(azureDisk);
  if (azureFile) return azureFileSource(volume, azureFile);
  if (cinder) return withoutAbsent(cinder.volumeID, cinder);
  if (gcePersistentDisk) return gceSource(volume, gcePersistentDisk);
  if (portworxVolume) return portworxSource(volume, portworxVolume);
  if (!vsphereVolume) return undefined;
  const policy = vsphereVolume.storagePolicyName;
  return withoutAbsent(
    vsphereVolume.volumePath,
    { fsType: vsphereVolume.fsType },
    policy ? { storagepolicyname: policy } : {},
  );
}

function withoutAbsent(
  volumeHandle: string,
  { readOnly, fsType }: { readonly readOnly?: boolean | undefined; readonly fsType?: string | undefined },
  volumeAttributes: Record<string, string> = {},
): Source {
  return { volumeHandle, ...(readOnly && { readOnly }), ...(fsType && { fsType }), volumeAttributes };
}

function awsSource(source: NonNullable<Spec["awsElasticBlockStore"]>): Source {
  const { volumeID, partition = 0 } = source;
  const id = volumeID.startsWith("aws://")
    ? volumeID.replace(/^aws:\/\/[^/]*/, "").replace(/^\/+|\/+$/g, "")
    : volumeID;
  if (id !== volumeID && !/^vol-[^/]*$/.test(id)) throw new Error(`Invalid format for AWS volume (${volumeID})`);
  return withoutAbsent(id, source, { partition: String(partition) });
}

function azureDiskSource({ diskURI, kind, cachingMode, fsType, readOnly }: NonNullable<Spec["azureDisk"]>): Source {
  if (kind && kind.toLowerCase() !== "managed") throw new Error(`kind(${kind}) is not supported in csi migration`);
  return withoutAbsent(
    diskURI,
    { fsType, readOnly },
    { kind: "managed", ...(cachingMode && { cachingmode: cachingMode }), ...(fsType && { fstype: fsType }) },
  );
}

function azureFileSource({ metadata, spec }: PersistentVolume, source: NonNullable<Spec["azureFile"]>): Source {
  const { secretName, shareName } = source;
  const account = /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
  const group = metadata.annotations?.["kubernetes.io/azure-file-resource-group"] ?? "";
  const namespace = source.secretNamespace ?? spec.claimRef?.namespace;
  if (!namespace) throw new Error("could not find a secret namespace in PersistentVolumeSource or ClaimRef");
  const handle = [group, account, shareName, metadata.name, namespace].join("#");
  return {
    ...withoutAbsent(handle, { readOnly: source.readOnly }, { sharename: shareName }),
    nodeStageSecretRef: { name: secretName, namespace },
  };
}

function gceSource({ metadata }: PersistentVolume, source: NonNullable<Spec["gcePersistentDisk"]>): Source {
  const { labels = {} } = metadata;
  const label = labels["failure-domain.beta.kubernetes.io/zone"] || labels["topology.kubernetes.io/zone"] || "";
  const zones = label.split("__");
  // A zone is its region with one more part.
  const regions = new Set(zones.map((zone) => zone.split("-").slice(0, -1).join("-")));
  if (zones.length > 1 && regions.size !== 1) throw new Error(`failed to get region from zones: ${label}`);
  const place = zones.length > 1 ? `regions/${[...regions][0]}` : `zones/${zones[0] || "UNSPECIFIED"}`;
  const partition = source.partition ? String(source.partition) : "";
  return withoutAbsent(`projects/UNSPECIFIED/${place}/disks/${source.pdName}`, source, { partition });
}

/** Modes that the in-tree driver took for one writer. */
function gceAccessModes(modes: Spec["accessModes"]): Spec["accessModes"] {
  if (!modes) return modes;
  const isReadAlone =
    modes.includes("ReadOnlyMany") && !modes.includes("ReadWriteOnce") && !modes.includes("ReadWriteMany");
  return [isReadAlone ? "ReadOnlyMany" : "ReadWriteOnce"];
}

function portworxSource({ metadata }: PersistentVolume, source: NonNullable<Spec["portworxVolume"]>): Source {
  const name = metadata.annotations?.["openstorage.io/auth-secret-name"];
  const namespace = metadata.annotations?.["openstorage.io/auth-secret-namespace"];
  const plain = withoutAbsent(source.volumeID, { fsType: source.fsType });
  if (name === undefined || namespace === undefined) return plain;
  const secret = { name, namespace };
  return {
    ...plain,
    controllerPublishSecretRef: secret,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    controllerExpandSecretRef: secret,
    nodeExpandSecretRef: secret,
  };
}
