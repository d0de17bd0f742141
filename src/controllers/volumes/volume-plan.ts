// What becomes of a volume: a pure function of the volume and of the claim it names.
// Upstream: pkg/controller/volume/persistentvolume/pv_controller.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { boundByController, migratedTo, provisionedBy } from "#rules/volumes.ts";
import type { PlannedEvent } from "./claim-plan.ts";

export type VolumePlan =
  | { readonly type: "phase"; readonly phase: "Available" | "Bound" }
  /** The claim has yet to be bound to it, which is done when the claim is looked at. */
  | { readonly type: "wait" }
  /** The claim can never be bound to it: both are told. */
  | { readonly type: "mismatch"; readonly volumeMessage: string; readonly claimMessage: string }
  /** The claim has got another volume. */
  | { readonly type: "unbind" }
  /** The claim is gone. */
  | { readonly type: "reclaim" };

/** `claim` is the one that the volume's reference names, by uid, too. */
export function planVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumePlan {
  const { metadata, spec } = volume;
  if (!spec.claimRef?.uid) return { type: "phase", phase: "Available" };
  if (!claim) return { type: "reclaim" };
  if (!claim.spec.volumeName) {
    if (spec.volumeMode === claim.spec.volumeMode) return { type: "wait" };
    return {
      type: "mismatch",
      volumeMessage: `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" due to incompatible volumeMode.`,
      claimMessage: `Cannot bind PersistentVolume "${metadata.name}" to requested PersistentVolumeClaim due to incompatible volumeMode.`,
    };
  }
  if (claim.spec.volumeName === metadata.name) return { type: "phase", phase: "Bound" };
  const isMadeForIt = metadata.annotations?.[provisionedBy] !== undefined;
  return { type: isMadeForIt && spec.persistentVolumeReclaimPolicy === "Delete" ? "reclaim" : "unbind" };
}

/** The volume without its claim. One that named the claim from the beginning goes on to wait for one of that name. */
export function unbound(volume: PersistentVolume): PersistentVolume {
  const { claimRef, ...spec } = volume.spec;
  const { [boundByController]: mark, ...annotations } = volume.metadata.annotations ?? {};
  if (mark === undefined) {
    const { uid: _uid, ...reference } = claimRef ?? {};
    return { ...volume, spec: { ...spec, claimRef: reference } };
  }
  return { ...volume, metadata: { ...volume.metadata, annotations }, spec };
}

/** Why a released volume cannot be reclaimed as its policy says; undefined if there is nothing to do, or it is for others to do. */
export function reclaimFailure({ metadata, spec }: PersistentVolume): PlannedEvent | undefined {
  if (metadata.annotations?.[migratedTo]) return undefined;
  const failure = (reason: string, message: string): PlannedEvent => ({ type: "Warning", reason, message });
  switch (spec.persistentVolumeReclaimPolicy) {
    case "Retain":
      return undefined;
    case "Recycle":
      return failure("VolumeFailedRecycle", "No recycler plugin found for the volume!");
    case "Delete": {
      const problem = deletionProblem(metadata.annotations?.[provisionedBy], metadata.name, spec);
      return problem === undefined ? undefined : failure("VolumeFailedDelete", problem);
    }
    default:
      return failure("VolumeUnknownReclaimPolicy", "Volume has unrecognized PersistentVolumeReclaimPolicy");
  }
}

/** Whoever made a volume deletes it; of those that people made, only the ones of CSI drivers can be deleted. */
function deletionProblem(
  provisioner: string | undefined,
  name: string,
  spec: PersistentVolume["spec"],
): string | undefined {
  if (provisioner)
    return provisioner.startsWith("kubernetes.io/") ? `no volume plugin matched name: ${provisioner}` : undefined;
  if (spec.csi) return undefined;
  const path = spec.hostPath?.path;
  if (path !== undefined && !/^\/tmp\/.+/.test(path))
    return `host_path deleter only supports /tmp/.+ but received provided ${path}`;
  return `error getting deleter volume plugin for volume "${name}": no deletable volume plugin matched`;
}
