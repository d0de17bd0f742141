// The network of a cluster on one machine: a bridge, and a network namespace for each node, joined to it. Pods are reached by plain
// routes, without address translation; the host has routes to pods, services and load balancers. Only names of ours are touched.

import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { formatIp, parseCidr } from "#schema/ip.ts";

export interface LocalNetworkOptions {
  readonly cluster: string;
  /** For the bridge and the nodes: `172.31.0.0/24`. */
  readonly nodeRange: string;
  readonly serviceRange: string;
  readonly loadBalancerRange: string;
  readonly nodes: readonly { readonly name: string; readonly podRange: string }[];
  /** Whether nodes have a way out of the machine. */
  readonly egress: boolean;
}

export interface LocalNode {
  readonly name: string;
  /** Name of its network namespace. */
  readonly netns: string;
  readonly address: string;
  readonly podRange: string;
  /** The end of its cable on the host. */
  readonly cable: string;
}

export interface LocalNetwork {
  readonly bridge: string;
  /** Address of the host on the bridge. */
  readonly hostAddress: string;
  readonly prefixLength: number;
  readonly nodes: readonly LocalNode[];
  readonly options: LocalNetworkOptions;
}

const firstNode = 10n;

/** Who has which name and address. The same options give the same network. */
export function planNetwork(options: LocalNetworkOptions): LocalNetwork {
  const { cluster, nodeRange, nodes } = options;
  const range = parseCidr(nodeRange);
  if (range?.address.family !== 4) throw new Error(`node range ${JSON.stringify(nodeRange)} is no IPv4 network`);
  const room = 2n ** BigInt(32 - range.length) - firstNode - 1n;
  if (BigInt(nodes.length) > room)
    throw new Error(`node range ${nodeRange} has room for ${room} nodes, not ${nodes.length}`);
  const at = (i: bigint) => formatIp({ family: 4, value: range.network + i });
  // Names of interfaces have at most 15 characters.
  const tag = hex(sha256(cluster).subarray(0, 4));
  return {
    bridge: `kn${tag}`,
    hostAddress: at(1n),
    prefixLength: range.length,
    nodes: nodes.map(({ name, podRange }, i) => ({
      name,
      podRange,
      netns: `knarr-${cluster}-${name}`,
      address: at(firstNode + BigInt(i)),
      cable: `kn${tag}${i}`,
    })),
    options,
  };
}

/** One program to run. `unless` says of an error that what was to be made is there already. */
export interface Step {
  readonly command: readonly string[];
  readonly unless?: RegExp;
}

const exists = /File exists|already exists/;
const ip = (...args: readonly string[]): Step => ({ command: ["ip", ...args], unless: exists });

/** What makes the network, or completes one that is there in part. */
export function stepsUp(network: LocalNetwork): readonly Step[] {
  const { bridge, hostAddress, prefixLength, nodes, options } = network;
  const [gateway] = nodes;
  return [
    ip("link", "add", bridge, "type", "bridge"),
    ip("address", "replace", `${hostAddress}/${prefixLength}`, "dev", bridge),
    ip("link", "set", bridge, "up"),
    ...nodes.flatMap((node) => nodeSteps(network, node)),
    ...nodes.map(({ podRange, address }) => ip("route", "replace", podRange, "via", address, "dev", bridge)),
    ...(gateway
      ? [options.serviceRange, options.loadBalancerRange].map((range) =>
          ip("route", "replace", range, "via", gateway.address, "dev", bridge),
        )
      : []),
  ];
}

function nodeSteps(
  { bridge, hostAddress, prefixLength, nodes, options }: LocalNetwork,
  node: LocalNode,
): readonly Step[] {
  const { netns, cable, address } = node;
  const inside = (...args: readonly string[]) => ip("-n", netns, ...args);
  return [
    ip("netns", "add", netns),
    ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", netns),
    ip("link", "set", cable, "master", bridge, "up"),
    inside("link", "set", "lo", "up"),
    inside("address", "replace", `${address}/${prefixLength}`, "dev", "eth0"),
    inside("link", "set", "eth0", "up"),
    ...nodes
      .filter((other) => other !== node)
      .map((other) => inside("route", "replace", other.podRange, "via", other.address)),
    // A way on for packets to services, which are translated before they take it.
    ...[options.serviceRange, options.loadBalancerRange].map((range) =>
      inside("route", "replace", range, "dev", "eth0"),
    ),
    ...(options.egress ? [inside("route", "replace", "default", "via", hostAddress)] : []),
    { command: ["nsenter", `--net=/run/netns/${netns}`, "sysctl", "-q", "-w", ...settings] },
  ];
}

/** Nodes pass packets on, also those that come back another way than they went. */
const settings = [
  "net.ipv4.ip_forward=1",
  "net.ipv4.conf.all.rp_filter=0",
  "net.ipv4.conf.default.rp_filter=0",
  "net.ipv4.conf.eth0.rp_filter=0",
];

const gone = /No such file|Cannot find device|does not exist/;

/** What removes it; with a namespace goes all that is inside. */
export const stepsDown = ({ bridge, nodes }: Pick<LocalNetwork, "bridge" | "nodes">): readonly Step[] => [
  ...nodes.flatMap(({ netns, cable }) => [
    { command: ["ip", "link", "delete", cable], unless: gone },
    { command: ["ip", "netns", "delete", netns], unless: gone },
  ]),
  { command: ["ip", "link", "delete", bridge], unless: gone },
];
