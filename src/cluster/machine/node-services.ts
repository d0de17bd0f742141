// What serves all nodes of this machine: DNS, images, and the host's routes to services; and how one of the nodes is run.
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { Component } from "#base/supervise.ts";
import { parseResolverConfig, withoutLoopback } from "#kubelet/inputs/resolver-config.ts";
import { applySteps } from "#network/host/apply-steps.ts";
import { type HomeMachine, type MachineNetworkMode, stepsInside, stepToAdmit } from "#network/machine-network.ts";
import { MachineRoutes } from "#network/machine-routes.ts";
import { tableOf } from "#network/packet-rules.ts";
import { ServiceRoutes } from "#network/service-routes.ts";
import type { NodeParts } from "../cluster.ts";
import { clusterDns, clusterDomain } from "../cluster-dns.ts";
import { KeptImages } from "../images/kept-images.ts";
import { ImageSupply } from "../images/supply.ts";
import { mtuOf } from "../node/own-address.ts";
import type { LocalNodes } from "./local-nodes.ts";
import { type RunNodeOptions, runNode } from "./run-node.ts";

export interface NodeServicesOptions
  extends Pick<
    RunNodeOptions,
    "podRanges" | "doesEnforcePolicies" | "podPidsLimit" | "proxyMode" | "certificate" | "clientCa"
  > {
  readonly local: LocalNodes;
  /** How other machines are reached, where some may join. */
  readonly machines?: { readonly home: HomeMachine; readonly mode: MachineNetworkMode };
  /** Address of the DNS service. */
  readonly dnsAddress: string;
  /** Folder of demo images. */
  readonly imageCache: string;
  /** Folder of images that were loaded by command. */
  readonly keptImages: string;
}

export interface NodeServices {
  /** What serves all nodes. */
  readonly components: readonly Component[];
  /** Runs one until the signal aborts. */
  runNode(own: Pick<RunNodeOptions, "node" | "peers" | "onKubelet">, signal: AbortSignal): Promise<void>;
}

/** The ways of the host and of its nodes to other machines. */
function machineRoutes({ local, machines }: NodeServicesOptions, parts: NodeParts): readonly Component[] {
  if (!machines) return [];
  const { network } = local;
  const { home, mode } = machines;
  const podRange = local.nodes[0]?.podRanges[0] ?? network.options.podRange;
  return [
    new MachineRoutes({
      ...parts,
      log: parts.log.with({ component: "network" }),
      network: { cluster: network.options.cluster, mode, address: home.address, podRange, mtu: mtuOf(home.address) },
      home,
      more: (peers) => [
        [stepToAdmit(tableOf(network), peers)],
        ...network.nodes.flatMap(({ netns }) => stepsInside(netns, network.hostAddress, peers)),
      ],
      apply: (stages, signal) => applySteps(stages, { signal }),
    }),
  ];
}

export function nodeServices(options: NodeServicesOptions, parts: NodeParts): NodeServices {
  const { local, dnsAddress } = options;
  const { log } = parts;
  const { egress } = local.network.options;
  const machine = parseResolverConfig(egress ? readFileSync("/etc/resolv.conf", "utf8") : "");
  const resolver = { server: dnsAddress, domain: clusterDomain, machine: withoutLoopback(machine, dnsAddress) };
  const dns = clusterDns({
    ...parts,
    log: log.with({ component: "dns" }),
    address: local.network.hostAddress,
    serviceAddress: dnsAddress,
    resolvers: machine.servers.filter((server) => isIP(server) !== 0),
  });
  const supply = new ImageSupply({
    ...parts,
    log: log.with({ component: "images" }),
    cacheFolder: options.imageCache,
    kept: new KeptImages(options.keptImages),
    address: local.network.hostAddress,
  });
  const routes = new ServiceRoutes({
    ...parts,
    log: log.with({ component: "network" }),
    network: local.network,
    apply: (stages, signal) => applySteps(stages, { signal }),
  });
  return {
    components: [dns, routes, supply, ...machineRoutes(options, parts)],
    runNode: (own, signal) =>
      runNode({ ...options, ...own, hostAddresses: local.network.hostAddresses, parts, resolver, supply }, signal),
  };
}
