// Which resource claims a pod has, and who has a claim.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { DeviceRequestAllocationResult, ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { parseQuantity } from "#schema/quantity.ts";
import { controllerOf } from "../owners.ts";
import { hasEnded } from "../pods.ts";
import { type Amounts, addAmounts } from "./device-capacity.ts";
import { deviceId } from "./device-pools.ts";

/** Kept on claims that have devices, so that they are given back before the claim goes. */
export const claimFinalizer = "resource.kubernetes.io/delete-protection";
/** Which entry of the pod a claim was made for. */
export const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
const mostReservations = 256;

export interface PodClaimName {
  /** Its name in the pod. */
  readonly entry: string;
  /** "missing" as long as none was made, undefined if none is needed. */
  readonly claim: string | "missing" | undefined;
  /** Whether it is made of a template for this pod alone. */
  readonly isMade: boolean;
}

export const podClaimNames = ({ spec, status }: Pod): readonly PodClaimName[] =>
  (spec.resourceClaims ?? []).map(({ name, resourceClaimName }) => {
    if (resourceClaimName !== undefined) return { entry: name, claim: resourceClaimName, isMade: false };
    const made = status.resourceClaimStatuses?.find((one) => one.name === name);
    return { entry: name, claim: made ? made.resourceClaimName : "missing", isMade: true };
  });

export const isMadeFor = (claim: ResourceClaim, { metadata }: Pod): boolean =>
  controllerOf(claim)?.uid === metadata.uid && claim.metadata.namespace === metadata.namespace;

export const isReservedFor = ({ status }: ResourceClaim, { metadata }: Pod): boolean =>
  status.reservedFor?.some(({ uid }) => uid === metadata.uid) ?? false;

export const canBeReserved = ({ status }: ResourceClaim): boolean =>
  (status.reservedFor ?? []).length < mostReservations;

export const consumerOf = ({ metadata }: Pod) => ({
  resource: "pods",
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
});

/** Whether the pod will use no device any more, or never. */
export const isDone = (pod: Pod): boolean =>
  hasEnded(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName);

export const resultsOf = ({ status }: ResourceClaim): readonly DeviceRequestAllocationResult[] =>
  status.allocation?.devices.results ?? [];

/** Devices that nobody else may have because of these results. */
export const devicesTaken = (results: readonly DeviceRequestAllocationResult[]): readonly string[] =>
  results.flatMap(({ driver, pool, device, adminAccess }) => (adminAccess ? [] : [deviceId(driver, pool, device)]));

/** What results take of a device that several share. */
export function amountsTaken(results: readonly DeviceRequestAllocationResult[], id: string): Amounts {
  const sum = new Map<string, ReturnType<typeof parseQuantity>>();
  for (const { driver, pool, device, consumedCapacity = {}, adminAccess } of results)
    if (!adminAccess && deviceId(driver, pool, device) === id)
      addAmounts(
        sum,
        Object.entries(consumedCapacity).map(([name, amount]) => [name, parseQuantity(amount)] as const),
      );
  return sum;
}
