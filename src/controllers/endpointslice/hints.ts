// Hints, by which proxies prefer endpoints near their clients, as `spec.trafficDistribution` asks for them.
// Upstream: staging/src/k8s.io/endpointslice/trafficdist/trafficdist.go.
import type { Service } from "#api/core/v1/service.ts";
import type { Endpoint, EndpointHints, EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { equal } from "#base/collections.ts";
import type { SlicePlan, WantedSlice } from "./plan.ts";

const near = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/** The plan with the hints that the service's traffic distribution asks for, or with none. */
export function withTrafficHints(plan: SlicePlan, { spec: { trafficDistribution = "" } }: Service): SlicePlan {
  if (!near.includes(trafficDistribution)) return rehinted(plan, () => undefined);
  const toNodes = trafficDistribution === "PreferSameNode";
  return rehinted(plan, (endpoint) => {
    const { zone, nodeName, hints } = endpoint;
    if (!isReadyEndpoint(endpoint)) return hints;
    const forZones = zone ? [{ name: zone }] : undefined;
    const forNodes = toNodes && nodeName ? [{ name: nodeName }] : undefined;
    return forZones || forNodes ? { ...(forZones && { forZones }), ...(forNodes && { forNodes }) } : undefined;
  });
}

export const withoutHints = (plan: SlicePlan): SlicePlan => rehinted(plan, () => undefined);

export const isReadyEndpoint = ({ conditions }: Endpoint): boolean => conditions.ready === true;

type HintsOf = (endpoint: Endpoint) => EndpointHints | undefined;

/** Gives each endpoint its hints; slices without other changes are rewritten only if their hints are wrong. */
export function rehinted(plan: SlicePlan, hintsOf: HintsOf): SlicePlan {
  const writes = plan.writes.map((wanted) => ({ ...wanted, endpoints: hinted(wanted.endpoints, hintsOf) }));
  const keeps: EndpointSlice[] = [];
  for (const slice of plan.keeps) {
    const endpoints = hinted(slice.endpoints, hintsOf);
    if (endpoints.every((endpoint, i) => endpoint === slice.endpoints[i])) keeps.push(slice);
    else writes.push({ ...rewritten(slice), endpoints });
  }
  return { ...plan, writes, keeps };
}

/** A slice to be written with nothing changed but what the caller changes. */
export const rewritten = (slice: EndpointSlice): WantedSlice => ({
  present: slice,
  addressType: slice.addressType,
  ports: slice.ports,
  endpoints: slice.endpoints,
  labels: slice.metadata.labels ?? {},
});

const hinted = (endpoints: readonly Endpoint[], hintsOf: HintsOf): readonly Endpoint[] =>
  endpoints.map((endpoint) => {
    const hints = hintsOf(endpoint);
    if (equal(hints, endpoint.hints)) return endpoint;
    const { hints: _old, ...others } = endpoint;
    return hints ? { ...others, hints } : others;
  });
