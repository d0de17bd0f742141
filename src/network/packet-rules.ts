// The packet tables that each cluster has on the host, one for each family. A host that forwards would lead its neighbours to nodes, pods
// and services, and Linux answers for an address of the host on every interface: the tables keep both for the host itself and for the
// cluster. Other machines of the cluster, and the pods there, are in the set `machines` (machine-network.ts).
import type { LocalNetwork } from "./local-network.ts";
import type { NetworkStep } from "./network-step.ts";
import { isIpv6, partsOf } from "./ranges.ts";

export const tableOf = ({ options }: Pick<LocalNetwork, "options">): string => `knarr-${options.cluster}`;

export const packetRules = (network: LocalNetwork): NetworkStep => ({
  command: ["nft", "-f", "-"],
  input: rangesOf(network)
    .map((ranges) => table(network, ranges))
    .join(""),
});

export const packetRulesDown = (network: LocalNetwork): readonly NetworkStep[] =>
  rangesOf(network).map(({ nodes }) => ({
    command: ["nft", "delete", "table", isIpv6(nodes) ? "ip6" : "ip", tableOf(network)],
    unless: /No such file|^\s*(delete table|\^)/,
  }));

/** The ranges of one family. */
interface FamilyRanges {
  readonly nodes: string;
  readonly pods: string;
}

const rangesOf = ({ options }: Pick<LocalNetwork, "options">): readonly FamilyRanges[] =>
  partsOf(options.nodeRange).map((nodes, i) => ({ nodes, pods: partsOf(options.podRange)[i] ?? "" }));

function table(network: LocalNetwork, ranges: FamilyRanges): string {
  const { link, options } = network;
  const [ip, type] = isIpv6(ranges.nodes) ? ["ip6", "ipv6_addr"] : ["ip", "ipv4_addr"];
  const hasWayOut = options.egress && (ip === "ip" || options.egressOfIpv6 === true);
  const name = tableOf(network);
  return `table ${ip} ${name}
delete table ${ip} ${name}
table ${ip} ${name} {
  set machines {
    type ${type}
    flags interval
    auto-merge
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname != { "lo", "${link}" } ${ip} daddr ${ranges.nodes} ${ip} saddr != @machines drop
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname != "${link}" oifname "${link}" ${ip} saddr != @machines ct state != { established, related } drop
${hasWayOut ? "" : `    iifname "${link}" oifname != "${link}" ${ip} daddr != @machines drop\n`}  }
${hasWayOut ? inTheHostsName(link, ip, ranges) : ""}}
`;
}

const inTheHostsName = (link: string, ip: string, { nodes, pods }: FamilyRanges): string => `  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ${ip} saddr { ${nodes}, ${pods} } oifname != { "lo", "${link}" } ${ip} daddr != @machines masquerade
  }
`;
