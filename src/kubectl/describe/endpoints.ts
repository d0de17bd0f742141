// Where a service leads to.
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { serviceNameLabel } from "#rules/services.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { type DescribeContext, listAll } from "./describer.ts";

const sliceMapping: RestMapping = {
  group: "discovery.k8s.io",
  version: "v1",
  resource: "endpointslices",
  singular: "endpointslice",
  kind: "EndpointSlice",
  isNamespaced: true,
  verbs: [],
};
const mostShown = 3;

/** Rejects with ApiError. */
export const slicesOf = (context: DescribeContext, namespace: string, service: string): Promise<EndpointSlice[]> =>
  listAll<EndpointSlice>(context, sliceMapping, namespace, {
    labelSelector: `${serviceNameLabel}=${service}`,
    inPages: false,
  });

/** The first few addresses behind a port of the service, and how many more there are. */
export function endpointsText(slices: readonly EndpointSlice[], portName: string): string {
  if (slices.length === 0) return "<none>";
  const found = slices.flatMap(({ ports = [], endpoints }) => {
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    // A service without ports has addresses all the same.
    if (ports.length === 0) return ready.map(({ addresses }) => addresses[0] ?? "");
    return ports
      .filter(({ name = "" }) => name === portName)
      .flatMap(({ port }) => ready.map(({ addresses }) => joined(addresses[0] ?? "", port ?? 0)));
  });
  const shown = found.slice(0, mostShown).join(",");
  return found.length > mostShown ? `${shown} + ${found.length - mostShown} more...` : shown;
}

const joined = (host: string, port: number): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;
