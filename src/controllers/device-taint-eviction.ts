// Deletes pods whose devices have NoExecute taints that their claims do not tolerate: at once, or when their tolerationSeconds are over.
// Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go.
import { Pod } from "#api/core/v1/pod.ts";
import { type DeviceRequestAllocationResult, ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { type DeviceTaint, ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { min } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { index } from "#client/cache.ts";
import { type CacheView, controller, type Reconcile, watching } from "#client/controller.ts";
import { isTolerated } from "#rules/devices/device-allocation.ts";
import { poolKey } from "#rules/devices/device-pools.ts";
import { resultsOf } from "#rules/devices/resource-claims.ts";
import { hasEnded } from "#rules/pods.ts";
import { millisOf, timeOf } from "#schema/time.ts";

const slicesByPool = index(ResourceSlice, (slice) => [poolKey(slice)]);
const claimsByPool = index(ResourceClaim, (claim) => [
  ...new Set(resultsOf(claim).map(({ driver, pool }) => `${driver}/${pool}`)),
]);

export const deviceTaintEvictionController = controller({
  name: "device-taint-eviction",
  for: ResourceClaim,
  concerns: ({ status }) => status.allocation !== undefined,
  reads: [Pod],
  watches: [
    watching(ResourceSlice, (slice, cache) => cache.by(claimsByPool, poolKey(slice)).map(({ metadata }) => metadata)),
  ],
  workers: 8,

  async reconcile(claim, context) {
    const dueAt = min(resultsOf(claim).flatMap((result) => dueTime(result, context.cache) ?? []));
    if (dueAt === undefined || (claim.status.reservedFor ?? []).length === 0) return undefined;
    const leftMs = dueAt - context.clock.now();
    if (leftMs > 0) return { afterMs: leftMs };
    for (const { resource, name, uid } of claim.status.reservedFor ?? []) {
      const pod = resource === "pods" ? context.cache.get(Pod, { ...claim.metadata, name }) : undefined;
      if (pod?.metadata.uid === uid && pod && !pod.metadata.deletionTimestamp && !hasEnded(pod))
        await evict(pod, context);
    }
    return undefined;
  },
});

/** When whoever has the device must go, in milliseconds since 1970. */
function dueTime(
  { driver, pool, device, tolerations = [] }: DeviceRequestAllocationResult,
  cache: CacheView,
): number | undefined {
  const slices = cache.by(slicesByPool, `${driver}/${pool}`);
  const newest = slices.reduce((most, { spec }) => Math.max(most, spec.pool.generation), -1);
  const taints = slices
    .filter(({ spec }) => spec.pool.generation === newest)
    .flatMap(({ spec }) => spec.devices?.find(({ name }) => name === device)?.taints ?? [])
    .filter(({ effect }) => effect === "NoExecute");
  return min(taints.flatMap((taint) => taintDue(taint, tolerations) ?? []));
}

function taintDue(
  taint: DeviceTaint,
  tolerations: NonNullable<DeviceRequestAllocationResult["tolerations"]>,
): number | undefined {
  const since = taint.timeAdded === undefined ? 0 : millisOf(taint.timeAdded);
  const matching = tolerations.filter((one) => isTolerated(taint, [one]));
  if (matching.length === 0) return since;
  if (matching.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return undefined;
  const longest = matching.reduce((most, { tolerationSeconds = 0 }) => Math.max(most, tolerationSeconds), 0);
  return since + longest * 1000;
}

/** Sets the condition DisruptionTarget before the deletion, so that others count the pod as disrupted and not as failed. */
async function evict(pod: Pod, { client, clock, event }: Reconcile): Promise<void> {
  const { namespace, name = "", uid } = pod.metadata;
  event("Normal", "DeviceTaintManagerEviction", "Marking for deletion", pod);
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "DeletionByDeviceTaintManager",
    message: "Device Taint manager: deleting due to NoExecute taint",
    lastTransitionTime: timeOf(clock.now()),
  };
  try {
    const patch = { metadata: { uid }, status: { conditions: [condition] } };
    await client.patch(Pod, { namespace, name }, "strategic", patch, { subresource: "status" });
    await client.delete(Pod, { namespace, name }, { preconditions: { uid: uid ?? "" } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
