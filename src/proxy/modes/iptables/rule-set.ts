// All rules of one address family: those of the services, and those that are there in any case. Remembers what the kernel has, and makes the
// text for iptables-restore that brings it to what it should have: chains that did not change are not in it.
// Upstream: pkg/proxy/iptables/proxier.go.
import type { FrontendFamily } from "../../frontends.ts";
import { isServiceChain } from "./chain-names.ts";
import { RestoreText } from "./restore-text.ts";
import { rule } from "./rule-text.ts";
import { markForMasquerade, type ServiceChains, type SharedChain } from "./service-chains.ts";

/** Chains by table and name, as in `nat KUBE-SERVICES`, with their rules. */
export type Chains = ReadonlyMap<string, readonly string[]>;

export interface RuleSetSettings {
  readonly family: FrontendFamily;
  /** Set on packets whose sender is to be replaced. */
  readonly markBit: number;
  /** Whether node ports answer at the loopback addresses of the node. */
  readonly localhostNodePorts: boolean;
  /** Networks in which addresses of the node have node ports; none for all. */
  readonly nodePortRanges: readonly string[];
}

const sharedChains: readonly SharedChain[] = [
  "filter KUBE-EXTERNAL-SERVICES",
  "filter KUBE-NODEPORTS",
  "filter KUBE-PROXY-FIREWALL",
  "filter KUBE-SERVICES",
  "nat KUBE-NODEPORTS",
  "nat KUBE-SERVICES",
];

/** A chain that nobody needs: where it is missing, someone has removed all rules. */
export const canary = "KUBE-PROXY-CANARY";
const canaryTables = ["mangle", "filter", "nat"];
/** Other programs make it as well; upstream's kubelet leaves a canary of its own beside it. */
const firewall = "filter KUBE-FIREWALL";
const kubeletCanary = "KUBE-KUBELET-CANARY";

/** A rule of one of the kernel's own chains that leads into ours. */
export type Jump = readonly [chain: string, rule: string];

const jumps: readonly Jump[] = [
  ...["INPUT", "FORWARD"].map((from) =>
    jump(`filter ${from}`, "KUBE-EXTERNAL-SERVICES", "externally-visible service portals", true),
  ),
  jump("filter INPUT", "KUBE-NODEPORTS", "health check service ports", false),
  ...["FORWARD", "OUTPUT"].map((from) => jump(`filter ${from}`, "KUBE-SERVICES", "service portals", true)),
  jump("filter FORWARD", "KUBE-FORWARD", "forwarding rules", false),
  ...["INPUT", "OUTPUT", "FORWARD"].map((from) =>
    jump(`filter ${from}`, "KUBE-PROXY-FIREWALL", "load balancer firewall", true),
  ),
  ...["OUTPUT", "PREROUTING"].map((from) => jump(`nat ${from}`, "KUBE-SERVICES", "service portals", false)),
  jump("nat POSTROUTING", "KUBE-POSTROUTING", "postrouting rules", false),
];
const firewallJumps: readonly Jump[] = ["INPUT", "OUTPUT"].map((from) => [`filter ${from}`, "-j KUBE-FIREWALL"]);

export function jump(from: string, to: string, comment: string, onlyNew: boolean): Jump {
  const state = onlyNew ? "-m conntrack --ctstate NEW " : "";
  return [from, `${state}-m comment --comment "kubernetes ${comment}" -j ${to}`];
}

/** All chains that the services need, whatever is there. Services come in the order of their names. */
export function allChains(services: ReadonlyMap<string, ServiceChains>, settings: RuleSetSettings): Chains {
  const chains = new Map<string, readonly string[]>(fixedChains(settings));
  for (const chain of sharedChains) chains.set(chain, sharedRules(chain, services, settings));
  for (const { own } of services.values()) for (const [name, rules] of own) chains.set(`nat ${name}`, rules);
  return chains;
}

/** The rules that all services have in a chain. */
export function sharedRules(
  chain: SharedChain,
  services: ReadonlyMap<string, ServiceChains>,
  settings: RuleSetSettings,
): readonly string[] {
  const names = [...services].filter(([, { shared }]) => shared.has(chain)).map(([name]) => name);
  const rules = names.sort().flatMap((name) => services.get(name)?.shared.get(chain) ?? []);
  return chain === "nat KUBE-SERVICES" ? [...rules, ...nodePortRules(settings)] : rules;
}

function nodePortRules({ family, localhostNodePorts, nodePortRanges }: RuleSetSettings): readonly string[] {
  const loopback = family === "IPv6" ? "::1/128" : localhostNodePorts ? undefined : "127.0.0.0/8";
  const parts = {
    comment: "kubernetes service nodeports; NOTE: this must be the last rule in this chain",
    matches: ["-m addrtype --dst-type LOCAL"],
    jump: "KUBE-NODEPORTS",
  };
  if (nodePortRanges.length === 0) return [rule({ ...parts, notTo: loopback })];
  return nodePortRanges.filter((range) => range !== loopback).map((range) => rule({ ...parts, to: range }));
}

function fixedChains({ family, markBit, localhostNodePorts }: RuleSetSettings): Chains {
  const chains = new Map<string, readonly string[]>(canaryChains);
  if (localhostNodePorts && family === "IPv4")
    chains.set(firewall, [
      '! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
    ]);
  for (const [chain, rules] of markChains(markBit))
    chains.set(chain, chain === forward ? ["-m conntrack --ctstate INVALID -j DROP", ...rules] : rules);
  return chains;
}

export const canaryChains: Chains = new Map(canaryTables.map((table) => [`${table} ${canary}`, []]));
const forward = "filter KUBE-FORWARD";

/** Rules that mark packets, let them pass, and replace their senders. */
export function markChains(markBit: number): Chains {
  const mark = `0x${markBit.toString(16)}`;
  const isMarked = `--mark ${mark}/${mark}`;
  const forwarding = "kubernetes forwarding";
  return new Map([
    [
      forward,
      [
        rule({ comment: `${forwarding} rules`, matches: [`-m mark ${isMarked}`], jump: "ACCEPT" }),
        rule({
          comment: `${forwarding} conntrack rule`,
          matches: ["-m conntrack --ctstate RELATED,ESTABLISHED"],
          jump: "ACCEPT",
        }),
      ],
    ],
    [`nat ${markForMasquerade}`, [`-j MARK --set-xmark ${mark}/${mark}`]],
    [
      "nat KUBE-POSTROUTING",
      [
        `-m mark ! ${isMarked} -j RETURN`,
        `-j MARK --set-xmark ${mark}/0x0`,
        '-m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully',
      ],
    ],
  ]);
}

/** The tables and chains of a kernel, as iptables-save prints them. */
export function readSaved(text: string): Chains {
  const chains = new Map<string, string[]>();
  let table = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("*")) table = line.slice(1);
    else if (line.startsWith(":")) chains.set(`${table} ${line.slice(1, line.indexOf(" "))}`, []);
    else if (line.startsWith("-A ")) {
      const [, name = ""] = line.split(" ", 2);
      chains.get(`${table} ${name}`)?.push(line.slice(name.length + 4));
    }
  }
  return chains;
}

/** Whether a chain, with its table, is of a mode that uses iptables. */
export const isOurs = (chain: string): boolean => {
  const [table = "", name = ""] = chain.split(" ");
  if (name === canary) return canaryTables.includes(table);
  if (table === "nat" && isServiceChain(name)) return true;
  return ownNames.has(chain);
};
const ownNames: ReadonlySet<string> = new Set([
  ...sharedChains,
  ...["KUBE-NODE-PORT", "KUBE-LOAD-BALANCER"].map((name) => `nat ${name}`),
  ...["KUBE-NODE-PORT", "KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER"].map((name) => `filter ${name}`),
  ...["filter", "mangle"].map((table) => `${table} KUBE-SOURCE-RANGES-FIREWALL`),
  "mangle KUBE-PROXY-FIREWALL",
  forward,
  `nat ${markForMasquerade}`,
  "nat KUBE-POSTROUTING",
]);

/**
 * The texts that make the chains anew, with ways into them; whatever else of ours is in the kernel goes. With many chains there are several,
 * each of which leads only to chains that are there already: the program takes four times as long for twice as many.
 */
export function rewriteTexts(chains: Chains, saved: Chains, ways = jumps): readonly string[] {
  const steps: (readonly [rank: number, step: (out: RestoreText) => void])[] = [];
  for (const [chain, rules] of chains) steps.push([rankOf(chain), (out) => out.replace(chain, rules)]);
  for (const chain of saved.keys())
    if (isOurs(chain) && !chains.has(chain)) steps.push([2 * ranks.length - rankOf(chain), (out) => out.remove(chain)]);
  const needed = [...ways, ...(chains.has(firewall) ? firewallJumps : [])];
  for (const [chain, line] of needed)
    if (!saved.get(chain)?.includes(line)) steps.push([ranks.length, (out) => out.insert(chain, line)]);
  for (const [chain, line] of jumpsTo(isOurs, saved))
    if (!needed.some((way) => way[0] === chain && way[1] === line))
      steps.push([ranks.length, (out) => out.delete(chain, line)]);
  steps.sort(([a], [b]) => a - b);
  return Array.from({ length: Math.ceil(steps.length / stepsPerText) }, (_, i) => {
    const out = new RestoreText();
    for (const [, step] of steps.slice(i * stepsPerText, (i + 1) * stepsPerText)) step(out);
    return out.text;
  });
}

const stepsPerText = 1_000;
/** In this order chains lead only to earlier ones; those that are not of a service or an endpoint come first or last. */
const ranks = [
  /^KUBE-(MARK-MASQ|POSTROUTING|FORWARD|PROXY-CANARY)$/,
  /^KUBE-SEP-/,
  /^KUBE-SV[CL]-/,
  /^KUBE-EXT-/,
  /^KUBE-FW-/,
];

function rankOf(chain: string): number {
  const name = chain.slice(chain.indexOf(" ") + 1);
  const rank = ranks.findIndex((pattern) => pattern.test(name));
  return rank < 0 ? ranks.length : rank;
}

/** The text that removes all that is ours. */
export function cleanupText(saved: Chains): string {
  const out = new RestoreText();
  const isKubelets = [...saved.keys()].some((chain) => chain.endsWith(` ${kubeletCanary}`));
  const mine = new Set([...saved.keys()].filter((chain) => isOurs(chain) || (chain === firewall && !isKubelets)));
  for (const [chain, line] of jumpsTo((target) => mine.has(target), saved)) out.delete(chain, line);
  for (const chain of mine) out.remove(chain);
  return out.text;
}

/** The rules that lead from chains of others to ours. */
const jumpsTo = (isTarget: (chain: string) => boolean, saved: Chains): readonly Jump[] =>
  [...saved].flatMap(([chain, rules]) => {
    const [table = ""] = chain.split(" ", 1);
    return isTarget(chain)
      ? []
      : rules
          .filter((line) => isTarget(`${table} ${line.slice(line.lastIndexOf(" ") + 1)}`))
          .map((line) => [chain, line] as const);
  });
