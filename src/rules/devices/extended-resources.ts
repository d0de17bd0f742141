// Extended resources that device classes stand behind: pods ask for them as for those of device plugins, and get devices by a claim
// that the scheduler makes for them.
// Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
import { isExtended, isSidecar } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { ContainerExtendedResourceRequest, Pod } from "#api/core/v1/pod.ts";
import type { DeviceClass } from "#api/resource/v1/device-class.ts";
import type { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";

/** Marks the claim that was made for the extended resources of a pod. */
export const extendedClaimAnnotation = "resource.kubernetes.io/extended-resource-claim";
/** Every class can be asked for by this and its name. */
const classPrefix = "deviceclass.resource.kubernetes.io/";

/** Whether a device class may stand behind a resource of this name. */
export const canBeByClass = (resource: string): boolean => isExtended(resource) || resource.startsWith(classPrefix);

/** The names of resources by which containers can ask for devices of a class. */
export const resourcesOfClass = ({ metadata, spec }: DeviceClass): readonly string[] => [
  `${classPrefix}${metadata.name}`,
  ...(spec.extendedResourceName ? [spec.extendedResourceName] : []),
];

/** Of several classes with one resource the newest counts; of those of one second the first by name. */
export const classOfResource = (classes: readonly DeviceClass[]): DeviceClass | undefined =>
  classes.toSorted(
    ({ metadata: a }, { metadata: b }) =>
      (b.creationTimestamp ?? "").localeCompare(a.creationTimestamp ?? "") ||
      (a.name ?? "").localeCompare(b.name ?? ""),
  )[0];

type DeviceRequest = ResourceClaim["spec"]["devices"]["requests"][number];

interface CountedRequest {
  readonly name: string;
  readonly count: number;
}

export interface ExtendedRequests {
  readonly requests: readonly DeviceRequest[];
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

/** The requests of the claim that stands for these resources of a pod, given the names of their classes. */
export function extendedRequests({ spec }: Pod, classes: ReadonlyMap<string, string>): ExtendedRequests {
  const initContainers = spec.initContainers ?? [];
  const containers = [...initContainers, ...spec.containers];
  const isPassing = containers.map((container, i) => i < initContainers.length && !isSidecar(container));
  const requests: DeviceRequest[] = [];
  const mappings: ContainerExtendedResourceRequest[] = [];
  for (const [resource, deviceClassName] of [...classes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { counted, mapped } = requestsOf(resource, containers, isPassing);
    for (const { name, count } of counted)
      requests.push({ name, exactly: { deviceClassName, allocationMode: "ExactCount", count } });
    mappings.push(...mapped);
  }
  return { requests: requests.sort((a, b) => (a.name < b.name ? -1 : 1)), mappings };
}

/**
 * Containers that stay have devices of their own. One that ends before others begin uses theirs first; what it needs beyond them is one
 * request for all such containers, as large as the largest of them.
 */
function requestsOf(resource: string, containers: readonly Container[], isPassing: readonly boolean[]) {
  const staying = containers.map((one, i) => (isPassing[i] ? undefined : need(one, i, resource, [])));
  const passing = containers.map((one, i) => (isPassing[i] ? need(one, i, resource, staying.slice(i)) : undefined));
  const largest = passing
    .flatMap((one) => one?.own ?? [])
    .reduce<CountedRequest | undefined>((most, one) => (most && most.count >= one.count ? most : one), undefined);
  const mapped = [...staying, ...passing].flatMap((one) => {
    if (!one) return [];
    const own = one.own && (passing.includes(one) ? largest : one.own);
    return [...one.reused, ...(own ? [own] : [])].map(({ name }) => ({
      containerName: one.container,
      resourceName: resource,
      requestName: name,
    }));
  });
  return { counted: [...(largest ? [largest] : []), ...staying.flatMap((one) => one?.own ?? [])], mapped };
}

interface ContainerNeed {
  readonly container: string;
  readonly reused: readonly CountedRequest[];
  /** What the reused ones do not suffice for. */
  readonly own: CountedRequest | undefined;
}

function need(
  { name: container, resources }: Container,
  at: number,
  resource: string,
  reusable: readonly (ContainerNeed | undefined)[],
): ContainerNeed | undefined {
  const names = Object.keys(resources.requests ?? {}).sort();
  const amount = resources.requests?.[resource];
  let left = amount === undefined ? 0 : Number(quantityValue(parseQuantity(amount)));
  if (left === 0) return undefined;
  const reused: CountedRequest[] = [];
  for (const one of reusable) {
    if (left <= 0 || !one?.own) continue;
    reused.push(one.own);
    left -= one.own.count;
  }
  const own = left > 0 ? { name: `container-${at}-request-${names.indexOf(resource)}`, count: left } : undefined;
  return { container, reused, own };
}

/** Whether the resource of the container comes from the claim for extended resources, and not from a device plugin. */
export const isByClaim = ({ status }: Pod, container: string, resource: string): boolean =>
  status.extendedResourceClaimStatus?.requestMappings.some(
    (one) => one.containerName === container && one.resourceName === resource,
  ) ?? false;
