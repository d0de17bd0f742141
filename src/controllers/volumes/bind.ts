// The writes that bind a claim and a volume to each other. The volume comes first: it can only ever be one claim's, since a write that is
// made of an older state is refused. Each step may be the last one that a process makes; the next look goes on from there.
// Upstream: pkg/controller/volume/persistentvolume/pv_controller.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { equal } from "#base/collections.ts";
import type { Client } from "#client/client.ts";
import { bindCompleted, boundByController, boundTo } from "#rules/volumes.ts";

/** Set on a volume that is larger than its file system: what the claim has until that has grown, too. */
const preResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity";

export async function bind(
  found: PersistentVolume,
  unboundClaim: PersistentVolumeClaim,
  client: Client,
): Promise<void> {
  const wanted = boundTo(found, unboundClaim);
  const volume = wanted === found ? found : await client.update(PersistentVolume, wanted);
  await setVolumePhase(volume, "Bound", client);
  const wantedClaim = boundClaim(unboundClaim, volume.metadata.name);
  const claim = wantedClaim === unboundClaim ? unboundClaim : await client.update(PersistentVolumeClaim, wantedClaim);
  await setClaimStatus(claim, boundStatus(claim, volume), client);
}

export async function setVolumePhase(
  volume: PersistentVolume,
  phase: PersistentVolume["status"]["phase"],
  client: Client,
  message = "",
): Promise<PersistentVolume> {
  if (volume.status.phase === phase) return volume;
  return client.update(PersistentVolume, { ...volume, status: { ...volume.status, phase, message } }, "status");
}

export async function setClaimStatus(
  claim: PersistentVolumeClaim,
  status: PersistentVolumeClaim["status"],
  client: Client,
): Promise<void> {
  if (equal(claim.status, status)) return;
  await client.update(PersistentVolumeClaim, { ...claim, status }, "status");
}

/** Of a claim that has no volume. */
export function unboundStatus(
  { status }: PersistentVolumeClaim,
  phase: "Pending" | "Lost",
): PersistentVolumeClaim["status"] {
  const { accessModes: _modes, capacity: _capacity, currentVolumeAttributesClassName: _class, ...rest } = status;
  return { ...rest, phase };
}

/** Of a claim that has this volume. */
export function boundStatus({ status }: PersistentVolumeClaim, { metadata, spec }: PersistentVolume) {
  const isNew = status.phase !== "Bound";
  const { storage } = spec.capacity ?? {};
  if (isNew && storage === undefined)
    throw new Error(`PersistentVolume "${metadata.name}" is without a storage capacity`);
  const capacity = isNew
    ? { ...spec.capacity, storage: metadata.annotations?.[preResizeCapacity] ?? storage ?? "0" }
    : status.capacity;
  const attributes =
    status.phase === "Pending" && spec.volumeAttributesClassName !== undefined
      ? { currentVolumeAttributesClassName: spec.volumeAttributesClassName }
      : {};
  return {
    ...status,
    ...attributes,
    phase: "Bound" as const,
    ...(spec.accessModes && { accessModes: spec.accessModes }),
    ...(capacity && { capacity }),
  };
}

/** The claim with the volume as its own. The very same object if it has been before. */
export function boundClaim(claim: PersistentVolumeClaim, volumeName: string): PersistentVolumeClaim {
  const { metadata, spec } = claim;
  const { annotations = {} } = metadata;
  if (spec.volumeName === volumeName && annotations[bindCompleted] !== undefined) return claim;
  const chosen = spec.volumeName === volumeName ? {} : { [boundByController]: "yes" };
  return {
    ...claim,
    metadata: { ...metadata, annotations: { ...annotations, ...chosen, [bindCompleted]: "yes" } },
    spec: { ...spec, volumeName },
  };
}
