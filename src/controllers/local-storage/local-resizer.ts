// Lets claims on folders of nodes grow while they are used. Upstream: kubernetes-csi/external-resizer, whose steps and events these are.
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { controller } from "#client/controller.ts";
import { requestedBytes, volumeBytes, wantsToGrow } from "#rules/volumes.ts";
import { timeOf } from "#schema/time.ts";
import { isLocalVolume, nodeOf } from "./local-volumes.ts";
import { localProvisioner, type NodeStorage } from "./node-storage.ts";

const unreachableMs = 5_000;

type ClaimStatus = PersistentVolumeClaim["status"];

export const localResizeController = (storage: NodeStorage) =>
  controller({
    name: "local-resizer",
    reportsAs: localProvisioner,
    for: PersistentVolumeClaim,
    concerns: wantsToGrow,
    reads: [Node, PersistentVolume],

    async reconcile(claim, { client, cache, clock, event }) {
      const volume = cache.get(PersistentVolume, { name: claim.spec.volumeName ?? "" });
      if (!wantsToGrow(claim) || !volume || !isLocalVolume(volume)) return undefined;
      if (volume.spec.claimRef?.uid !== claim.metadata.uid) return undefined;
      const node = nodeOf(volume, cache.list(Node));
      if (node === undefined || !storage.isReachable(node)) return { afterMs: unreachableMs };
      const { name } = volume.metadata;
      const size = claim.spec.resources.requests?.storage ?? "0";
      const begun = await client.update(
        PersistentVolumeClaim,
        { ...claim, status: growing(claim.status, size, clock) },
        "status",
      );
      event("Normal", "Resizing", `External resizer is resizing volume ${name}`);
      try {
        await storage.resize(node, name, requestedBytes(claim));
        if (volumeBytes(volume) < requestedBytes(claim))
          await client.patch(PersistentVolume, { name }, "merge", { spec: { capacity: { storage: size } } });
      } catch (cause) {
        event(
          "Warning",
          "VolumeResizeFailed",
          `resize volume "${name}" by resizer "${localProvisioner}" failed: ${explain(cause)}`,
        );
        throw new Error(`resize volume ${name}`, { cause });
      }
      await client.update(PersistentVolumeClaim, { ...begun, status: grown(begun.status, size) }, "status");
      event("Normal", "VolumeResizeSuccessful", "Resize volume succeeded");
      return undefined;
    },
  });

function growing(status: ClaimStatus, size: string, clock: Clock): ClaimStatus {
  const others = (status.conditions ?? []).filter(({ type }) => type !== "Resizing");
  const before = status.conditions?.find(({ type }) => type === "Resizing");
  return {
    ...status,
    allocatedResources: { ...status.allocatedResources, storage: size },
    allocatedResourceStatuses: { ...status.allocatedResourceStatuses, storage: "ControllerResizeInProgress" },
    conditions: [...others, before ?? { type: "Resizing", status: "True", lastTransitionTime: timeOf(clock.now()) }],
  };
}

function grown(status: ClaimStatus, size: string): ClaimStatus {
  const { storage: _storage, ...statuses } = status.allocatedResourceStatuses ?? {};
  const { allocatedResourceStatuses: _statuses, conditions = [], ...rest } = status;
  const left = conditions.filter(({ type }) => type !== "Resizing");
  return {
    ...rest,
    capacity: { ...status.capacity, storage: size },
    ...(Object.keys(statuses).length > 0 && { allocatedResourceStatuses: statuses }),
    ...(left.length > 0 && { conditions: left }),
  };
}
