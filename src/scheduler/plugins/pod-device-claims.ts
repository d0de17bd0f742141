// The resource claims of a pod, as the scheduler needs them.
// Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import type { CacheView } from "#client/controller.ts";
import { isMadeFor, podClaimNames } from "#rules/devices/resource-claims.ts";
import type { PodView } from "../pod-view.ts";

/** The claims, or why the pod cannot use them as they are. */
export function podDeviceClaims(
  { pod, namespace, name: podName }: PodView,
  cache: CacheView,
): readonly ResourceClaim[] | string {
  const claims: ResourceClaim[] = [];
  for (const { claim: name, isMade } of podClaimNames(pod)) {
    if (name === undefined) continue;
    if (isMade && name === "missing") return `pod "${namespace}/${podName}": ResourceClaim not created yet`;
    const claim = cache.get(ResourceClaim, { namespace, name });
    if (!claim) return `resourceclaim.resource.k8s.io "${name}" not found`;
    if (claim.metadata.deletionTimestamp) return `resourceclaim "${name}" is being deleted`;
    if (isMade && !isMadeFor(claim, pod))
      return `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`;
    claims.push(claim);
  }
  return claims;
}

export const usesDeviceClaim = ({ pod, namespace }: PodView, claim: ResourceClaim | undefined): boolean =>
  claim !== undefined &&
  claim.metadata.namespace === namespace &&
  podClaimNames(pod).some(({ claim: name }) => name === claim.metadata.name);
