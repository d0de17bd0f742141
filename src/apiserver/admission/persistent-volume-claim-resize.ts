// Upstream: plugin/pkg/admission/storage/persistentvolume/resize/admission.go.
import { amountOf, compareAmounts } from "#api/core/v1/amounts.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { admissionPlugin } from "./plugin.ts";

/** A claim grows only where its storage class says that volumes can. */
export const persistentVolumeClaimResize = admissionPlugin({
  name: "PersistentVolumeClaimResize",
  on: { kind: PersistentVolumeClaim, verbs: ["update"] },
  validate({ object, old, server }) {
    if (compareAmounts(sizeOf(object), sizeOf(old)) <= 0) return undefined;
    if (old.status.phase !== "Bound") return "Only bound persistent volume claims can be expanded";
    const className = classOf(object);
    const grows =
      className !== "" &&
      className === classOf(old) &&
      server.get(StorageClass, className)?.allowVolumeExpansion === true;
    return grows
      ? undefined
      : "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
  },
});

const sizeOf = ({ spec }: PersistentVolumeClaim): string => amountOf(spec.resources.requests, "storage") ?? "0";
const classOf = ({ metadata, spec }: PersistentVolumeClaim): string =>
  metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec.storageClassName ?? "";
