// Labels, addresses and keys of services, for all parts that read them.
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";

/** On an EndpointSlice: whose endpoints it has. */
export const serviceNameLabel = "kubernetes.io/service-name";

/** The addresses of the service itself; a headless one has none. */
export const clusterAddresses = ({ clusterIP = "", clusterIPs = [] }: Service["spec"]): readonly string[] =>
  (clusterIPs.length > 0 ? clusterIPs : [clusterIP]).filter((address) => address !== "" && address !== "None");

/** The key of the service whose endpoints a slice has: `default/web`; undefined for one that is nobody's. */
export function serviceKeyOf({ metadata: { namespace, labels } }: EndpointSlice): string | undefined {
  const name = labels?.[serviceNameLabel];
  return name ? `${namespace}/${name}` : undefined;
}
