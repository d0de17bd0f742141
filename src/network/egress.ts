// The way out of the machine for nodes and pods: the host forwards their packets in its own name. That takes one packet table of our own,
// and forwarding, which is a setting of the whole host. It stays on afterwards: who else has come to rely on it cannot be known.
//
// An accept in a table of ours does not undo a drop in another's (each table's verdict counts), so on a host whose own rules drop what
// is forwarded, as Docker's do, the way out needs a rule there: see `egressNotes` in conflicts.ts.
import type { LocalNetwork, Step } from "./local-network.ts";

export const tableOf = ({ options }: Pick<LocalNetwork, "options">): string => `knarr-${options.cluster}`;

export const egressSteps = (network: LocalNetwork): readonly Step[] => [
  { command: ["nft", "-f", "-"], input: egressTable(network) },
  { command: ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"] },
];

export const egressStepsDown = (network: LocalNetwork): readonly Step[] => [
  { command: ["nft", "delete", "table", "ip", tableOf(network)], unless: /No such file|^\s*(delete table|\^)/ },
];

/** Forwarding must not open the cluster to the networks that the host is in: from outside come answers only. */
function egressTable(network: LocalNetwork): string {
  const { link, options } = network;
  const table = tableOf(network);
  return `table ip ${table}
delete table ip ${table}
table ip ${table} {
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname != "${link}" oifname "${link}" ct state != { established, related } drop
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr { ${options.nodeRange}, ${options.podRange} } oifname != "${link}" masquerade
  }
}
`;
}
