import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { defaultClass } from "./default-class.ts";
import { admissionPlugin } from "./plugin.ts";

/** A claim that names no storage class, not even an empty one, gets the default. */
export const defaultStorageClass = admissionPlugin({
  name: "DefaultStorageClass",
  on: { kind: PersistentVolumeClaim, verbs: ["create"] },
  mutate({ object: { metadata, spec }, server }) {
    if (spec.storageClassName !== undefined) return;
    if (metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] !== undefined) return;
    const found = defaultClass(
      server.list(StorageClass),
      "storageclass.kubernetes.io/is-default-class",
      "storageclass.beta.kubernetes.io/is-default-class",
    );
    if (found) spec.storageClassName = found.metadata.name;
  },
});
