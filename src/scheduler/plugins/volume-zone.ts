// Upstream: pkg/scheduler/framework/plugins/volumezone/volume_zone.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { equal, own } from "#base/collections.ts";
import { classOf } from "#rules/volumes.ts";
import { type PluginContext, type Refusal, schedulerPlugin } from "../framework.ts";
import { usesClaim } from "./claims.ts";

const elsewhere: Refusal = { reason: "node(s) had no available volume zone", stuck: true };

/** Labels of places, and their names from before. */
const present: Readonly<Record<string, string>> = {
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region": "topology.kubernetes.io/region",
};
const placeLabels = Object.keys(present);

interface Places {
  readonly label: string;
  readonly values: readonly string[];
}

/** Keeps pods in the zones of their volumes. */
export function volumeZone(_args: unknown, { cache }: PluginContext) {
  return schedulerPlugin({
    name: "VolumeZone",
    reads: [PersistentVolume, PersistentVolumeClaim, StorageClass],
    wakes: [
      {
        kind: "StorageClass",
        on: ["add"],
        cures: (_pod, { now }) => now?.volumeBindingMode === "WaitForFirstConsumer",
      },
      { kind: "Node", on: ["add", "labels"] },
      { kind: "PersistentVolumeClaim", on: ["add", "update"], cures: (pod, { now }) => usesClaim(pod, now) },
      {
        kind: "PersistentVolume",
        on: ["add", "update"],
        cures: (_pod, { old, now }) => !old || (now !== undefined && !equal(placesOf(old), placesOf(now))),
      },
    ],

    preFilter({ pod, namespace }) {
      const places: Places[] = [];
      for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
        if (!persistentVolumeClaim) continue;
        const { claimName: name } = persistentVolumeClaim;
        const claim = cache.get(PersistentVolumeClaim, { namespace, name });
        if (!claim) return refused(`persistentvolumeclaim "${name}" not found`);
        const { volumeName } = claim.spec;
        if (!volumeName) {
          const className = classOf(claim);
          if (!className) return refused("PersistentVolumeClaim had no pv name and storageClass name");
          const storage = cache.get(StorageClass, { name: className });
          if (!storage) return refused(`storageclass.storage.k8s.io "${className}" not found`);
          if (storage.volumeBindingMode === "WaitForFirstConsumer") continue;
          return refused("PersistentVolume had no name");
        }
        const volume = cache.get(PersistentVolume, { name: volumeName });
        if (!volume) return refused(`persistentvolume "${volumeName}" not found`);
        places.push(...placesOf(volume));
      }
      return places.length > 0 ? { state: places } : undefined;
    },
    filter(_pod, { labels }, places: readonly Places[]) {
      // Where nodes say nothing about zones there is only one.
      if (!placeLabels.some((label) => Object.hasOwn(labels, label))) return undefined;
      for (const { label, values } of places) {
        const value = labels[label] ?? labels[own(present, label) ?? ""];
        if (value === undefined || !values.includes(value)) return elsewhere;
      }
      return undefined;
    },
  });
}

const refused = (reason: string): Refusal => ({ reason, stuck: true });

const placesOf = ({ metadata }: PersistentVolume): readonly Places[] =>
  placeLabels.flatMap((label) => {
    const values = metadata.labels?.[label]?.split("__").map((value) => value.trim()) ?? [];
    return values.length > 0 && values.every((value) => value !== "") ? [{ label, values }] : [];
  });
