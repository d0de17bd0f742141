// The cluster's DNS, served by this process, and the objects by which pods find it: a service at an address that every pod is told.
import { serviceNameLabel } from "#api/core/services.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Wanted } from "#apiserver/bootstrap/objects.ts";
import type { AddressRange } from "#apiserver/strategies/service/ranges.ts";
import { aborted } from "#base/aborted.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import type { Informers } from "#client/informers.ts";
import { clusterDirectory } from "#dns/directory.ts";
import { forwarder } from "#dns/host/forwarder.ts";
import { serveDns } from "#dns/host/server.ts";
import { Resolver } from "#dns/resolver.ts";
import { Zone } from "#dns/zone.ts";
import { formatIp } from "#schema/ip.ts";

export const clusterDomain = "cluster.local";
/** Of the addresses of services, as everybody expects it. */
const tenth = 9n;
/** Not 53: other servers of the machine listen there on all addresses. */
const port = 10_053;

/** The address of the cluster's DNS, among those of services. */
export const dnsAddressIn = ({ family, first }: AddressRange): string =>
  formatIp({ family: family === "IPv4" ? 4 : 6, value: first + tenth });

/** The service `kube-dns`, and where it leads: to this process, at the address at which nodes reach it. */
export function dnsObjects(services: AddressRange, address: string): readonly Wanted[] {
  const name = "kube-dns";
  const metadata = { name, namespace: "kube-system" };
  const ports = ["UDP", "TCP"].map((protocol) => ({ name: protocol === "UDP" ? "dns" : "dns-tcp", protocol }));
  return [
    {
      kind: Service,
      object: {
        apiVersion: Service.apiVersion,
        kind: Service.kind,
        metadata: {
          ...metadata,
          labels: {
            "k8s-app": name,
            "kubernetes.io/cluster-service": "true",
            "kubernetes.io/name": "CoreDNS",
          },
        },
        spec: {
          type: "ClusterIP",
          clusterIP: dnsAddressIn(services),
          ports: ports.map((one) => ({ ...one, port: 53, targetPort: port })),
        },
      },
    },
    {
      kind: EndpointSlice,
      isKept: true,
      object: {
        apiVersion: EndpointSlice.apiVersion,
        kind: EndpointSlice.kind,
        metadata: {
          ...metadata,
          labels: { [serviceNameLabel]: name, "endpointslice.kubernetes.io/managed-by": "knarr" },
        },
        addressType: "IPv4",
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports: ports.map((one) => ({ ...one, port })),
      },
    },
  ];
}

export interface ClusterDnsOptions {
  readonly informers: Informers;
  /** The address to listen on. */
  readonly address: string;
  /** The address of its service. */
  readonly serviceAddress: string;
  /** Who answers for names that are not the cluster's; nobody if there is none. */
  readonly resolvers: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Serves what the informers know. */
export function clusterDns(options: ClusterDnsOptions): Component {
  const { informers, address, resolvers, clock, random, log } = options;
  return {
    name: "dns",
    async run(signal) {
      let resolver: Resolver | undefined;
      const directory = clusterDirectory(informers, () => resolver?.forget());
      const zone = new Zone(clusterDomain, directory, [options.serviceAddress]);
      resolver = new Resolver({
        zone,
        clock,
        random,
        log,
        ...(resolvers.length > 0 && { forward: forwarder({ servers: resolvers, clock, random }) }),
      });
      const server = await serveDns({ resolver, address, port, log });
      await aborted(signal);
      await server.close();
    },
  };
}
