// Mirrors Endpoints that people make for services without a selector to EndpointSlices, which is all that proxies read.
// Upstream: pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go and pkg/controller/endpointslicemirroring/reconciler.go.

import { type EndpointAddress, type EndpointSubset, Endpoints } from "#api/core/v1/endpoints.ts";
import { Service } from "#api/core/v1/service.ts";
import { type Endpoint, type EndpointPort, EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { equal } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import type { ObjectKey } from "#client/object-key.ts";
import { serviceNameLabel } from "#rules/services.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import type { Labels } from "#schema/selector.ts";
import { repackSubsets } from "../endpoints/subsets.ts";
import { hasSelector, triggerTimeAnnotation } from "../services.ts";
import { type AddressFamily, endpointKey, type PortGroup, portsKey, sameEndpoint } from "./endpoints.ts";
import type { SlicePlan, WantedSlice } from "./plan.ts";
import { managedByLabel, slicesOf, watchingSlicesOf } from "./slice-labels.ts";
import { writePlan } from "./write.ts";

const manager = "endpointslicemirroring-controller.k8s.io";
const mostPerSubset = 1000;
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
const skipLabel = "endpointslice.kubernetes.io/skip-mirror";

export const endpointSliceMirroringController = controller({
  name: "endpointslicemirroring",
  queue: "endpoint_slice_mirroring",
  reportsAs: "endpoint-slice-mirroring-controller",
  for: Endpoints,
  watches: [
    watching(
      Service,
      ({ metadata }) => [metadata],
      (old, service) => hasSelector(old.spec) !== hasSelector(service.spec),
    ),
    watchingSlicesOf(manager),
  ],
  batchMs: 100,

  async reconcile(endpoints, context) {
    const { metadata } = endpoints;
    const service = context.cache.get(Service, metadata);
    if (!isMirrored(metadata) || !service || hasSelector(service.spec)) return removeMirrors(metadata, context);
    const { groups, invalid, skipped } = mirrored(endpoints.subsets ?? []);
    if (invalid > 0) {
      const message = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
      context.event("Warning", "InvalidIPAddress", message);
    }
    if (skipped > invalid) {
      const message = `A max of ${mostPerSubset} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`;
      context.event("Warning", "TooManyAddressesToMirror", message);
    }
    const plan = planMirrors(endpoints, groups, mirrorsOf(metadata, context));
    await writePlan(plan, { kind: Endpoints, object: endpoints, annotations: () => annotationsOf(metadata) }, context);
  },
  gone: removeMirrors,
});

/** Endpoints with a leader election record are not mirrored: they have no addresses. */
const isMirrored = ({ labels = {}, annotations = {} }: ObjectMeta): boolean =>
  labels[skipLabel] !== "true" && !Object.hasOwn(annotations, leaderAnnotation);

function mirrorsOf({ namespace, name = "" }: Pick<ObjectMeta, "namespace" | "name">, { cache }: Reconcile) {
  const { index, value } = slicesOf(namespace, name, manager);
  return cache.by(index, value);
}

async function removeMirrors(place: ObjectKey, context: Reconcile): Promise<void> {
  for (const { metadata } of mirrorsOf(place, context)) {
    try {
      await context.client.delete(EndpointSlice, metadata);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

interface MirrorResult {
  readonly groups: ReadonlyMap<string, PortGroup & { readonly family: AddressFamily }>;
  /** The number of invalid addresses. */
  readonly invalid: number;
  /** How many addresses were left out for any reason. */
  readonly skipped: number;
}

function mirrored(subsets: readonly EndpointSubset[]): MirrorResult {
  const groups = new Map<string, PortGroup & { family: AddressFamily }>();
  let invalid = 0;
  let skipped = 0;
  for (const subset of repackSubsets(subsets)) {
    const ports = (subset.ports ?? []).map(
      ({ name = "", port, protocol, appProtocol }): EndpointPort => ({
        name,
        port,
        protocol,
        ...(appProtocol !== undefined && { appProtocol }),
      }),
    );
    const all = [
      ...(subset.addresses ?? []).map((address) => endpointOf(address, true)),
      ...(subset.notReadyAddresses ?? []).map((address) => endpointOf(address, false)),
    ];
    let added = 0;
    for (const mirrored of all) {
      if (added >= mostPerSubset) break;
      if (!mirrored) {
        invalid++;
        continue;
      }
      added++;
      const key = groupKey(mirrored.family, ports);
      const group = groups.get(key) ?? { family: mirrored.family, ports, endpoints: new Map<string, Endpoint>() };
      groups.set(key, group);
      group.endpoints.set(endpointKey(mirrored.endpoint), mirrored.endpoint);
    }
    skipped += all.length - added;
  }
  return { groups, invalid, skipped };
}

const groupKey = (family: string, ports: readonly EndpointPort[]): string => `${family}\n${portsKey(ports)}`;

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean) {
  const parsed = parseIp(ip);
  if (!parsed) return undefined;
  const endpoint: Endpoint = {
    addresses: [formatIp(parsed)],
    conditions: { ready },
    ...(targetRef && { targetRef }),
    ...(nodeName !== undefined && { nodeName }),
    ...(hostname && { hostname }),
  };
  return { endpoint, family: parsed.family === 4 ? ("IPv4" as const) : ("IPv6" as const) };
}

/** One slice for each set of ports and each family. */
function planMirrors(
  { metadata }: Endpoints,
  groups: MirrorResult["groups"],
  slices: readonly EndpointSlice[],
): SlicePlan {
  const labels = { ...metadata.labels, [serviceNameLabel]: metadata.name, [managedByLabel]: manager };
  const present = Map.groupBy(slices, ({ addressType, ports }) => groupKey(addressType, ports));
  const keeps: EndpointSlice[] = [];
  const writes: WantedSlice[] = [];
  for (const [key, { ports, endpoints, family }] of groups) {
    const first = present.get(key)?.[0];
    const wanted = { addressType: family, ports, endpoints: [...endpoints.values()], labels, present: first };
    if (first && isRight(first, endpoints, labels, metadata)) keeps.push(first);
    else writes.push(wanted);
  }
  const used = new Set([...keeps, ...writes.flatMap((wanted) => wanted.present ?? [])]);
  const spare = slices.filter((slice) => !used.has(slice));
  const recycle = ({ addressType }: WantedSlice): EndpointSlice | undefined => {
    const at = spare.findIndex((slice) => slice.addressType === addressType);
    return at < 0 ? undefined : spare.splice(at, 1)[0];
  };
  const recycled = writes.map((wanted) => (wanted.present ? wanted : { ...wanted, present: recycle(wanted) }));
  return { writes: recycled, keeps, deletes: spare };
}

function isRight(
  slice: EndpointSlice,
  endpoints: ReadonlyMap<string, Endpoint>,
  labels: Labels,
  owner: ObjectMeta,
): boolean {
  const { metadata } = slice;
  const isAnothers = ({ kind, name, uid }: { kind: string; name: string; uid: string }) =>
    kind === "Endpoints" && name === owner.name && uid !== owner.uid;
  return (
    slice.endpoints.length === endpoints.size &&
    slice.endpoints.every((endpoint) => {
      const wanted = endpoints.get(endpointKey(endpoint));
      return wanted !== undefined && sameEndpoint(wanted, endpoint);
    }) &&
    equal(metadata.labels ?? {}, labels) &&
    equal(metadata.annotations, annotationsOf(owner)) &&
    metadata.ownerReferences?.some(isAnothers) !== true
  );
}

function annotationsOf({ annotations = {} }: ObjectMeta): ObjectMeta["annotations"] {
  const { [triggerTimeAnnotation]: _time, [lastAppliedAnnotation]: _applied, ...others } = annotations;
  return Object.keys(others).length > 0 ? others : undefined;
}
