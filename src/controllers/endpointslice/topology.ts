// Hints by zone, as the annotation `service.kubernetes.io/topology-mode: Auto` asks for them: each zone gets a share of the endpoints
// that is in proportion to its CPUs. Where that cannot be done without overloading some endpoint, there are no hints at all.
// Upstream: staging/src/k8s.io/endpointslice/topologycache/topologycache.go and staging/src/k8s.io/endpointslice/topologycache/utils.go.
import type { Node } from "#api/core/v1/node.ts";
import type { Service } from "#api/core/v1/service.ts";
import type { Endpoint, EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { isReady } from "#rules/conditions.ts";
import { parseQuantity, quantityMilliValue } from "#schema/quantity.ts";
import { zoneLabel } from "./endpoints.ts";
import { isReadyEndpoint, rehinted, rewritten } from "./hints.ts";
import type { SlicePlan } from "./plan.ts";

/** How much more than its share of the load an endpoint may get. */
const overload = 0.2;

/** How many of a service's endpoints are meant for each zone. */
export type ByZone = ReadonlyMap<string, number>;

export interface Allocation {
  readonly minimum: number;
  readonly maximum: number;
  readonly desired: number;
}

export type AllocationResult<T> = { readonly of: T } | { readonly refusal: string };

export const wantsTopologyHints = ({ metadata: { annotations = {} } }: Service): boolean => {
  const mode =
    annotations["service.kubernetes.io/topology-aware-hints"] ?? annotations["service.kubernetes.io/topology-mode"];
  return mode === "Auto" || mode === "auto";
};

const excluded = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/** Each zone's part of all CPUs; undefined if a node does not say its zone or its CPUs, or if there are not two zones. */
export function zoneRatios(nodes: readonly Node[]): ByZone | undefined {
  const cpus = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const { labels = {} } = node.metadata;
    if (excluded.some((label) => Object.hasOwn(labels, label)) || !isReady(node)) continue;
    const zone = labels[zoneLabel];
    const cpu = Number(quantityMilliValue(parseQuantity(node.status.allocatable?.cpu ?? "0")));
    if (!zone || cpu === 0) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0) + cpu);
    total += cpu;
  }
  if (cpus.size < 2) return undefined;
  return new Map([...cpus].map(([zone, cpu]) => [zone, cpu / total]));
}

/** How many of `count` endpoints each zone should get. */
export function allocate(ratios: ByZone | undefined, count: number): AllocationResult<ReadonlyMap<string, Allocation>> {
  if (!ratios)
    return {
      refusal: "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
    };
  const numbers = `(${count} endpoints, ${ratios.size} zones)`;
  if (ratios.size > count) return { refusal: `Insufficient number of endpoints ${numbers}` };
  const minima = new Map([...ratios].map(([zone, ratio]) => [zone, Math.ceil((ratio * count) / (1 + overload))]));
  const spare = count - [...minima.values()].reduce((a, b) => a + b, 0);
  if (spare < 0)
    return {
      refusal: `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${numbers}`,
    };
  const allocation = ([zone, minimum]: readonly [string, number]) =>
    [zone, { minimum, maximum: minimum + spare, desired: Math.max((ratios.get(zone) ?? 0) * count, minimum) }] as const;
  return { of: new Map([...minima].map(allocation)) };
}

/** Whether some zone has too few endpoints for its part of the CPUs. */
export function isOverloaded(endpoints: ByZone, ratios: ByZone | undefined): boolean {
  if (endpoints.size === 0) return false;
  if (!ratios) return true;
  const total = [...endpoints.values()].reduce((a, b) => a + b, 0);
  return [...ratios].some(([zone, ratio]) => (endpoints.get(zone) ?? -1) < Math.ceil((total * ratio) / (1 + overload)));
}

export interface HintResult {
  readonly plan: SlicePlan;
  readonly byZone: ByZone;
}

/** The plan with hints that give each zone its share, changing as few slices as that takes. */
export function withZoneHints(plan: SlicePlan, ratios: ByZone | undefined): AllocationResult<HintResult> {
  const all = [...plan.writes, ...plan.keeps].flatMap(({ endpoints }) => endpoints.filter(isReadyEndpoint));
  const allocated = allocate(ratios, all.length);
  if ("refusal" in allocated) return allocated;
  const { keeps, byZone } = trusted(plan.keeps, allocated.of);
  const redone = plan.keeps.filter((slice) => !keeps.includes(slice)).map(rewritten);
  const writes = [...plan.writes, ...redone];
  const zones = new Map<Endpoint, string>();
  for (const endpoint of writes.flatMap(({ endpoints }) => endpoints)) {
    if (!isReadyEndpoint(endpoint)) continue;
    if (!endpoint.zone) return { refusal: "One or more endpoints do not have a zone specified" };
    zones.set(endpoint, endpoint.zone);
    byZone.set(endpoint.zone, (byZone.get(endpoint.zone) ?? 0) + 1);
  }
  redistribute(zones, byZone, allocated.of);
  if (byZone.size === 0) return { refusal: "No hints allocated for zones" };
  const hintsOf = (endpoint: Endpoint) => {
    const zone = zones.get(endpoint);
    return zone === undefined ? undefined : { forZones: [{ name: zone }] };
  };
  return { of: { plan: { ...plan, keeps, writes: rehinted({ ...plan, writes, keeps: [] }, hintsOf).writes }, byZone } };
}

/** Slices whose hints may stay: every ready endpoint has some, and they leave each other zone its least. */
function trusted(slices: readonly EndpointSlice[], allocations: ReadonlyMap<string, Allocation>) {
  const byZone = new Map<string, number>();
  const keeps = slices.filter(({ endpoints }) => {
    const hints = new Map<string, number>();
    for (const endpoint of endpoints.filter(isReadyEndpoint)) {
      const { forZones = [] } = endpoint.hints ?? {};
      if (forZones.length === 0 || forZones.some(({ name }) => !allocations.has(name))) return false;
      for (const { name } of forZones) hints.set(name, (hints.get(name) ?? 0) + 1);
    }
    const sum = (zone: string, count: number) => count + (byZone.get(zone) ?? 0);
    if ([...hints].some(([zone, count]) => sum(zone, count) > (allocations.get(zone)?.maximum ?? 0))) return false;
    for (const [zone, count] of hints) byZone.set(zone, sum(zone, count));
    return true;
  });
  return { keeps, byZone };
}

/** Moves endpoints from zones with more than their share to zones with less, one by one, always between the extremes. */
function redistribute(
  zones: Map<Endpoint, string>,
  byZone: Map<string, number>,
  allocations: ReadonlyMap<string, Allocation>,
): void {
  const surplus = new Map([...allocations].map(([zone, { desired }]) => [zone, (byZone.get(zone) ?? 0) - desired]));
  const movable = Map.groupBy(zones.keys(), (endpoint) => zones.get(endpoint) ?? "");
  for (;;) {
    const [giver, give] = [...surplus].reduce((a, b) => (b[1] > a[1] ? b : a));
    const [receiver, least] = [...surplus].reduce((a, b) => (b[1] < a[1] ? b : a));
    const receive = -least;
    if ((give < 1 && receive < 1) || give < 0.5 || receive < 0.5) return;
    surplus.set(giver, give - 1);
    surplus.set(receiver, least + 1);
    const endpoint = movable.get(giver)?.shift();
    if (!endpoint) continue; // what the zone has too much of is in slices that stay as they are
    zones.set(endpoint, receiver);
    byZone.set(giver, (byZone.get(giver) ?? 0) - 1);
    byZone.set(receiver, (byZone.get(receiver) ?? 0) + 1);
  }
}
