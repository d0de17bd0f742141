// The network of a cluster on one machine. Each node is a network namespace; one more is the switch that joins them, and the host, by a
// cable each. Pods are reached by plain routes, without address translation. The switch is apart from the host so that the packet
// rules of the host, Docker's for example, never see what nodes say to each other. Of the host itself one cable and the routes over
// it are changed, and a table of its own keeps others away (packet-rules.ts). What a way out of the machine takes for nodes is in
// egress.ts.

import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { type Cidr, formatIp, parseCidr } from "#schema/ip.ts";
import { egressStep, egressStepDown } from "./egress.ts";
import { serviceRoutes } from "./host-routes.ts";
import { batch, type NetworkStep, type Stages } from "./network-step.ts";
import { packetRules, packetRulesDown } from "./packet-rules.ts";
import { addressFor, bitsOf, cidrsIn, familiesOf, isIpv6, partsOf } from "./ranges.ts";

/** Each range is a network, or one of each family with a comma; the families are the same, in the same order, in all of them. */
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
  /** Whether that is so for IPv6, too; defaults to no. The host has to forward IPv6 already: to turn that on would have it ignore routers. */
  readonly egressOfIpv6?: boolean;
  /** Whether other machines may join the cluster, and have to be led to its pods; defaults to no. */
  readonly isOpen?: boolean;
}

export interface LocalNode {
  readonly name: string;
  /** Name of its network namespace. */
  readonly netns: string;
  /** The first of its addresses. */
  readonly address: string;
  /** One of each family. */
  readonly addresses: readonly string[];
  readonly podRange: string;
  readonly podRanges: readonly string[];
  /** The end of its cable at the switch. */
  readonly port: string;
}

export interface LocalNetwork {
  /** The host's end of its cable to the switch: all that the host has to do with the cluster goes through it. */
  readonly link: string;
  /** Name of the network namespace that joins the others. */
  readonly switch: string;
  /** Address of the host for the nodes: the first of them. */
  readonly hostAddress: string;
  readonly hostAddresses: readonly string[];
  readonly nodeRanges: readonly Cidr[];
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

/** Addresses of the host for the nodes. */
export const hostAddressesIn = (nodeRange: string): readonly string[] =>
  networksIn(nodeRange).map((range) => addressIn(range, 1n));

const networksIn = (nodeRange: string): readonly Cidr[] =>
  partsOf(nodeRange).map((part) => {
    const range = parseCidr(part);
    if (!range) throw new Error(`node range ${JSON.stringify(part)} is no network such as 172.31.0.0/24`);
    return range;
  });

const addressIn = ({ address: { family }, network }: Cidr, number: bigint): string =>
  formatIp({ family, value: network + number });

/** What is first, where there is one of each family. */
function firstOf(what: string, all: readonly string[]): string {
  const [first] = all;
  if (first === undefined) throw new Error(`${what} is empty`);
  return first;
}

/** Names and addresses of a network. The same options give the same network, and added nodes do not change those of the others. */
export function planNetwork(options: LocalNetworkOptions): LocalNetwork {
  const { cluster, nodeRange, nodes } = options;
  const nodeRanges = networksIn(nodeRange);
  const families = String(familiesOf(nodeRange));
  for (const [what, text] of Object.entries({
    "pod range": options.podRange,
    "service range": options.serviceRange,
    "load balancer range": options.loadBalancerRange,
  }))
    if (String(familiesOf(text)) !== families)
      throw new Error(`${what} ${text} is not of the families of node range ${nodeRange}, in their order`);
  for (const { address, length } of nodeRanges) {
    const room = 2n ** BigInt(bitsOf(address.family) - length) - firstNode - 1n;
    if (BigInt(nodes.length) > room)
      throw new Error(`node range ${nodeRange} has room for ${room < 0n ? 0 : room} nodes, not ${nodes.length}`);
  }
  const hostAddresses = hostAddressesIn(nodeRange);
  return {
    link: linkOf(cluster),
    // Not the name of any node's, since those begin with a letter or a digit.
    switch: `knarr-${cluster}-.switch`,
    hostAddress: firstOf("node range", hostAddresses),
    hostAddresses,
    nodeRanges,
    serviceRanges: [
      ...cidrsIn("service range", options.serviceRange),
      ...cidrsIn("load balancer range", options.loadBalancerRange),
    ],
    nodes: nodes.map(({ name, podRange }, i) => {
      const addresses = nodeRanges.map((range) => addressIn(range, firstNode + BigInt(i)));
      const podRanges = partsOf(podRange);
      return {
        name,
        podRange: firstOf("pod range", podRanges),
        podRanges,
        netns: `knarr-${cluster}-${name}`,
        address: firstOf("node range", addresses),
        addresses,
        port: `port${i}`,
      };
    }),
    options,
  };
}

/** Names of interfaces have at most 15 characters, those of clusters more. */
export const linkOf = (cluster: string): string => `kn${hex(sha256(cluster).subarray(0, 4))}`;

const exists = /File exists|already exists/;

/** What makes the network, or completes one that is there in part. */
export function stepsUp(network: LocalNetwork): Stages {
  const { link, nodes, options } = network;
  const join = network.switch;
  return [
    [
      batch([], exists, [
        `netns add ${join}`,
        `link add ${link} type veth peer name host netns ${join}`,
        ...addressLines(network, network.hostAddresses, link),
        `link set ${link} up`,
        ...nodes.flatMap(({ netns, port }) => [
          `netns add ${netns}`,
          `link add ${port} netns ${join} type veth peer name eth0 netns ${netns}`,
        ]),
        // Pods of nodes that are none must not be looked for outside of the machine.
        ...partsOf(options.podRange)
          .filter((range) => !nodes.some(({ podRanges }) => podRanges.includes(range)))
          .map((range) => `route replace ${range} dev ${link}`),
        ...nodes.flatMap((node) =>
          node.podRanges.map((range) => `route replace ${range} via ${addressFor(range, node.addresses)} dev ${link}`),
        ),
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

/** Without looking for others that have an address of IPv6: it could not be used for a second or more. */
const addressLines = (
  { nodeRanges }: Pick<LocalNetwork, "nodeRanges">,
  addresses: readonly string[],
  device: string,
): readonly string[] =>
  addresses.map((address, i) => {
    const line = `address replace ${address}/${nodeRanges[i]?.length} dev ${device}`;
    return isIpv6(address) ? `${line} nodad` : line;
  });

function insideSteps(network: LocalNetwork, node: LocalNode): readonly NetworkStep[] {
  const { hostAddresses, nodes, serviceRanges, options } = network;
  const { netns, addresses } = node;
  const ways = hostAddresses.filter((address) => options.egress && (options.egressOfIpv6 || !isIpv6(address)));
  return [
    batch(["-n", netns], exists, [
      "link set lo up",
      ...addressLines(network, addresses, "eth0"),
      "link set eth0 up",
      ...nodes
        .filter((other) => other !== node)
        .flatMap((other) =>
          other.podRanges.map((range) => `route replace ${range} via ${addressFor(range, other.addresses)}`),
        ),
      // A way on for packets to services, which are translated before they take it.
      ...serviceRanges.map((range) => `route replace ${range} dev eth0`),
      ...ways.map((address) => `route replace ${isIpv6(address) ? "::/0" : "default"} via ${address}`),
    ]),
    {
      command: [
        ...["nsenter", `--net=/run/netns/${netns}`, "sh", "-c"],
        `cd /proc/sys/net/ipv4 && ${settings}${addresses.some(isIpv6) ? ` && cd ../ipv6 && ${settingsOfIpv6}` : ""}`,
      ],
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

/** Nodes forward packets, listen to no router, and use new addresses at once: who gives them to pods gives none twice. */
const settingsOfIpv6 = [
  "echo 1 > conf/all/forwarding",
  ...["all", "default", "eth0"].flatMap((which) => [
    `echo 0 > conf/${which}/accept_ra`,
    `echo 0 > conf/${which}/accept_dad`,
  ]),
].join(" && ");

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
    ...packetRulesDown(network),
  ],
  // After our own table, which translates addresses, too.
  [egressStepDown(network)],
];
