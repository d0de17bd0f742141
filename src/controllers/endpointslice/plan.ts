// Which slices to write so that they hold the endpoints of a service. Pure: what there is and what there should be → what to do.
//
// Slices are not packed tightly: a packed one would be rewritten, and sent to every node, whenever a pod comes or goes. What is in
// a slice stays in it, slices that must be written anyway are filled first, and the rest goes into one slice with enough room, or
// into new ones.
// Upstream: staging/src/k8s.io/endpointslice/reconciler.go.
import type { Service } from "#api/core/v1/service.ts";
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { equal } from "#base/collections.ts";
import { serviceNameLabel } from "#rules/services.ts";
import type { Labels } from "#schema/selector.ts";
import { headlessLabel, isHeadless } from "../services.ts";
import {
  type AddressFamily,
  type DesiredEndpoints,
  EndpointMemo,
  type PortGroup,
  portsKey,
  sameEndpoint,
} from "./endpoints.ts";
import { managedByLabel, mirrorsLabels, withoutReserved } from "./slice-labels.ts";

export const manager = "endpointslice-controller.k8s.io";
export const mostPerSlice = 100;

/** A slice to be written. */
export interface WantedSlice {
  /** What it is now; absent if it is to be created. */
  readonly present?: EndpointSlice | undefined;
  readonly addressType: EndpointSlice["addressType"];
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  readonly labels: Labels;
}

export interface SlicePlan {
  readonly writes: readonly WantedSlice[];
  readonly deletes: readonly EndpointSlice[];
  /** Slices that stay as they are. */
  readonly keeps: readonly EndpointSlice[];
}

export interface SliceScene {
  readonly service: Service;
  readonly family: AddressFamily;
  readonly desired: DesiredEndpoints["groups"];
  /** The slices of that family that we manage for a service of that name. */
  readonly slices: readonly EndpointSlice[];
  readonly most?: number;
  readonly memo?: EndpointMemo;
}

export function planSlices(scene: SliceScene): SlicePlan {
  const { service, family, desired, slices, most = mostPerSlice, memo = new EndpointMemo() } = scene;
  const labels = labelsFor(service);
  const own = slices.filter((slice) => isOwnedBy(slice, service));
  const foreign = slices.filter((slice) => !own.includes(slice));
  const byPorts = Map.groupBy(own, ({ ports }) => portsKey(ports));
  const plans = [...desired].map(([key, group]) =>
    pack({ group, slices: byPorts.get(key) ?? [], labels, serviceLabels: service.metadata.labels, family, most, memo }),
  );
  const outdated = own.filter(({ ports }) => !desired.has(portsKey(ports)));
  const plan = {
    writes: plans.flatMap(({ writes }) => writes),
    keeps: plans.flatMap(({ keeps }) => keeps),
    deletes: [...foreign, ...plans.flatMap(({ deletes }) => deletes), ...outdated],
  };
  return recycled(service, withPlaceholder(plan, { labels, addressType: family, ports: [], endpoints: [] }));
}

interface Packing {
  readonly group: PortGroup;
  readonly slices: readonly EndpointSlice[];
  readonly labels: Labels;
  readonly serviceLabels: Labels | undefined;
  readonly family: AddressFamily;
  readonly most: number;
  readonly memo: EndpointMemo;
}

/** Distributes the endpoints of one group over its slices. */
function pack({ group, slices, labels, serviceLabels, family, most, memo }: Packing): SlicePlan {
  const left = new Map(group.endpoints);
  const deletes: EndpointSlice[] = [];
  const changed: { present: EndpointSlice; endpoints: Endpoint[] }[] = [];
  let keeps: EndpointSlice[] = [];
  for (const present of slices) {
    const { endpoints, isChanged } = retained(present, left, memo);
    if (endpoints.length === 0 && isChanged) deletes.push(present);
    else if (isChanged || !mirrorsLabels(present.metadata.labels, serviceLabels)) changed.push({ present, endpoints });
    else keeps.push(present);
  }

  // The fullest first, so that few stay half empty.
  for (const { endpoints } of changed.toSorted((a, b) => b.endpoints.length - a.endpoints.length))
    endpoints.push(...take(left, most - endpoints.length));

  const created: Endpoint[][] = [];
  while (left.size > 0) {
    const roomy = left.size < most ? fullestWithRoom(keeps, left.size, most) : undefined;
    if (roomy) {
      keeps = keeps.filter((slice) => slice !== roomy);
      changed.push({ present: roomy, endpoints: [...roomy.endpoints, ...take(left, most)] });
    } else created.push(take(left, most));
  }
  const { ports } = group;
  const common = { addressType: family, labels, ports };
  return {
    writes: [
      ...changed.map(({ present, endpoints }) => ({ ...common, present, endpoints })),
      ...created.map((endpoints) => ({ ...common, endpoints })),
    ],
    keeps,
    deletes,
  };
}

/** The endpoints of a slice that are still wanted, updated. They are removed from `left`, the endpoints still to be placed. */
function retained({ endpoints }: EndpointSlice, left: Map<string, Endpoint>, memo: EndpointMemo) {
  const kept: Endpoint[] = [];
  let isChanged = false;
  for (const endpoint of endpoints) {
    const key = memo.key(endpoint);
    const wanted = left.get(key);
    if (!wanted) continue;
    left.delete(key);
    kept.push(wanted);
    isChanged ||= !sameEndpoint(wanted, endpoint);
  }
  return { endpoints: kept, isChanged: isChanged || kept.length !== endpoints.length };
}

function take(left: Map<string, Endpoint>, count: number): Endpoint[] {
  const taken: Endpoint[] = [];
  for (const [key, endpoint] of left) {
    if (taken.length >= count) break;
    taken.push(endpoint);
    left.delete(key);
  }
  return taken;
}

/** The slice that will be closest to full with `count` more. */
function fullestWithRoom(slices: readonly EndpointSlice[], count: number, most: number): EndpointSlice | undefined {
  const roomy = slices.filter(({ endpoints }) => endpoints.length + count <= most);
  return roomy.toSorted((a, b) => b.endpoints.length - a.endpoints.length)[0];
}

/** A service without endpoints has one empty slice: it says that there are none, where no slice would say nothing. */
function withPlaceholder(plan: SlicePlan, placeholder: WantedSlice): SlicePlan {
  if (plan.writes.length > 0 || plan.keeps.length > 0) return plan;
  const [first, ...others] = plan.deletes;
  if (first && others.length === 0 && isPlaceholder(first, placeholder))
    return { ...plan, keeps: [first], deletes: [] };
  return { ...plan, writes: [placeholder] };
}

const isPlaceholder = ({ metadata, ports, endpoints }: EndpointSlice, { labels }: WantedSlice): boolean =>
  ports.length === 0 && endpoints.length === 0 && equal(metadata.labels ?? {}, labels);

/** Turns pairs of a deletion and a creation into updates: watchers see fewer changes, and never a moment without endpoints. */
function recycled(service: Service, { writes, deletes, keeps }: SlicePlan): SlicePlan {
  const spare = deletes.filter((slice) => isOwnedBy(slice, service));
  const reused = writes.map((wanted) => (wanted.present ? wanted : { ...wanted, present: spare.shift() }));
  const kept = new Set(reused.map(({ present }) => present));
  return { writes: reused, deletes: deletes.filter((slice) => !kept.has(slice)), keeps };
}

/** Slices of an earlier service of the same name are the garbage collector's, not to be reused. */
const isOwnedBy = ({ metadata }: EndpointSlice, service: Service): boolean =>
  metadata.ownerReferences?.some(
    ({ uid, kind, apiVersion }) => uid === service.metadata.uid && kind === "Service" && apiVersion === "v1",
  ) === true;

const labelsFor = (service: Service): Labels => ({
  ...withoutReserved(service.metadata.labels),
  ...(isHeadless(service) && { [headlessLabel]: "" }),
  [serviceNameLabel]: service.metadata.name,
  [managedByLabel]: manager,
});
