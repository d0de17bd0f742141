// The network between the machines of a cluster. Each machine has networks of pods behind it, and its kernel is told the way to those of
// the others: a plain route where all are in one network, or a tunnel (VXLAN) where only the machines' own addresses get through. Either way
// pods keep their addresses. Which networks are behind which machine follows from the Node objects alone.
import type { Node } from "#api/core/v1/node.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { type Cidr, parseCidr, parseIp } from "#schema/ip.ts";
import { toMachines as ours, tunnelOf } from "./local-network.ts";
import { batch, type NetworkStep, type Stages } from "./network-step.ts";

export const machineNetworkModes = ["routes", "vxlan"] as const;
export type MachineNetworkMode = (typeof machineNetworkModes)[number];

/** The machine that the cluster was made on. Its nodes are namespaces, with addresses of a network of their own. */
export interface HomeMachine {
  /** At which the others reach it. */
  readonly address: string;
  readonly nodeRange: string;
}

/** A machine, and the networks that are reached through it. */
export interface PeerMachine {
  readonly address: string;
  readonly ranges: readonly string[];
}

const contains = (range: Cidr | undefined, address: string): boolean => {
  const ip = parseIp(address);
  if (!ip || range?.address.family !== 4 || ip.family !== 4) return false;
  return ip.value >> BigInt(32 - range.length) === range.network >> BigInt(32 - range.length);
};

/** All machines but this one, by their nodes. */
export function peersOf(nodes: readonly Node[], home: HomeMachine, ownAddress: string): readonly PeerMachine[] {
  const homeRange = parseCidr(home.nodeRange);
  const ranges = new Map<string, Set<string>>();
  for (const { spec, status } of nodes) {
    const address = status.addresses?.find(({ type }) => type === "InternalIP")?.address;
    if (address === undefined || !parseIp(address)) continue;
    const isAtHome = contains(homeRange, address);
    const machine = isAtHome ? home.address : address;
    if (machine === ownAddress) continue;
    const own = ranges.get(machine) ?? new Set(isAtHome ? [home.nodeRange] : []);
    for (const range of spec.podCIDRs ?? []) if (parseCidr(range)?.address.family === 4) own.add(range);
    ranges.set(machine, own);
  }
  return [...ranges]
    .map(([address, own]) => ({ address, ranges: [...own].toSorted() }))
    .toSorted((a, b) => (a.address < b.address ? -1 : 1));
}

export interface MachineNetwork {
  readonly cluster: string;
  readonly mode: MachineNetworkMode;
  /** Of this machine. */
  readonly address: string;
  /** A network of pods on this machine: its first address is that of the tunnel's end here. */
  readonly podRange: string;
  /** Largest packets of the network between the machines. */
  readonly mtu: number;
}

const vni = 7;
/** As Linux has it, and flannel. */
const vxlanPort = 8472;
export const vxlanOverhead = 50;
/** Of the end of a tunnel: everybody can tell it from the machine's address, so nobody has to be told. */
export const tunnelMac = (address: string): string =>
  ["02", ...(hex(sha256(`knarr ${address}`).subarray(0, 5)).match(/../g) ?? [])].join(":");

const exists = /File exists|already exists/;
const gone = /No such process|No such file|Cannot find device|does not exist/;

/** What makes the ways to these machines, from nothing or from what was there before. */
export function stepsToPeers(
  network: MachineNetwork,
  before: readonly PeerMachine[],
  peers: readonly PeerMachine[],
): Stages {
  const kept = new Set(peers.flatMap(({ ranges }) => ranges));
  const lost = before.flatMap(({ ranges }) => ranges).filter((range) => !kept.has(range));
  const remove = lost.map((range) => `route delete ${range} ${ours}`);
  const down = remove.length === 0 ? [] : [[batch([], gone, remove)]];
  if (network.mode === "routes") {
    const lines = peers.flatMap(({ address, ranges }) =>
      ranges.map((range) => `route replace ${range} via ${address} ${ours}`),
    );
    return lines.length === 0 ? down : [...down, [batch([], undefined, lines)]];
  }
  const tunnel = tunnelOf(network.cluster);
  const end = network.podRange.replace(/\/\d+$/, "/32");
  const lines = [
    `address replace ${end} dev ${tunnel}`,
    `link set ${tunnel} up`,
    ...peers.flatMap(({ address, ranges }) => [
      `neigh replace ${address} lladdr ${tunnelMac(address)} dev ${tunnel} nud permanent`,
      ...ranges.map((range) => `route replace ${range} via ${address} dev ${tunnel} onlink ${ours}`),
    ]),
  ];
  const doors = peers.map(({ address }) => `fdb replace ${tunnelMac(address)} dev ${tunnel} dst ${address}`);
  return [...down, [tunnelStep(network)], [batch([], undefined, lines)], ...(doors.length > 0 ? [[fdb(doors)]] : [])];
}

const tunnelStep = ({ cluster, address, mtu }: MachineNetwork): NetworkStep =>
  batch([], exists, [
    `link add ${tunnelOf(cluster)} address ${tunnelMac(address)} mtu ${mtu - vxlanOverhead} type vxlan id ${vni} local ${address} dstport ${vxlanPort} nolearning`,
  ]);

const fdb = (lines: readonly string[]): NetworkStep => ({
  command: ["bridge", "-force", "-batch", "-"],
  input: `${lines.join("\n")}\n`,
});

/** What forgets all machines. */
export const stepsFromPeers = ({ cluster, mode }: Pick<MachineNetwork, "cluster" | "mode">): Stages => [
  [batch([], gone, [`route flush ${ours}`, ...(mode === "vxlan" ? [`link delete ${tunnelOf(cluster)}`] : [])])],
];

/** What tells the packet rules of this machine who the others are. */
export function stepToAdmit(table: string, peers: readonly PeerMachine[]): NetworkStep {
  const members = peers.flatMap(({ address, ranges }) => [address, ...ranges]);
  const fill = members.length === 0 ? "" : `add element ip ${table} machines { ${[...new Set(members)].join(", ")} }\n`;
  return { command: ["nft", "-f", "-"], input: `flush set ip ${table} machines\n${fill}` };
}

/** The way of a node that is a namespace of this machine: everything goes through the host. */
export const stepsInside = (netns: string, hostAddress: string, peers: readonly PeerMachine[]): Stages => {
  const targets = peers.flatMap(({ address, ranges }) => [address, ...ranges]);
  return targets.length === 0
    ? []
    : [
        [
          batch(
            ["-n", netns],
            undefined,
            targets.map((target) => `route replace ${target} via ${hostAddress} ${ours}`),
          ),
        ],
      ];
};
