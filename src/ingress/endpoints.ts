import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";

/** Addresses that take requests, straight at the pods: `10.244.1.2:80`. */
export function serversIn({ addressType, endpoints, ports }: EndpointSlice, portName: string): readonly string[] {
  if (addressType === "FQDN") return [];
  const port = ports.find(({ name = "" }) => name === portName)?.port;
  if (port === undefined) return [];
  return endpoints
    .filter(({ conditions }) => conditions.ready !== false)
    .flatMap(({ addresses }) =>
      addresses.map((address) => (address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`)),
    );
}
