// Applies changes from informers to the snapshot and the queue, and wakes pods that a change may help.
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { DeviceClass } from "#api/resource/v1/device-class.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { CSIStorageCapacity } from "#api/storage/v1/csi-storage-capacity.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import type { InformerChange } from "#client/informer.ts";
import type { Informers } from "#client/informers.ts";
import { keyOfObject } from "#client/object-key.ts";
import { hasEnded } from "#rules/pods.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { nodePartsChanged, partsChanged } from "./changes.ts";
import type { ChangeType, WatchedChange, WatchedKind } from "./framework.ts";
import type { Nominations } from "./nominations.ts";
import { PodView } from "./pod-view.ts";
import type { SchedulingQueue } from "./queue.ts";
import type { Snapshot } from "./snapshot.ts";

export interface ClusterView {
  readonly snapshot: Snapshot;
  readonly queue: SchedulingQueue;
  readonly nominations: Nominations;
  /** Uids of pods that were given a node which the API server does not know of yet. */
  readonly assumed: Set<string>;
  /** Called for pods that no longer wait, whether they have a node or are gone. */
  readonly forget: (uid: string) => void;
  /** Whether pods of this scheduler name are ours. */
  readonly isOurs: (schedulerName: string) => boolean;
}

const watchedKinds: Readonly<Record<Exclude<WatchedKind, "Pod" | "Node">, AnyKind>> = {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  CSINode,
  CSIDriver,
  CSIStorageCapacity,
  VolumeAttachment,
  ResourceClaim,
  ResourceSlice,
  DeviceClass,
};

/** Follows pods, nodes and all kinds that plugins read. Returns how to stop. */
export function follow(informers: Informers, reads: ReadonlySet<AnyKind>, view: ClusterView): () => void {
  const stops = [
    informers.of(Node).onChange((change) => nodeChanged(change, view)),
    informers.of(Pod).onChange((change) => podChanged(change, view)),
  ];
  const byKind = new Map(Object.entries(watchedKinds).map(([name, kind]) => [kind, name]));
  for (const kind of reads)
    stops.push(
      informers.of(kind).onChange(({ old, object }) => {
        view.snapshot.generation++;
        const name = byKind.get(kind);
        // The table says which kind goes by which name, and the informer is of that kind.
        if (name)
          view.queue.changed({ kind: name, old, now: object, happened: happened(old, object) } as WatchedChange);
      }),
    );
  return () => {
    for (const stop of stops) stop();
  };
}

const happened = (old: unknown, now: unknown): readonly ChangeType[] =>
  old === undefined ? ["add"] : now === undefined ? ["delete"] : ["update"];

function nodeChanged({ old, object }: InformerChange<Infer<typeof Node>>, { snapshot, queue }: ClusterView): void {
  if (object === undefined) {
    snapshot.removeNode(old?.metadata.name ?? "");
    queue.changed({ kind: "Node", old, now: undefined, happened: ["delete"] });
    return;
  }
  const parts: readonly ChangeType[] = old ? nodePartsChanged(old, object) : ["add"];
  snapshot.setNode(object, parts.length > 0);
  if (parts.length > 0) queue.changed({ kind: "Node", old, now: object, happened: parts });
}

function podChanged({ old, object }: InformerChange<Pod>, known: ClusterView): void {
  if (old && object && old.metadata.uid !== object.metadata.uid) {
    podGone(new PodView(old), known);
    podChanged({ key: keyOfObject(object), old: undefined, object }, known);
  } else if (object === undefined || hasEnded(object)) podGone(new PodView(object ?? (old as Pod)), known);
  else if (object.spec.nodeName) podPlaced(new PodView(object), object.spec.nodeName, known);
  else podWaits(old, new PodView(object), known);
}

function podGone(pod: PodView, { snapshot, queue, nominations, assumed, forget }: ClusterView): void {
  const { uid } = pod;
  const wasPlaced = snapshot.placed(uid) !== undefined;
  const wasNominated = nominations.nodeOf(uid) !== undefined;
  queue.delete(uid);
  nominations.delete(uid);
  forget(uid);
  assumed.delete(uid);
  snapshot.removePod(uid);
  if (wasPlaced || wasNominated) queue.changed({ kind: "Pod", old: pod, now: undefined, happened: ["delete"] });
}

function podPlaced(now: PodView, node: string, { snapshot, queue, nominations, assumed, forget }: ClusterView): void {
  const { uid } = now;
  const before = assumed.delete(uid) ? undefined : snapshot.placed(uid)?.pod;
  snapshot.setPod(now, node);
  queue.delete(uid);
  nominations.delete(uid);
  forget(uid);
  const parts: readonly ChangeType[] = before ? partsChanged(before, now) : ["add"];
  queue.changed({ kind: "Pod", old: before, now, happened: parts });
}

function podWaits(old: Pod | undefined, now: PodView, { queue, nominations, assumed, isOurs }: ClusterView): void {
  if (assumed.has(now.uid) || !isOurs(now.pod.spec.schedulerName)) return;
  if (now.isEnding) {
    queue.delete(now.uid);
    nominations.delete(now.uid);
    return;
  }
  nominations.follow(old && new PodView(old), now);
  queue.set(now);
}
