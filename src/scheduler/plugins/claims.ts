// Which volume claims a pod has, and what is wrong with them.
// Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go.
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { CacheView } from "#client/controller.ts";
import { claimKey } from "#rules/volumes.ts";
import type { PodView } from "../pod-view.ts";

export interface PodClaim {
  readonly name: string;
  /** Undefined if it does not exist. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** Whether it is made for the pod alone, and goes with it. */
  readonly isEphemeral: boolean;
}

export const podClaims = ({ pod, namespace, name }: PodView, cache: CacheView): readonly PodClaim[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => {
    const isEphemeral = volume.ephemeral !== undefined;
    const claimName = isEphemeral ? `${name}-${volume.name}` : volume.persistentVolumeClaim?.claimName;
    if (claimName === undefined) return [];
    const claim = cache.get(PersistentVolumeClaim, { namespace, name: claimName });
    return [{ name: claimName, claim, isEphemeral }];
  });

export const usesClaim = (pod: PodView, claim: PersistentVolumeClaim | undefined): boolean =>
  claim !== undefined && pod.claims.includes(claimKey(claim));

/** Why the pod cannot use its claims as they are, whatever the node. */
export function claimProblem(pod: PodView, claims: readonly PodClaim[]): string | undefined {
  for (const { name, claim, isEphemeral } of claims) {
    if (!claim)
      return isEphemeral
        ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
        : `persistentvolumeclaim "${name}" not found`;
    if (claim.status.phase === "Lost")
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName ?? ""}"`;
    if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`;
    if (isEphemeral && !claim.metadata.ownerReferences?.some(({ uid, controller }) => controller && uid === pod.uid))
      return `PVC ${claimKey(claim)} was not created for pod ${pod.key} (pod is not owner)`;
  }
  return undefined;
}
