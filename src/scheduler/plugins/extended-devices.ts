// What the scheduler knows of extended resources that device classes stand behind.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go.
import type { ContainerExtendedResourceRequest } from "#api/core/v1/pod.ts";
import { DeviceClass } from "#api/resource/v1/device-class.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { index } from "#client/cache.ts";
import type { CacheView } from "#client/controller.ts";
import {
  canBeByClass,
  classOfResource,
  extendedClaimAnnotation,
  extendedRequests,
  resourcesOfClass,
} from "#rules/devices/extended-resources.ts";
import { controllerOf } from "#rules/owners.ts";
import type { ObjectChange } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";

const classesByResource = index(DeviceClass, resourcesOfClass);

/** The resources of a pod that classes stand behind, with the names of the classes. */
export function resourcesByClass({ request }: PodView, cache: CacheView): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [resource, asked] of request.others) {
    if (asked === 0 || !canBeByClass(resource) || cache.count(classesByResource, resource) === 0) continue;
    const name = classOfResource(cache.by(classesByResource, resource))?.metadata.name;
    if (name !== undefined) found.set(resource, name);
  }
  return found;
}

/** Whether a class now stands behind a resource of the pod, and did not before. */
export function isNewlyByClass({ request }: PodView, { old, now }: ObjectChange<DeviceClass>): boolean {
  if (!now || (old && old.spec.extendedResourceName === now.spec.extendedResourceName)) return false;
  return resourcesOfClass(now).some((resource) => request.others.has(resource));
}

/** Devices that a pod wants by the names of extended resources. */
export interface ExtendedDemand {
  readonly classes: ReadonlyMap<string, string>;
  /** Left by an earlier attempt, whose devices may be the wrong ones by now. */
  readonly leftover: ResourceClaim | undefined;
  /** The claim before it is made: only its uid is certain. */
  readonly draft: ResourceClaim;
}

/** A claim for the resources that a node does not have by device plugins. */
export interface ExtendedClaim {
  readonly claim: ResourceClaim;
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

export function extendedDemand(pod: PodView, cache: CacheView, uid: () => string): ExtendedDemand | undefined {
  const classes = resourcesByClass(pod, cache);
  if (classes.size === 0) return undefined;
  const leftover = cache.owned(ResourceClaim, pod.pod).find(({ metadata }) => isExtendedClaim(metadata));
  const draft: ResourceClaim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      namespace: pod.namespace,
      name: "<extended-resources>",
      uid: uid(),
      creationTimestamp: "",
      resourceVersion: "0",
    },
    spec: { devices: { requests: [] } },
    status: {},
  };
  return { classes, leftover, draft };
}

const isExtendedClaim = ({ annotations }: ResourceClaim["metadata"]): boolean =>
  annotations?.[extendedClaimAnnotation] === "true";

/** Undefined if the node has all of them by device plugins. */
export function extendedClaim(
  { pod }: PodView,
  { classes, draft }: ExtendedDemand,
  { allocatable }: NodeState,
): ExtendedClaim | undefined {
  const missing = [...classes].filter(([resource]) => (allocatable.others.get(resource) ?? 0) === 0);
  if (missing.length === 0) return undefined;
  const { requests, mappings } = extendedRequests(pod, new Map(missing));
  return { claim: { ...draft, spec: { devices: { requests: [...requests] } } }, mappings };
}

export const isExtendedClaimOf = ({ uid }: PodView, claim: ResourceClaim | undefined): boolean =>
  claim !== undefined && isExtendedClaim(claim.metadata) && controllerOf(claim)?.uid === uid;
