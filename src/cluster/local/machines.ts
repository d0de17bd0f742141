// What a cluster of this machine has to have for other machines to join it.
import type { ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";
import { systemClock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { partOf } from "#kubelet/simulated/addresses.ts";
import type { HomeMachine } from "#network/machine-network.ts";
import { parseCidr } from "#schema/ip.ts";
import type { Cluster, ClusterConfig } from "../cluster.ts";
import { clusterDomain } from "../cluster-dns.ts";
import { dnsAddressIn } from "../dns-objects.ts";
import * as identities from "../identities.ts";
import { machineAccount } from "../join/join-objects.ts";
import { joinService } from "../join/join-service.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { homeAddress } from "./home-address.ts";
import { nodePrefixes } from "./range-settings.ts";
import { isOpen, readSettings, type Settings } from "./settings.ts";

/** Simulated nodes have no network that others could be part of. */
export const doesJoin = (settings: Settings): boolean => isOpen(settings) && settings.runtime === "containerd";

export const homeOf = (settings: Settings): HomeMachine => ({
  address: homeAddress(settings),
  nodeRange: settings["node-range"],
});

/** Nodes of this machine have networks of the lower half of the range, by their number; those of others get theirs from the upper half. */
export function machineSettings(settings: Settings): NonNullable<ClusterConfig["machines"]> {
  const range = settings["cluster-cidr"];
  const length = parseCidr(range)?.length ?? nodePrefixes[4];
  return { machineAccount, nodeIpam: { clusterCidrs: [range], reserved: [partOf(range, length + 1, 0)] } };
}

interface JoinServiceParts {
  readonly place: ClusterFolder;
  readonly settings: Settings;
  readonly ca: string;
  readonly network: ServiceNetwork;
  readonly log: Log;
}

export function joinServiceOf(cluster: Cluster, { place, settings, ca, network, log }: JoinServiceParts): Component {
  const home = homeOf(settings);
  return joinService({
    config: {
      cluster: place.name,
      podRange: settings["cluster-cidr"],
      serviceRange: settings["service-cluster-ip-range"],
      home,
      dnsAddress: dnsAddressIn(network.addresses[0]),
      domain: clusterDomain,
      proxyMode: settings["proxy-mode"],
      machineNetwork: settings["machine-network"],
      enforcesPolicies: !settings["no-network-policy"],
      podPidsLimit: settings["pod-max-pids"],
    },
    ca,
    server: () => serverOf(place, home.address),
    serving: (signal) => cluster.serving(signal),
    client: cluster.clientFor(identities.userOf(identities.masterAdmin), "knarr"),
    clock: systemClock,
    log: log.with({ component: "join" }),
  });
}

/** Where other machines reach the API; the port is noted when it is open. */
export const serverOf = (place: ClusterFolder, address: string): string =>
  `https://${address.includes(":") ? `[${address}]` : address}:${readSettings(place)?.port ?? 6443}`;
