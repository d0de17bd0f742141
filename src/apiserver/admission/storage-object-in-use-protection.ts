// Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { VolumeAttributesClass } from "#api/storage/v1/volume-attributes-class.ts";
import type { AnyKind } from "#schema/kind.ts";
import { admissionPlugin, pluginOf } from "./plugin.ts";

const name = "StorageObjectInUseProtection";
const finalizers: readonly (readonly [AnyKind, string])[] = [
  [PersistentVolume, "kubernetes.io/pv-protection"],
  [PersistentVolumeClaim, "kubernetes.io/pvc-protection"],
  [VolumeAttributesClass, "kubernetes.io/vac-protection"],
];

/** Storage carries a finalizer from the start, which a controller takes away once nothing uses it. */
export const storageObjectInUseProtection = pluginOf(
  name,
  ...finalizers.map(([kind, finalizer]) =>
    admissionPlugin({
      name,
      on: { kind, verbs: ["create"] },
      mutate({ object }) {
        const present: readonly string[] = object.metadata.finalizers ?? [];
        if (!present.includes(finalizer)) object.metadata.finalizers = [...present, finalizer];
      },
    }),
  ),
);
