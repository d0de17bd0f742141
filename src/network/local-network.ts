// The network of a cluster on one machine. Each node is a network namespace; one more is the switch that joins them, and the host, by a
// cable each. Pods are reached by plain routes, without address translation. The switch is apart from the host so that the packet
// rules of the host, Docker's for example, never see what nodes say to each other. Of the host itself one cable and the routes over
// it are changed, and a table of its own keeps others away (packet-rules.ts). What a way out of the machine takes for nodes is in
// egress.ts.

import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { type Cidr, formatIp, parseCidr } from "#schema/ip.ts";
import { egressStep, egressStepDown } from "./egress.ts";
import { packetRules, packetRulesDown } from "./packet-rules.ts";
import { cidrsIn } from "./ranges.ts";

export interface LocalNetworkOptions {
  readonly cluster: string;
  /** For the host and the nodes: `172.31.0.0/24`. */
  readonly nodeRange: string;
  /** For all pods; each node has a part of it. */
  readonly podRange: string;
  readonly serviceRange: string;
  readonly loadBalancerRange: string;
  readonly nodes: readonly { readonly name: string; readonly podRange: string }[];
  /** Whether nodes have a way out of the machine. */
  readonly egress: boolean;
  /** Whether other machines may join the cluster, and have to be led to its pods; defaults to no. */
  readonly isOpen?: boolean;
}

export interface LocalNode {
  readonly name: string;
  /** Name of its network namespace. */
  readonly netns: string;
  readonly address: string;
  readonly podRange: string;
  /** The end of its cable at the switch. */
  readonly port: string;
}

export interface LocalNetwork {
  /** The host's end of its cable to the switch: all that the host has to do with the cluster goes through it. */
  readonly link: string;
  /** Name of the network namespace that joins the others. */
  readonly switch: string;
  /** Address of the host for the nodes. */
  readonly hostAddress: string;
  readonly prefixLength: number;
  /** Where services and load balancers have their addresses, as networks. */
  readonly serviceRanges: readonly string[];
  readonly nodes: readonly LocalNode[];
  readonly options: LocalNetworkOptions;
}

/** Marks routes to other machines as ours. */
export const toMachines = "proto 108";

/** The end of the tunnel to other machines, where there is one. */
export const tunnelOf = (cluster: string): string => `kx${hex(sha256(cluster).subarray(0, 4))}`;

const firstNode = 10n;

/** Address of the host for the nodes. */
export const hostAddressIn = (nodeRange: string): string =>
  formatIp({ family: 4, value: networkOf(nodeRange).network + 1n });

function networkOf(nodeRange: string): Cidr {
  const range = parseCidr(nodeRange);
  if (range?.address.family !== 4) throw new Error(`node range ${JSON.stringify(nodeRange)} is no IPv4 network`);
  return range;
}

/** Names and addresses of a network. The same options give the same network, and added nodes do not change those of the others. */
export function planNetwork(options: LocalNetworkOptions): LocalNetwork {
  const { cluster, nodeRange, nodes } = options;
  const range = networkOf(nodeRange);
  const room = 2n ** BigInt(32 - range.length) - firstNode - 1n;
  if (BigInt(nodes.length) > room)
    throw new Error(`node range ${nodeRange} has room for ${room < 0n ? 0 : room} nodes, not ${nodes.length}`);
  const at = (i: bigint) => formatIp({ family: 4, value: range.network + i });
  return {
    link: linkOf(cluster),
    // Not the name of any node's, since those begin with a letter or a digit.
    switch: `knarr-${cluster}-.switch`,
    hostAddress: hostAddressIn(nodeRange),
    prefixLength: range.length,
    serviceRanges: [
      ...cidrsIn("service range", options.serviceRange),
      ...cidrsIn("load balancer range", options.loadBalancerRange),
    ],
    nodes: nodes.map(({ name, podRange }, i) => ({
      name,
      podRange,
      netns: `knarr-${cluster}-${name}`,
      address: at(firstNode + BigInt(i)),
      port: `port${i}`,
    })),
    options,
  };
}

/** Names of interfaces have at most 15 characters, those of clusters more. */
export const linkOf = (cluster: string): string => `kn${hex(sha256(cluster).subarray(0, 4))}`;

/** One program to run. `unless` says of each line of an error that what was to be made is there already. */
export interface NetworkStep {
  readonly command: readonly string[];
  readonly input?: string;
  readonly unless?: RegExp;
}

/** The steps of a stage do not depend on each other. */
export type Stages = readonly (readonly NetworkStep[])[];

/** Many commands for one program: starting it for each would take most of the time. */
export const batch = (where: readonly string[], unless: RegExp | undefined, lines: readonly string[]): NetworkStep => ({
  command: ["ip", ...where, "-force", "-batch", "-"],
  input: `${lines.join("\n")}\n`,
  ...(unless && { unless }),
});

const exists = /File exists|already exists/;

/** What makes the network, or completes one that is there in part. */
export function stepsUp(network: LocalNetwork): Stages {
  const { link, hostAddress, prefixLength, nodes, options } = network;
  const join = network.switch;
  return [
    [
      batch([], exists, [
        `netns add ${join}`,
        `link add ${link} type veth peer name host netns ${join}`,
        `address replace ${hostAddress}/${prefixLength} dev ${link}`,
        `link set ${link} up`,
        ...nodes.flatMap(({ netns, port }) => [
          `netns add ${netns}`,
          `link add ${port} netns ${join} type veth peer name eth0 netns ${netns}`,
        ]),
        // Pods of nodes that are none must not be looked for outside of the machine.
        ...(nodes.some(({ podRange }) => podRange === options.podRange)
          ? []
          : [`route replace ${options.podRange} dev ${link}`]),
        ...nodes.map(({ podRange, address }) => `route replace ${podRange} via ${address} dev ${link}`),
        ...serviceRoutes(network, nodes),
      ]),
      packetRules(network),
    ],
    [
      batch(["-n", join], exists, [
        "link add switch type bridge",
        "link set switch up",
        ...["host", ...nodes.map(({ port }) => port)].map((port) => `link set ${port} master switch up`),
      ]),
      ...nodes.flatMap((node) => insideSteps(network, node)),
      ...(options.egress || options.isOpen ? [egressStep(network)] : []),
    ],
  ];
}

function insideSteps({ hostAddress, prefixLength, nodes, serviceRanges, options }: LocalNetwork, node: LocalNode) {
  const { netns, address } = node;
  return [
    batch(["-n", netns], exists, [
      "link set lo up",
      `address replace ${address}/${prefixLength} dev eth0`,
      "link set eth0 up",
      ...nodes.filter((other) => other !== node).map((other) => `route replace ${other.podRange} via ${other.address}`),
      // A way on for packets to services, which are translated before they take it.
      ...serviceRanges.map((range) => `route replace ${range} dev eth0`),
      ...(options.egress ? [`route replace default via ${hostAddress}`] : []),
    ]),
    {
      command: ["nsenter", `--net=/run/netns/${netns}`, "sh", "-c", `cd /proc/sys/net/ipv4 && ${settings}`],
    },
  ];
}

/** Nodes forward packets, accept asymmetric routes (rp_filter), and send no redirects. */
const settings = [
  "echo 1 > ip_forward",
  ...["all", "default", "eth0"].flatMap((which) => [
    `echo 0 > conf/${which}/rp_filter`,
    `echo 0 > conf/${which}/send_redirects`,
  ]),
].join(" && ");

/** What has the host reach services through these nodes. */
export const stepsToRoute = (network: LocalNetwork, alive: readonly LocalNode[]): Stages => [
  [batch([], undefined, serviceRoutes(network, alive))],
];

/**
 * The kernel chooses a node by the two addresses of a packet, so that a connection stays with the node that translates it. Where no
 * node is alive all are as good: what they say to it is up to them.
 */
const serviceRoutes = (network: LocalNetwork, alive: readonly LocalNode[]): readonly string[] =>
  network.nodes.length === 0
    ? []
    : network.serviceRanges.map((range) => routeOver(network, range, alive.length > 0 ? alive : network.nodes));

const routeOver = ({ link }: LocalNetwork, to: string, nodes: readonly LocalNode[]): string =>
  `route replace ${to} ${nodes.map(({ address }) => `nexthop via ${address} dev ${link}`).join(" ")}`;

/** Which nodes answer for an address, where not all do. */
export type Pins = ReadonlyMap<string, readonly LocalNode[]>;

/** Marks routes to single addresses as ours, so that those of an earlier run are found. */
const pinned = "proto 107";

/** What forgets the pins of an earlier run. */
export const stepsToUnpin = ({ serviceRanges }: LocalNetwork): Stages => [
  [
    batch(
      [],
      undefined,
      serviceRanges.map((range) => `route flush ${pinned} root ${range}`),
    ),
  ],
];

/** What changes one set of pins into another. */
export function stepsToPin(network: LocalNetwork, before: Pins, pins: Pins): Stages {
  const lines = [
    ...[...before.keys()].filter((address) => !pins.has(address)).map((address) => `route delete ${address} ${pinned}`),
    ...[...pins].map(([address, nodes]) => routeOver(network, `${address} ${pinned}`, nodes)),
  ];
  return lines.length === 0 ? [] : [[batch([], /No such process/, lines)]];
}

const alreadyGone = /No such file|Cannot find device|does not exist/;

/** What takes out the cables of these nodes, and the host's, so that they can be made anew. */
export const stepsToUnplug = (network: LocalNetwork, nodes: readonly LocalNode[], host: boolean): Stages => [
  [
    batch(["-n", network.switch], alreadyGone, [
      ...(host ? ["link delete host"] : []),
      ...nodes.map(({ port }) => `link delete ${port}`),
    ]),
  ],
  [
    ...(host ? [batch([], alreadyGone, [`link delete ${network.link}`])] : []),
    ...nodes.map(({ netns }) => batch(["-n", netns], alreadyGone, ["link delete eth0"])),
  ],
];

/** What removes it. With a namespace goes all that is inside, some moments later; so what the host has is deleted first. */
export const stepsDown = (network: LocalNetwork): Stages => [
  [
    batch([], alreadyGone, [
      `link delete ${network.link}`,
      ...(network.options.isOpen
        ? [`route flush ${toMachines}`, `link delete ${tunnelOf(network.options.cluster)}`]
        : []),
      ...[network.switch, ...network.nodes.map(({ netns }) => netns)].map((netns) => `netns delete ${netns}`),
    ]),
    packetRulesDown(network),
  ],
  // After our own table, which translates addresses, too.
  [egressStepDown(network)],
];
