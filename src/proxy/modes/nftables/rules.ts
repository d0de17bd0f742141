// Frontends as nftables rules. A service is elements of maps: one map leads from its address to a chain, and for each number of targets
// that any service has, one map leads from (address, protocol, port, random number) to a target. So a change of endpoints changes elements
// and no rules, which takes the kernel milliseconds with ten thousand services. Only session affinity needs chains of its own.
// Upstream: pkg/proxy/nftables/proxier.go.
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import type { Frontend, FrontendFamily, FrontendTarget } from "../../frontends.ts";

export interface NftSettings {
  readonly table: string;
  /** Networks of pods: traffic from elsewhere to a cluster address is masqueraded. */
  readonly podRanges: readonly string[];
  /** Set on packets whose sender is to be replaced. */
  readonly markBit: number;
  /** Whether traffic from pods to a cluster address is masqueraded as well. */
  readonly masqueradeAll: boolean;
  /** Only addresses in these networks have node ports, if there are any. */
  readonly nodePortRanges: readonly string[];
}

/** What one service adds to the table. */
export interface ServiceRules {
  /** Set → element → its value, empty for sets. */
  readonly elements: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Sets and chains of its own, by name. */
  readonly sets: ReadonlyMap<string, string>;
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Numbers of targets for which the table must have a chain and a map. */
  readonly sizes: ReadonlySet<number>;
}

const words = {
  IPv4: { nft: "ip", type: "ipv4_addr", unreachable: "icmp type port-unreachable" },
  IPv6: { nft: "ip6", type: "ipv6_addr", unreachable: "icmpv6 type port-unreachable" },
} as const;

export const tableOf = (family: FrontendFamily, { table }: NftSettings): string => `${words[family].nft} ${table}`;

/** The parts of the table that no service changes; replaces whatever was there. */
export function skeleton(family: FrontendFamily, settings: NftSettings): string {
  const table = tableOf(family, settings);
  return `table ${table}
delete table ${table}
table ${table} {
${emptySets(family, settings)}${dispatchChains(family, settings)}${hooks(family, settings)}}
`;
}

const markOf = ({ markBit }: NftSettings): string => `0x${markBit.toString(16)}`;
const keyOf = (nft: string): string => `${nft} daddr . meta l4proto . th dport`;

function emptySets(family: FrontendFamily, { podRanges }: NftSettings): string {
  const { type } = words[family];
  const ranges = podRanges.filter((range) => range.includes(":") === (family === "IPv6"));
  return `  set pods {
    type ${type}
    flags interval
    ${ranges.length > 0 ? `elements = { ${ranges.join(", ")} }` : ""}
  }
  set cluster-addresses {
    type ${type}
  }
  map services {
    type ${type} . inet_proto . inet_service : verdict
  }
  map inside {
    type ${type} . inet_proto . inet_service : verdict
  }
  map node-ports {
    type inet_proto . inet_service : verdict
  }
  map inside-node-ports {
    type inet_proto . inet_service : verdict
  }
  set bare-services {
    type ${type} . inet_proto . inet_service
  }
  set bare-node-ports {
    type inet_proto . inet_service
  }
  set guarded {
    type ${type} . inet_proto . inet_service
  }
  set allowed {
    type ${type} . inet_proto . inet_service . ${type}
    flags interval
  }
  set hairpins {
    type ${type} . ${type}
  }
`;
}

function dispatchChains(family: FrontendFamily, settings: NftSettings): string {
  const { nft, unreachable } = words[family];
  const mark = markOf(settings);
  const key = keyOf(nft);
  const { masqueradeAll } = settings;
  const knowsPods = settings.podRanges.some((range) => range.includes(":") === (family === "IPv6"));
  const toCluster = `${nft} daddr @cluster-addresses jump mark-masquerade`;
  const ranges = settings.nodePortRanges.filter((range) => range.includes(":") === (family === "IPv6"));
  return `  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with ${unreachable}
  }
  chain vanish {
    drop
  }
  chain mark-masquerade {
    meta mark set meta mark | ${mark}
  }
  chain dispatch {
    ${nft} saddr @pods ${key} vmap @inside
    fib saddr type local ${key} vmap @inside
    ${masqueradeAll ? `${toCluster}` : knowsPods ? `${nft} saddr != @pods ${toCluster}` : ""}
    ${key} vmap @services
    fib daddr type != local return
    ${family === "IPv4" ? "ip daddr 127.0.0.0/8 return" : "ip6 daddr ::1 return"}
    ${ranges.length === 0 ? "" : `${nft} daddr != { ${ranges.join(", ")} } return`}
    ${nft} saddr @pods meta l4proto . th dport vmap @inside-node-ports
    fib saddr type local meta l4proto . th dport vmap @inside-node-ports
    meta l4proto . th dport vmap @node-ports
  }
  chain guard {
    ${key} @guarded ${key} . ${nft} saddr != @allowed drop
    ct state new ${key} @bare-services goto refuse
    ct state new fib daddr type local ${ranges.length === 0 ? "" : `${nft} daddr { ${ranges.join(", ")} } `}meta l4proto . th dport @bare-node-ports goto refuse
  }
`;
}

function hooks(family: FrontendFamily, settings: NftSettings): string {
  const { nft } = words[family];
  const mark = markOf(settings);
  return `  chain guard-prerouting {
    type filter hook prerouting priority dstnat - 10; policy accept;
    jump guard
  }
  chain guard-output {
    type filter hook output priority -110; policy accept;
    jump guard
  }
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    jump dispatch
  }
  chain output {
    type nat hook output priority -100; policy accept;
    jump dispatch
  }
  chain rest-prerouting {
    type filter hook prerouting priority dstnat + 10; policy accept;
    ${nft} daddr @cluster-addresses goto refuse
  }
  chain rest-output {
    type filter hook output priority -90; policy accept;
    ${nft} daddr @cluster-addresses goto refuse
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ct status dnat ${nft} saddr . ${nft} daddr @hairpins masquerade
    meta mark & ${mark} != ${mark} return
    meta mark set meta mark ^ ${mark}
    masquerade fully-random
  }
`;
}

/** The chains and the map for services of so many targets, to be there before the first of them. */
export function sizeRules(family: FrontendFamily, settings: NftSettings, size: number): readonly string[] {
  const { nft } = words[family];
  const table = tableOf(family, settings);
  const key = keyOf(nft);
  const nodeKey = "meta l4proto . th dport";
  const pick = `numgen random mod ${size}`;
  const to = `${nft} daddr . th dport`;
  return [
    `add map ${table} targets-${size} { typeof ${key} . ${pick} : ${to}; }`,
    `add map ${table} node-targets-${size} { typeof ${nodeKey} . ${pick} : ${to}; }`,
    `add map ${table} inside-targets-${size} { typeof ${key} . ${pick} : ${to}; }`,
    `add map ${table} inside-node-targets-${size} { typeof ${nodeKey} . ${pick} : ${to}; }`,
    ...["", "inside-"].flatMap((where) => [
      `add chain ${table} ${where}pick-${size}`,
      `add rule ${table} ${where}pick-${size} dnat ${nft} to ${key} . ${pick} map @${where}targets-${size}`,
      `add chain ${table} ${where}node-pick-${size}`,
      `add rule ${table} ${where}node-pick-${size} dnat ${nft} to ${nodeKey} . ${pick} map @${where}node-targets-${size}`,
    ]),
    ...["pick", "node-pick"].flatMap((name) => [
      `add chain ${table} marked-${name}-${size}`,
      `add rule ${table} marked-${name}-${size} jump mark-masquerade`,
      `add rule ${table} marked-${name}-${size} goto ${name}-${size}`,
    ]),
  ];
}

/** `id` names the service, for chains that are its own. */
export function serviceRules(id: string, frontends: readonly Frontend[], family: FrontendFamily): ServiceRules {
  const out = new RulesBuilder(family, sha256Hex(id).slice(0, 12));
  for (const frontend of frontends) {
    const { address, role, targets, insideTargets, without, sources } = frontend;
    const at = elementKeyOf(frontend);
    if (address !== undefined && role === "cluster") out.element("cluster-addresses", address);
    for (const { address: target, isLocal } of [...targets, ...(insideTargets ?? [])])
      if (isLocal) out.element("hairpins", `${target} . ${target}`);
    const isNodePort = address === undefined;
    if (targets.length > 0)
      out.element(isNodePort ? "node-ports" : "services", at, `goto ${out.chainTo(frontend, targets, "")}`);
    else if (without === "drop") out.element(isNodePort ? "node-ports" : "services", at, "goto vanish");
    else if (role !== "cluster") out.element(isNodePort ? "bare-node-ports" : "bare-services", at);
    if (insideTargets && insideTargets.length > 0)
      out.element(
        isNodePort ? "inside-node-ports" : "inside",
        at,
        `goto ${out.chainTo(frontend, insideTargets, "inside-")}`,
      );
    if (sources) {
      out.element("guarded", at);
      for (const source of sources) out.element("allowed", `${at} . ${source}`);
    }
  }
  return out;
}

const elementKeyOf = ({ address, protocol, port }: Frontend): string =>
  [...(address === undefined ? [] : [address]), protocol, port].join(" . ");

class RulesBuilder implements ServiceRules {
  readonly elements = new Map<string, Map<string, string>>();
  readonly sets = new Map<string, string>();
  readonly chains = new Map<string, string[]>();
  readonly sizes = new Set<number>();
  readonly #family: FrontendFamily;
  readonly #id: string;

  constructor(family: FrontendFamily, id: string) {
    this.#family = family;
    this.#id = id;
  }

  element(set: string, key: string, value = ""): void {
    const present = this.elements.get(set);
    if (present) present.set(key, value);
    else this.elements.set(set, new Map([[key, value]]));
  }

  /** Leads to the targets, and notes what is needed for that. */
  chainTo(frontend: Frontend, targets: readonly FrontendTarget[], where: "" | "inside-"): string {
    const { address, masquerades, affinitySeconds } = frontend;
    const doesMark = masquerades && where === "";
    if (affinitySeconds !== undefined) return this.#sticky(frontend, targets, where, affinitySeconds, doesMark);
    const node = address === undefined ? "node-" : "";
    this.sizes.add(targets.length);
    targets.forEach((target, i) => {
      this.element(
        `${where}${node}targets-${targets.length}`,
        `${elementKeyOf(frontend)} . ${i}`,
        `${target.address} . ${target.port}`,
      );
    });
    return `${doesMark ? "marked-" : where}${node}pick-${targets.length}`;
  }

  /** A sender that was seen within the time goes where it went before. */
  #sticky(
    frontend: Frontend,
    targets: readonly FrontendTarget[],
    where: string,
    seconds: number,
    doesMark: boolean,
  ): string {
    const { nft, type } = words[this.#family];
    const name = `sticky-${this.#id}-${where}${sha256Hex(elementKeyOf(frontend)).slice(0, 8)}`;
    const stay = (target: FrontendTarget) => `${name}-${sha256Hex(`${target.address} ${target.port}`).slice(0, 8)}`;
    for (const target of targets) {
      this.sets.set(stay(target), `type ${type}; flags dynamic,timeout; timeout ${seconds}s; size 65536;`);
      const to = this.#family === "IPv6" ? `[${target.address}]:${target.port}` : `${target.address}:${target.port}`;
      this.chains.set(stay(target), [
        `update @${stay(target)} { ${nft} saddr }`,
        `meta l4proto ${frontend.protocol} dnat ${nft} to ${to}`,
      ]);
    }
    const choices = targets.map((target, i) => `${i} : goto ${stay(target)}`).join(", ");
    this.chains.set(name, [
      ...(doesMark ? ["jump mark-masquerade"] : []),
      ...targets.map((target) => `${nft} saddr @${stay(target)} goto ${stay(target)}`),
      `numgen random mod ${targets.length} vmap { ${choices} }`,
    ]);
    return name;
  }
}

const sha256Hex = (text: string): string => hex(sha256(text).subarray(0, 8));
