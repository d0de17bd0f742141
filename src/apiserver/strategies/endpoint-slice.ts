// What becomes of endpoint slices on their way in.
// Upstream: pkg/registry/discovery/endpointslice/strategy.go.
import type { Endpoint, EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { equal } from "#base/collections.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Strategy } from "../registry/strategy.ts";

const hostname = "kubernetes.io/hostname";

export const endpointSlice: Strategy = {
  countsGenerations: true,
  wanted: ({ metadata, ...rest }) => [rest, metadata.labels],
  prepareForCreate: (object) => dropTopology(object, undefined),
  prepareForUpdate(object, old) {
    if (equal(object.endpoints, old.endpoints)) return;
    dropTopology(object, old);
  },
  *warnings(object) {
    const { addressType } = object as unknown as EndpointSlice;
    if (addressType === "FQDN") yield "spec.addressType: FQDN endpoints are deprecated";
  },
};

/** The old labels are no longer taken, but a node that was named by one stays named. */
function dropTopology(object: DraftObject, old: ApiObject | undefined): void {
  const before: readonly Endpoint[] = old?.endpoints ?? [];
  const nodes = new Set(before.map(({ deprecatedTopology }) => deprecatedTopology?.[hostname]));
  const endpoints: readonly Endpoint[] = object.endpoints ?? [];
  object.endpoints = endpoints.map(({ deprecatedTopology, ...endpoint }) => {
    const node = deprecatedTopology?.[hostname];
    const keeps = endpoint.nodeName === undefined && node && nodes.has(node) && dns1123Subdomain(node).length === 0;
    return keeps ? { ...endpoint, nodeName: node } : endpoint;
  });
}
