// Marks claims and volumes of in-tree drivers with the CSI driver that has taken their place.
// Upstream: pkg/controller/volume/persistentvolume/pv_controller_base.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { csiNameOf } from "#rules/csi-migration.ts";
import { betaStorageProvisioner, migratedTo, provisionedBy, storageProvisioner } from "#rules/volumes.ts";

/** Kept a volume until its in-tree driver had deleted it. */
const inTreeFinalizer = "kubernetes.io/pv-controller";

type Annotations = Readonly<Record<string, string>>;

/** The very same claim if there is nothing to change. */
export function withMigratedClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { annotations = {} } = claim.metadata;
  const provisioner = annotations[storageProvisioner] ?? annotations[betaStorageProvisioner];
  const marked = markedAnnotations(annotations, provisioner);
  return marked === annotations ? claim : { ...claim, metadata: { ...claim.metadata, annotations: marked } };
}

/** The very same volume if there is nothing to change. */
export function withMigratedVolume(volume: PersistentVolume): PersistentVolume {
  const { annotations = {}, finalizers = [] } = volume.metadata;
  const provisioner = annotations[provisionedBy];
  const marked = markedAnnotations(annotations, provisioner);
  const isHeld = csiNameOf(provisioner ?? "") !== undefined && finalizers.includes(inTreeFinalizer);
  if (marked === annotations && !isHeld) return volume;
  const left = isHeld ? finalizers.filter((one) => one !== inTreeFinalizer) : finalizers;
  return { ...volume, metadata: { ...volume.metadata, annotations: marked, finalizers: left } };
}

function markedAnnotations(annotations: Annotations, provisioner: string | undefined): Annotations {
  if (provisioner === undefined) return annotations;
  const driver = csiNameOf(provisioner);
  const { [migratedTo]: marked, ...rest } = annotations;
  if (driver === marked) return annotations;
  if (driver !== undefined) return { ...annotations, [migratedTo]: driver };
  return marked === "" ? annotations : rest;
}
