// Upstream: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go.
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { type PluginContext, type Refusal, schedulerPlugin } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";
import { usesClaim } from "./claims.ts";

type Volume = NonNullable<Pod["spec"]["volumes"]>[number];

const diskTaken: Refusal = { reason: "node(s) had no available disk", stuck: false };
const claimTaken: Refusal = {
  reason:
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
  stuck: false,
};

interface VolumeRestriction {
  /** Disks that few pods may have at once. */
  readonly disks: readonly Volume[];
  /** Claims that one pod may have. */
  readonly exclusive: ReadonlySet<string>;
  /** How many other pods have them. */
  users: number;
}

/** Keeps two pods from using a disk together that bears only one, and a third from a claim that is for one pod. */
export function volumeRestrictions(_args: unknown, { cache }: PluginContext) {
  return schedulerPlugin({
    name: "VolumeRestrictions",
    reads: [PersistentVolumeClaim],
    wakes: [
      { kind: "Pod", on: ["delete"], cures: (pod, { old }) => old !== undefined && podHelps(pod, old) },
      { kind: "Node", on: ["add"] },
      { kind: "PersistentVolumeClaim", on: ["add"], cures: (pod, { now }) => usesClaim(pod, now) },
    ],

    preFilter(pod, snapshot) {
      const { volumes = [] } = pod.pod.spec;
      if (volumes.length === 0) return undefined;
      const exclusive = new Set<string>();
      for (const { persistentVolumeClaim } of volumes) {
        if (!persistentVolumeClaim) continue;
        const { claimName: name } = persistentVolumeClaim;
        const claim = cache.get(PersistentVolumeClaim, { namespace: pod.namespace, name });
        if (!claim) return { reason: `persistentvolumeclaim "${name}" not found`, stuck: true };
        if (claim.spec.accessModes?.includes("ReadWriteOncePod")) exclusive.add(`${pod.namespace}/${name}`);
      }
      const disks = volumes.filter(isRestricted);
      const users = [...exclusive].filter((key) => snapshot.claimUsers(key) > 0).length;
      if (disks.length === 0 && users === 0) return undefined;
      return { state: { disks, exclusive, users } };
    },
    filter(_pod, node: NodeState, { disks, users }: VolumeRestriction) {
      for (const disk of disks)
        for (const { pod } of node.pods.values()) if (isTaken(disk, pod.spec.volumes)) return diskTaken;
      return users > 0 ? claimTaken : undefined;
    },
    whatIf: {
      copy: (state) => ({ ...state }),
      add: (state, other) => moved(state, other, 1),
      remove: (state, other) => moved(state, other, -1),
    },
  });
}

function moved(state: VolumeRestriction, other: PodView, by: 1 | -1): void {
  for (const key of other.claims) if (state.exclusive.has(key)) state.users += by;
}

function podHelps(pod: PodView, gone: PodView): boolean {
  if (pod.namespace !== gone.namespace) return false;
  const disks = (pod.pod.spec.volumes ?? []).filter(isRestricted);
  return (
    disks.some((disk) => isTaken(disk, gone.pod.spec.volumes)) || pod.claims.some((key) => gone.claims.includes(key))
  );
}

const isRestricted = ({ gcePersistentDisk, awsElasticBlockStore, rbd, iscsi }: Volume): boolean =>
  Boolean(gcePersistentDisk ?? awsElasticBlockStore ?? rbd ?? iscsi);

/** Most may be shared by pods that only read. */
const isTaken = (disk: Volume, volumes: readonly Volume[] = []): boolean =>
  volumes.some((other) => {
    const bothRead = (a: { readOnly?: boolean | undefined }, b: { readOnly?: boolean | undefined }) =>
      a.readOnly === true && b.readOnly === true;
    const { gcePersistentDisk: gce, awsElasticBlockStore: aws, iscsi, rbd } = disk;
    if (gce && other.gcePersistentDisk)
      if (gce.pdName === other.gcePersistentDisk.pdName && !bothRead(gce, other.gcePersistentDisk)) return true;
    if (aws && aws.volumeID === other.awsElasticBlockStore?.volumeID) return true;
    if (iscsi && other.iscsi && iscsi.iqn === other.iscsi.iqn && !bothRead(iscsi, other.iscsi)) return true;
    if (!rbd || !other.rbd) return false;
    const { monitors, pool, image } = other.rbd;
    const isSame = rbd.pool === pool && rbd.image === image && rbd.monitors.some((one) => monitors.includes(one));
    return isSame && !bothRead(rbd, other.rbd);
  });
