// What the cluster's DNS knows: services, their endpoints, and which namespaces there are.
import { Namespace } from "#api/core/v1/namespace.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { type Cache, index } from "#client/cache.ts";
import type { Informers } from "#client/informers.ts";
import { slicesOf } from "#client/service-slices.ts";
import { clusterAddresses, serviceNameLabel } from "#rules/services.ts";

/** One address that traffic for a service may be sent to, and the ports it has there. */
export interface EndpointAddress {
  readonly address: string;
  /** The first label of its own name below the service's. */
  readonly label: string;
  readonly ports: readonly NamedPort[];
}

export interface NamedPort {
  readonly name: string;
  /** `tcp`, `udp` or `sctp`. */
  readonly protocol: string;
  readonly port: number;
}

export interface Directory {
  hasNamespace(name: string): boolean;
  service(namespace: string, name: string): Service | undefined;
  /** Those that take connections. */
  endpoints(namespace: string, service: string): readonly EndpointAddress[];
  /** The service that has this address of its own. */
  serviceAt(address: string): Service | undefined;
  /** Every service that has an endpoint at this address, with the endpoint's label. */
  endpointsAt(
    address: string,
  ): readonly { readonly namespace: string; readonly service: string; readonly label: string }[];
}

const serviceOf = ({ metadata }: EndpointSlice): string => metadata.labels?.[serviceNameLabel] ?? "";
const slicesAtAddress = index(EndpointSlice, ({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses));
const servicesAtAddress = index(Service, ({ spec }) => clusterAddresses(spec));

/** What the informers of a process know, told to `changed` whenever it changes. */
export function clusterDirectory(informers: Informers, changed: () => void): Directory {
  const namespaces = informers.of(Namespace);
  const services = informers.of(Service);
  const slices = informers.of(EndpointSlice);
  namespaces.onChange(changed);
  services.onChange(changed);
  slices.onChange(changed);
  return directoryOf({ namespaces: namespaces.cache, services: services.cache, slices: slices.cache });
}

export interface DirectoryCaches {
  readonly namespaces: Cache<Namespace>;
  readonly services: Cache<Service>;
  readonly slices: Cache<EndpointSlice>;
}

export const directoryOf = ({ namespaces, services, slices }: DirectoryCaches): Directory => ({
  hasNamespace: (name) => namespaces.get(name) !== undefined,
  service: (namespace, name) => services.get({ namespace, name }),
  endpoints: (namespace, service) => slicesOf(slices, `${namespace}/${service}`).flatMap(addressesOf),
  serviceAt: (address) => services.by(servicesAtAddress.values, address)[0],
  endpointsAt: (address) =>
    slices.by(slicesAtAddress.values, address).flatMap((slice) =>
      addressesOf(slice)
        .filter((one) => one.address === address)
        .map(({ label }) => ({ namespace: slice.metadata.namespace ?? "", service: serviceOf(slice), label })),
    ),
});

function addressesOf({ addressType, endpoints, ports }: EndpointSlice): readonly EndpointAddress[] {
  if (addressType === "FQDN") return [];
  const named = ports.map(({ name = "", protocol = "TCP", port = 0 }) => ({
    name,
    protocol: protocol.toLowerCase(),
    port,
  }));
  return endpoints
    .filter(({ conditions }) => conditions.ready !== false)
    .flatMap(({ addresses, hostname }) =>
      addresses.map((address) => ({ address, label: hostname || dashed(address), ports: named })),
    );
}

/** An address as one label: 10-244-1-7. */
const dashed = (address: string): string => address.replace(/[.:]/g, "-");
