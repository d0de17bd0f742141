// The routes of the host to services: through the nodes that are alive, and for single addresses through those that answer for them.
import type { LocalNetwork, LocalNode } from "./local-network.ts";
import { batch, type Stages } from "./network-step.ts";
import { addressFor, isIpv6 } from "./ranges.ts";

/** What has the host reach services through these nodes. */
export const stepsToRoute = (network: LocalNetwork, alive: readonly LocalNode[]): Stages => [
  [batch([], undefined, serviceRoutes(network, alive))],
];

/**
 * The kernel chooses a node by the two addresses of a packet, so that a connection stays with the node that translates it. Where no
 * node is alive all are as good: what they say to it is up to them.
 */
export const serviceRoutes = (network: LocalNetwork, alive: readonly LocalNode[]): readonly string[] =>
  network.nodes.length === 0
    ? []
    : network.serviceRanges.map((range) => routeOver(network, range, alive.length > 0 ? alive : network.nodes));

/**
 * Of IPv6 one node is the way for all: the kernel would choose among several by the flow label as well, which a connection changes
 * whenever it has to send something again.
 */
function routeOver({ link }: LocalNetwork, to: string, nodes: readonly LocalNode[]): string {
  const ways = nodes.slice(0, isIpv6(to) ? 1 : nodes.length).map(({ addresses }) => addressFor(to, addresses));
  return `route replace ${to} ${ways.map((address) => `nexthop via ${address} dev ${link}`).join(" ")}`;
}

/** Which nodes answer for an address, where not all do. */
export type Pins = ReadonlyMap<string, readonly LocalNode[]>;

/** Marks routes to single addresses as ours, so that those of an earlier run are found. */
const pinned = "proto 107";

/** What forgets the pins of an earlier run. */
export const stepsToUnpin = ({ serviceRanges }: LocalNetwork): Stages => {
  const flush = (family: string, ranges: readonly string[]) =>
    ranges.length === 0
      ? []
      : [
          batch(
            [family],
            undefined,
            ranges.map((range) => `route flush ${pinned} root ${range}`),
          ),
        ];
  return [
    [
      ...flush(
        "-4",
        serviceRanges.filter((range) => !isIpv6(range)),
      ),
      ...flush("-6", serviceRanges.filter(isIpv6)),
    ],
  ];
};

/** What changes one set of pins into another. */
export function stepsToPin(network: LocalNetwork, before: Pins, pins: Pins): Stages {
  const lines = [
    ...[...before.keys()].filter((address) => !pins.has(address)).map((address) => `route delete ${address} ${pinned}`),
    ...[...pins].map(([address, nodes]) => routeOver(network, `${address} ${pinned}`, nodes)),
  ];
  return lines.length === 0 ? [] : [[batch([], /No such process/, lines)]];
}
