// Upstream: plugin/pkg/admission/storage/storageclass/setdefault/admission.go.
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { defaultStorageClass as defaultClassOf, hasClass } from "#rules/volumes.ts";
import { admissionPlugin } from "./plugin.ts";

/** A claim that names no storage class, not even an empty one, gets the default. */
export const defaultStorageClass = admissionPlugin({
  name: "DefaultStorageClass",
  on: { kind: PersistentVolumeClaim, verbs: ["create"] },
  mutate({ object: { metadata, spec }, server }) {
    if (hasClass({ metadata, spec })) return;
    const found = defaultClassOf(server.list(StorageClass));
    if (found) spec.storageClassName = found.metadata.name;
  },
});
