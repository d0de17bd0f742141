// Asks for volumes of CSI drivers to be attached to the nodes whose pods want them, and to be detached when none does any more. The
// drivers' attachers do it; nodes are told which volumes they may mount.
// Upstream: pkg/controller/volume/attachdetach/attach_detach_controller.go.
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { isReason } from "#base/errors.ts";
import { index } from "#client/cache.ts";
import { type Again, type CacheView, controller, type Reconcile, watching } from "#client/controller.ts";
import { keyOf, type ObjectKey } from "#client/object-key.ts";
import { unlessGone } from "#client/unless-gone.ts";
import { isReady } from "#rules/conditions.ts";
import { csiSourceOf } from "#rules/csi-translation.ts";
import { hasEnded } from "#rules/pods.ts";
import {
  type AttachPlan,
  attachmentName,
  multiAttachMessage,
  planAttachments,
  uniqueVolumeName,
  type WantedVolume,
} from "./attach-plan.ts";
import { claimsOf, podsByClaim } from "./claims-of-pods.ts";

/** How long a volume stays that is mounted on a node which cannot unmount it. */
const unmountMs = 6 * 60_000;
const managed = "volumes.kubernetes.io/controller-managed-attach-detach";
const outOfService = "node.kubernetes.io/out-of-service";

/** Pods that have claims, by node. */
const claimants = index(Pod, (pod) => (pod.spec.nodeName && claimsOf(pod).length > 0 ? [pod.spec.nodeName] : []));
const attachmentsByNode = index(VolumeAttachment, ({ spec }) => [spec.nodeName]);
const attachmentsByVolume = index(VolumeAttachment, ({ spec }) => [spec.source.persistentVolumeName ?? ""]);

const nodesOf = (pods: readonly Pod[]): readonly ObjectKey[] =>
  pods.flatMap(({ spec }) => (spec.nodeName ? [{ name: spec.nodeName }] : []));
const usersOf = ({ spec: { claimRef } }: PersistentVolume, cache: CacheView): readonly Pod[] =>
  claimRef ? cache.by(podsByClaim, `${claimRef.namespace}/${claimRef.name}`) : [];

export function attachDetachController() {
  /** When a volume was first seen to be wanted no more, by the name of its attachment. */
  const unwantedSince = new Map<string, number>();
  return controller({
    name: "attachdetach",
    queue: "attachdetach",
    reportsAs: "attachdetach-controller",
    for: Node,
    concerns: ({ metadata: { name } }, cache) =>
      cache.count(claimants, name) > 0 || cache.count(attachmentsByNode, name) > 0,
    watches: [
      watching(Pod, (pod) => (claimsOf(pod).length > 0 ? nodesOf([pod]) : [])),
      watching(PersistentVolumeClaim, ({ metadata }, cache) => nodesOf(cache.by(podsByClaim, keyOf(metadata)))),
      // Another node may have waited for the volume to be detached.
      watching(VolumeAttachment, ({ spec }, cache) => {
        const volume = cache.get(PersistentVolume, { name: spec.source.persistentVolumeName ?? "" });
        return [{ name: spec.nodeName }, ...(volume ? nodesOf(usersOf(volume, cache)) : [])];
      }),
    ],
    reads: [PersistentVolume, CSIDriver],

    async reconcile(node, context) {
      if (node.metadata.annotations?.[managed] !== "true") return undefined; // its kubelet attaches volumes itself
      const isLost = node.spec.taints?.some(({ key }) => key === outOfService) === true;
      const forced = (one: VolumeAttachment) =>
        isLost || (!isReady(node) && isOverdue(one, unwantedSince, context.clock));
      const plan = planFor(node, node.status.volumesInUse ?? [], forced, context.cache);
      forgetWanted(plan, context.cache.by(attachmentsByNode, node.metadata.name), unwantedSince);
      await carryOut(plan, node, context);
      return plan.mounted.length > 0 ? { afterMs: unmountMs } : undefined;
    },

    /** Of a node that is no more, nobody can tell what it has mounted. */
    async gone({ name }, { client, cache, clock }): Promise<Again | undefined> {
      const left = cache.by(attachmentsByNode, name).filter(({ metadata }) => !metadata.deletionTimestamp);
      const [overdue, early] = [true, false].map((is) =>
        left.filter((one) => isOverdue(one, unwantedSince, clock) === is),
      );
      for (const { metadata } of overdue ?? []) await unlessGone(client.delete(VolumeAttachment, metadata));
      return early?.length ? { afterMs: unmountMs } : undefined;
    },
  });
}

function isOverdue({ metadata: { name } }: VolumeAttachment, since: Map<string, number>, clock: Clock): boolean {
  const now = clock.elapsed();
  const first = since.get(name) ?? now;
  since.set(name, first);
  return now - first >= unmountMs;
}

function forgetWanted({ mounted }: AttachPlan, all: readonly VolumeAttachment[], since: Map<string, number>): void {
  const waiting = new Set(mounted.map(({ metadata }) => metadata.name));
  for (const { metadata } of all) if (!waiting.has(metadata.name)) since.delete(metadata.name);
}

function planFor(
  { metadata: { name: node } }: Node,
  inUse: readonly string[],
  mayForce: (attachment: VolumeAttachment) => boolean,
  cache: CacheView,
): AttachPlan {
  return planAttachments({
    node,
    wanted: wantedOn(node, cache),
    attachments: cache.by(attachmentsByNode, node),
    isInUse: (name) => inUse.includes(name),
    uniqueNameOf({ spec }) {
      const volume = cache.get(PersistentVolume, { name: spec.source.persistentVolumeName ?? "" });
      const csi = volume && csiSourceOf(volume);
      return csi && uniqueVolumeName(csi.driver, csi.volumeHandle);
    },
    othersOf: ({ metadata }) =>
      cache
        .by(attachmentsByVolume, metadata.name)
        .map(({ spec }) => spec.nodeName)
        .filter((other) => other !== node),
    mayForce,
  });
}

/** Volumes of CSI drivers that must be attached, with the pods that want them. */
function wantedOn(node: string, cache: CacheView): readonly WantedVolume[] {
  const wanted = new Map<string, { volume: PersistentVolume; driver: string; handle: string; pods: Pod[] }>();
  for (const pod of cache.by(claimants, node)) {
    if (hasEnded(pod)) continue;
    for (const key of claimsOf(pod)) {
      const claim = cache.get(PersistentVolumeClaim, key);
      const volume = cache.get(PersistentVolume, { name: claim?.spec.volumeName ?? "" });
      const csi = volume && csiSourceOf(volume);
      if (!volume || !csi || volume.spec.claimRef?.uid !== claim?.metadata.uid) continue;
      // Volumes of a driver that nobody describes must be attached.
      if (cache.get(CSIDriver, { name: csi.driver })?.spec.attachRequired === false) continue;
      const known = wanted.get(volume.metadata.name);
      if (known) known.pods.push(pod);
      else wanted.set(volume.metadata.name, { volume, driver: csi.driver, handle: csi.volumeHandle, pods: [pod] });
    }
  }
  return [...wanted.values()];
}

async function carryOut(plan: AttachPlan, node: Node, { client, cache, event }: Reconcile): Promise<void> {
  const { name } = node.metadata;
  for (const { wanted, nodes } of plan.blocked) {
    const users = usersOf(wanted.volume, cache).filter(({ spec }) => nodes.includes(spec.nodeName ?? ""));
    for (const pod of wanted.pods) event("Warning", "FailedAttachVolume", multiAttachMessage(wanted, pod, users), pod);
  }
  for (const { volume, driver, handle } of plan.attach)
    try {
      await client.create(VolumeAttachment, {
        metadata: { name: attachmentName(handle, driver, name) },
        spec: { nodeName: name, attacher: driver, source: { persistentVolumeName: volume.metadata.name } },
      });
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
    }
  reportAttached(plan, node, { cache, event });
  // The node must not mount what is about to be detached.
  const told = (node.status.volumesAttached ?? []).map((one) => one.name).toSorted();
  if (!equal(told, plan.attached)) {
    const volumesAttached = plan.attached.map((one) => ({ name: one, devicePath: "" }));
    await client.patch(Node, { name }, "merge", { status: { volumesAttached } }, { subresource: "status" });
  }
  for (const { metadata } of plan.detach) await unlessGone(client.delete(VolumeAttachment, metadata));
}

/** Tells pods of volumes that have come, or could not. */
function reportAttached(plan: AttachPlan, node: Node, { cache, event }: Pick<Reconcile, "cache" | "event">): void {
  const told = new Set(node.status.volumesAttached?.map(({ name }) => name));
  for (const { volume, driver, handle, pods } of wantedOn(node.metadata.name, cache)) {
    const { name } = volume.metadata;
    const unique = uniqueVolumeName(driver, handle);
    const attachment = cache.get(VolumeAttachment, { name: attachmentName(handle, driver, node.metadata.name) });
    const problem = attachment?.status.attached ? undefined : attachment?.status.attachError?.message;
    for (const pod of pods) {
      if (plan.attached.includes(unique) && !told.has(unique))
        event("Normal", "SuccessfulAttachVolume", `AttachVolume.Attach succeeded for volume "${name}" `, pod);
      if (problem !== undefined)
        event("Warning", "FailedAttachVolume", `AttachVolume.Attach failed for volume "${name}" : ${problem}`, pod);
    }
  }
}
