// Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { index } from "#client/cache.ts";
import type { CacheView } from "#client/controller.ts";
import { csiSourceOf } from "#rules/csi-translation.ts";
import { claimKey, classOf } from "#rules/volumes.ts";
import { type PluginContext, type Refusal, schedulerPlugin } from "../framework.ts";
import type { PodView } from "../pod-view.ts";
import { podClaims, usesClaim } from "./claims.ts";

const tooMany: Refusal = { reason: "node(s) exceed max volume count", stuck: false };
const attachmentsByNode = index(VolumeAttachment, ({ spec }) => [spec.nodeName]);

/** Drivers of volumes, by what tells volumes apart. */
type Volumes = ReadonlyMap<string, string>;

/** Keeps more volumes off a node than their drivers can attach there. */
export function nodeVolumeLimits(_args: unknown, { cache }: PluginContext) {
  return schedulerPlugin({
    name: "NodeVolumeLimits",
    reads: [CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment],
    wakes: [
      { kind: "CSINode", on: ["add"] },
      {
        kind: "CSINode",
        on: ["update"],
        cures: (_pod, { old, now }) => {
          const [before, after] = [limitsOf(old), limitsOf(now)];
          return [...after].some(([driver, limit]) => limit > (before.get(driver) ?? 0));
        },
      },
      { kind: "Pod", on: ["delete"], cures: (_pod, { old }) => old !== undefined && old.claims.length > 0 },
      { kind: "PersistentVolumeClaim", on: ["add"], cures: (pod, { now }) => usesClaim(pod, now) },
      { kind: "VolumeAttachment", on: ["delete"], cures: ({ claims }) => claims.length > 0 },
    ],

    preFilter(pod) {
      if (pod.claims.length === 0) return undefined;
      // A missing claim is refused node by node, as upstream does, so that plugins with a better message come first.
      if (podClaims(pod, cache).some(({ claim }) => !claim)) return { state: new Map() };
      const state = volumesOf(pod, cache);
      return state.size > 0 ? { state } : undefined;
    },
    filter(pod, node, wanted: Volumes) {
      const missing = wanted.size === 0 && podClaims(pod, cache).find(({ claim }) => !claim);
      if (missing)
        return {
          reason: `looking up PVC ${pod.namespace}/${missing.name}: persistentvolumeclaim "${missing.name}" not found`,
          stuck: true,
        };
      const limits = limitsOf(cache.get(CSINode, { name: node.name }));
      if (limits.size === 0) return undefined;
      const attached = new Map<string, string>();
      for (const other of node.pods.values())
        if (other.claims.length > 0)
          for (const [volume, driver] of volumesOf(other, cache)) attached.set(volume, driver);
      const isShared = new Set(attached.keys());
      for (const [volume, driver] of attachedTo(node.name, cache)) attached.set(volume, driver);
      for (const [driver, limit] of limits) {
        let count = 0;
        for (const by of attached.values()) if (by === driver) count++;
        let more = 0;
        for (const [volume, by] of wanted) if (by === driver && !isShared.has(volume)) more++;
        if (more > 0 && count + more > limit) return tooMany;
      }
      return undefined;
    },
  });
}

const limitsOf = (node: CSINode | undefined): ReadonlyMap<string, number> =>
  new Map(
    (node?.spec.drivers ?? []).flatMap(({ name, allocatable }) =>
      allocatable?.count === undefined ? [] : [[name, allocatable.count] as const],
    ),
  );

function volumesOf(pod: PodView, cache: CacheView): Volumes {
  const volumes = new Map<string, string>();
  for (const { claim } of podClaims(pod, cache)) {
    if (!claim) continue;
    const volume = cache.get(PersistentVolume, { name: claim.spec.volumeName ?? "" });
    if (volume) {
      const csi = csiSourceOf(volume);
      if (csi) volumes.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver);
      continue;
    }
    // There is no volume yet: whoever will make it counts it, under a name no volume has.
    const driver = cache.get(StorageClass, { name: classOf(claim) })?.provisioner;
    if (driver) volumes.set(`${driver}/ ${claimKey(claim)}`, driver);
  }
  return volumes;
}

function* attachedTo(node: string, cache: CacheView): Iterable<readonly [string, string]> {
  for (const { spec } of cache.by(attachmentsByNode, node)) {
    const volume = cache.get(PersistentVolume, { name: spec.source.persistentVolumeName ?? "" });
    const csi = volume && csiSourceOf(volume);
    if (csi) yield [`${spec.attacher}/${csi.volumeHandle}`, spec.attacher];
  }
}
