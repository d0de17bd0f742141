// Takes claims back from pods that are gone or have ended: their reservations, then their devices, then claims that were made for them.
// Upstream: pkg/controller/resourceclaim/controller.go.
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { isNotFound } from "#base/errors.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import { claimFinalizer, isDone } from "#rules/devices/resource-claims.ts";
import { controllerOf } from "#rules/owners.ts";
import { podsByResourceClaim } from "./pod-claims.ts";

type Consumer = NonNullable<ResourceClaim["status"]["reservedFor"]>[number];

export const claimCleanupController = controller({
  name: "resourceclaim-cleanup",
  queue: "resource_claim",
  reportsAs: "resource_claim",
  for: ResourceClaim,
  reads: [Pod],
  watches: [
    watching(
      Pod,
      (pod, cache) => {
        const { namespace = "" } = pod.metadata;
        const keys = podsByResourceClaim
          .values(pod)
          .map((key) => ({ namespace, name: key.slice(namespace.length + 1) }));
        return [...keys, ...cache.owned(ResourceClaim, pod).map(({ metadata }) => metadata)];
      },
      (old, pod) => isDone(old) !== isDone(pod) || old.metadata.uid !== pod.metadata.uid,
    ),
  ],
  workers: 50,

  async reconcile(claim, context) {
    const reservedFor = claim.status.reservedFor ?? [];
    const remaining: Consumer[] = [];
    for (const consumer of reservedFor) if (!(await isOver(claim, consumer, context))) remaining.push(consumer);
    const hasFinalizer = claim.metadata.finalizers?.includes(claimFinalizer) ?? false;
    let present = claim;
    if (remaining.length < reservedFor.length) present = await release(claim, remaining, hasFinalizer, context);
    else if (hasFinalizer && claim.metadata.deletionTimestamp && remaining.length === 0)
      present = claim.status.allocation ? await release(claim, [], true, context) : claim;
    const isFree = present.status.allocation === undefined && remaining.length === 0;
    const isReleased = present !== claim || claim.metadata.deletionTimestamp !== undefined;
    if (hasFinalizer && isFree && isReleased) await unprotect(present, context);
    if (remaining.length === 0) await deleteUnused(claim, context);
  },
});

/** Whether who had reserved the claim will not use it any more. A pod that the cache does not know may be new: the server is asked. */
async function isOver(
  { metadata: { namespace } }: ResourceClaim,
  { apiGroup = "", resource, name, uid }: Consumer,
  context: Reconcile,
) {
  if (apiGroup !== "" || resource !== "pods") return false;
  const known = context.cache.get(Pod, { namespace, name });
  if (known) return known.metadata.uid !== uid || isDone(known);
  try {
    return (await context.client.get(Pod, { namespace, name })).metadata.uid !== uid;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

function release(claim: ResourceClaim, remaining: readonly Consumer[], isOurs: boolean, { client }: Reconcile) {
  const { allocation, devices, ...rest } = claim.status;
  const isKept = remaining.length > 0 || !isOurs;
  const status = {
    ...rest,
    reservedFor: [...remaining],
    ...(isKept && allocation && { allocation }),
    ...(isKept && devices && { devices }),
  };
  return client.update(ResourceClaim, { ...claim, status }, "status");
}

async function unprotect(claim: ResourceClaim, { client }: Reconcile): Promise<void> {
  const finalizers = (claim.metadata.finalizers ?? []).filter((one) => one !== claimFinalizer);
  try {
    await client.update(ResourceClaim, { ...claim, metadata: { ...claim.metadata, finalizers } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** A claim that was made for a pod that has ended is of use to nobody; that of a pod that is gone is for the garbage collector. */
async function deleteUnused({ metadata, ...rest }: ResourceClaim, { client, cache }: Reconcile): Promise<void> {
  const owner = controllerOf({ metadata, ...rest });
  if (owner?.kind !== "Pod" || metadata.deletionTimestamp) return;
  const pod = cache.get(Pod, { namespace: metadata.namespace, name: owner.name });
  if (!pod || (pod.metadata.uid === owner.uid && !isDone(pod))) return;
  try {
    await client.delete(ResourceClaim, metadata, { preconditions: { uid: metadata.uid ?? "" } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
