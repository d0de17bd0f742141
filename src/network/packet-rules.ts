// The packet table that each cluster has on the host. A host that forwards would lead its neighbours to nodes, pods and services, and
// Linux answers for an address of the host on every interface: the table keeps both for the host itself and for the cluster. Other
// machines of the cluster, and the pods there, are in the set `machines` (machine-network.ts).
import type { LocalNetwork, NetworkStep } from "./local-network.ts";

export const tableOf = ({ options }: Pick<LocalNetwork, "options">): string => `knarr-${options.cluster}`;

export const packetRules = (network: LocalNetwork): NetworkStep => ({
  command: ["nft", "-f", "-"],
  input: table(network),
});

export const packetRulesDown = (network: LocalNetwork): NetworkStep => ({
  command: ["nft", "delete", "table", "ip", tableOf(network)],
  unless: /No such file|^\s*(delete table|\^)/,
});

function table(network: LocalNetwork): string {
  const { link, options } = network;
  const name = tableOf(network);
  return `table ip ${name}
delete table ip ${name}
table ip ${name} {
  set machines {
    type ipv4_addr
    flags interval
    auto-merge
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname != { "lo", "${link}" } ip daddr ${options.nodeRange} ip saddr != @machines drop
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname != "${link}" oifname "${link}" ip saddr != @machines ct state != { established, related } drop
${options.egress ? "" : `    iifname "${link}" oifname != "${link}" ip daddr != @machines drop\n`}  }
${options.egress ? inTheHostsName(network) : ""}}
`;
}

const inTheHostsName = ({ link, options }: LocalNetwork): string => `  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr { ${options.nodeRange}, ${options.podRange} } oifname != { "lo", "${link}" } ip daddr != @machines masquerade
  }
`;
