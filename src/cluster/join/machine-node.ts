// The node that a joined machine is: where its files are, and what its network needs.
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { egressStep, egressStepDown } from "#network/egress.ts";
import { type MachineNetwork, stepsFromPeers, vxlanOverhead } from "#network/machine-network.ts";
import { batch, type NetworkStep, type Stages } from "#network/network-step.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { NodeContainerd } from "../machine/containerd.ts";
import { thisMachine } from "../machine/node-location.ts";
import type { MachineNode } from "../machine/run-node.ts";
import { deviceOf, mtuOf } from "../node/own-address.ts";
import type { MachineMembership } from "./machine-folder.ts";

export function machineNode(place: ClusterFolder, machine: MachineMembership, podRange: string): MachineNode {
  const { node: name, address, config, labels, pluginFolder } = machine;
  const own = {
    name,
    address,
    addresses: [address],
    podRanges: [podRange],
    labels,
    location: thisMachine,
    folder: join(place.nodes, name),
    runFolder: join(place.runFolder, name),
    cgroup: `/knarr/${place.name}/${name}`,
  };
  const mtu = mtuOf(address) - (config.machineNetwork === "vxlan" ? vxlanOverhead : 0);
  return { ...own, containerd: new NodeContainerd({ ...own, mtu, pluginFolder, clock: systemClock }) };
}

export const machineNetwork = (
  { name }: ClusterFolder,
  { address, config }: MachineMembership,
  podRange: string,
): MachineNetwork => ({ cluster: name, mode: config.machineNetwork, address, podRange, mtu: mtuOf(address) });

export const tableName = ({ name }: ClusterFolder): string => `knarr-${name}`;

/** Forwarding, a way on for packets to services, and this machine's own name for what pods say to the world. */
export function stepsUpMachine(place: ClusterFolder, { address, config }: MachineMembership, podRange: string): Stages {
  const device = deviceOf(address);
  const table = tableName(place);
  const rules: NetworkStep = {
    command: ["nft", "-f", "-"],
    input: `table ip ${table}
delete table ip ${table}
table ip ${table} {
  set machines {
    type ipv4_addr
    flags interval
    auto-merge
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${podRange} ip daddr != { ${config.podRange}, ${config.home.nodeRange} } ip daddr != @machines oifname != "lo" masquerade
  }
}
`,
  };
  return [
    [
      egressStep({ options: { cluster: place.name } }),
      rules,
      {
        command: [
          "sh",
          "-c",
          "cd /proc/sys/net/ipv4/conf && for which in all default; do echo 0 > $which/rp_filter; done",
        ],
      },
      ...(device === undefined
        ? []
        : [batch([], undefined, [`route replace ${config.serviceRange} dev ${device} proto 108`])]),
    ],
  ];
}

export const stepsDownMachine = (place: ClusterFolder, { config }: MachineMembership): Stages => [
  ...stepsFromPeers({ cluster: place.name, mode: config.machineNetwork }),
  [{ command: ["nft", "delete", "table", "ip", tableName(place)], unless: /No such file|^\s*(delete table|\^)/ }],
  [egressStepDown({ options: { cluster: place.name } })],
];
