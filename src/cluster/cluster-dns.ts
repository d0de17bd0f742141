// The cluster's DNS, served by this process.
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
import { DnsZone } from "#dns/zone.ts";
import { dnsPort } from "./dns-objects.ts";

export const clusterDomain = "cluster.local";

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
      const zone = new DnsZone(clusterDomain, directory, [options.serviceAddress]);
      resolver = new Resolver({
        zone,
        clock,
        random,
        log,
        ...(resolvers.length > 0 && { forward: forwarder({ servers: resolvers, clock, random }) }),
      });
      const server = await serveDns({ resolver, address, port: dnsPort, log });
      await aborted(signal);
      await server.close();
    },
  };
}
