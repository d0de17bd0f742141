// What keeps the add-ons of a cluster.
import { readFileSync } from "node:fs";
import { isIP, isIPv6 } from "node:net";
import { systemClock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { parseResolverConfig } from "#kubelet/inputs/resolver-config.ts";
import type { Cluster } from "../cluster.ts";
import { clusterDomain } from "../cluster-dns.ts";
import { dnsPort } from "../dns-objects.ts";
import { AddonManager } from "./addon-manager.ts";
import { dnsHandover } from "./dns-handover.ts";
import { projectImage } from "./project-image.ts";

export interface ClusterAddonsOptions {
  readonly cluster: Cluster;
  /** May do everything, as long as this control plane is the one that looks after add-ons. */
  readonly client: Client;
  readonly log: Log;
  /** Where images are kept; may be shared by clusters. */
  readonly imageCache: string;
  /** Where the process of the machine that the cluster was made on resolves names. */
  readonly hostAddress: string;
  readonly nodes: number;
  /** Where nodes keep their files, a folder for each. */
  readonly nodesFolder: string;
  readonly hasEgress: boolean;
  readonly initial: readonly string[];
}

export function clusterAddons(options: ClusterAddonsOptions): readonly Component[] {
  const { cluster, client, log, hostAddress } = options;
  const parts = { client, informers: cluster.informers, clock: systemClock };
  const images = new Map<string, string>();
  const image = async (name: string, signal: AbortSignal): Promise<string> => {
    const known =
      images.get(name) ?? (await projectImage({ cache: options.imageCache, name, isAwaited: false }, signal));
    images.set(name, known);
    return known;
  };
  return [
    new AddonManager({
      ...parts,
      ready: (signal) => cluster.ready(signal),
      image,
      values: valuesOf(options),
      initial: options.initial,
      log: log.with({ component: "addon-manager" }),
    }),
    dnsHandover({
      ...parts,
      serving: (signal) => cluster.serving(signal),
      address: hostAddress,
      probe: `kubernetes.default.svc.${clusterDomain}`,
      log: log.with({ component: "dns" }),
    }),
  ];
}

/** A pod cannot ask a resolver on the loopback of a machine, but a process there can: then it is asked instead. */
function valuesOf({ nodes, nodesFolder, hasEgress, hostAddress }: ClusterAddonsOptions) {
  const { servers } = parseResolverConfig(hasEgress ? readFileSync("/etc/resolv.conf", "utf8") : "");
  const canAsk = servers.some((server) => isIP(server) !== 0 && !server.startsWith("127.") && server !== "::1");
  return {
    domain: clusterDomain,
    resolver: canAsk ? "/etc/resolv.conf" : `${isIPv6(hostAddress) ? `[${hostAddress}]` : hostAddress}:${dnsPort}`,
    dnsReplicas: Math.min(2, nodes),
    ingressReplicas: Math.min(2, nodes),
    gatewayReplicas: Math.min(2, nodes),
    nodesFolder,
  };
}
