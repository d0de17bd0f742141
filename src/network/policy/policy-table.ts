// What the packet rules of a node must be for the policies, pods and namespaces that there are. Nothing here runs or waits: the same
// objects give the same table, in whichever order they came, and each change says which commands it takes.
//
//   ingress, egress      from the address of a pod of this node, if a policy limits it in that direction, to the chain of its policies
//   limit-…              one chain for each combination of policies that any pod has: asks them in turn, and drops what none allows
//   policy-…             one chain for each policy and direction: accepts what it allows (policy-rules.ts)
//   peers-…, named-…     pods that policies speak of (pod-sets.ts); fixed-…: ports and addresses that they name
//
// A pod that comes or goes changes elements only; a policy that changes rewrites its own chain.
// Upstream: pkg/apis/networking/types.go.
import type { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import type { Labels } from "#schema/selector.ts";
import type { PolicyFamily } from "./ip-blocks.ts";
import { NftTable } from "./nft-table.ts";
import { matcherOf, PodSets } from "./pod-sets.ts";
import type { PodAddress, PolicyPod } from "./policy-pod.ts";
import { type DirectionRules, directionRules, nameFor, type PolicyDirection } from "./policy-rules.ts";
import { policyMaps, policySkeleton } from "./policy-skeleton.ts";

export const policyTableName = "inet knarr-policy";

interface PolicyEntry {
  readonly selects: (labels: Labels) => boolean;
  readonly rules: Readonly<Record<PolicyDirection, DirectionRules | undefined>>;
}

const directions: readonly PolicyDirection[] = ["ingress", "egress"];

export class PolicyTable {
  readonly #table: NftTable;
  readonly #sets: PodSets;
  /** By namespace, then by `namespace/name`. */
  readonly #policies = new Map<string, Map<string, PolicyEntry>>();
  /** Which pods of this node have an address. Two have the same for a moment when one is on its way out. */
  readonly #holders = new Map<string, Set<string>>();
  /** The chain that each limited address leads to, by map and address. */
  readonly #leads = new Map<string, string>();
  /** Chains of combinations: their policies, and how many addresses lead to them. */
  readonly #combinations = new Map<string, { readonly chains: readonly string[]; users: number }>();
  /** Chains of policies that some combination asks. */
  readonly #chains = new Map<string, { rules: DirectionRules; users: number }>();
  /** How many chains name a fixed set. */
  readonly #fixedUsers = new Map<string, number>();
  /** Addresses of this node whose policies may have changed. */
  readonly #dirty = new Map<string, PodAddress>();

  /** Connections from the addresses of kubelets are let in whatever policies say. */
  constructor(kubeletAddresses: readonly string[] = []) {
    this.#table = new NftTable(policyTableName, policySkeleton(kubeletAddresses), policyMaps);
    this.#sets = new PodSets(this.#table);
  }

  /** Undefined for a policy that is gone. */
  setPolicy(key: string, policy: NetworkPolicy | undefined): void {
    const namespace = key.slice(0, key.indexOf("/"));
    const entries = this.#policies.get(namespace) ?? new Map<string, PolicyEntry>();
    const before = entries.get(key);
    const after = policy && entryOf(policy);
    if (after) this.#policies.set(namespace, entries.set(key, after));
    else entries.delete(key);
    if (entries.size === 0) this.#policies.delete(namespace);
    for (const { isLocal, labels, addresses } of this.#sets.podsIn(namespace).values())
      if (isLocal && (before?.selects(labels) || after?.selects(labels))) this.#touch(addresses);
    for (const direction of directions) {
      const rules = after?.rules[direction];
      if (rules) this.#replaceRules(chainOf(key, direction), rules);
    }
  }

  /** Undefined for a pod that is gone, or that no policy is about. */
  setPod(key: string, pod: PolicyPod | undefined): void {
    const before = this.#sets.get(key);
    if (!this.#sets.setPod(key, pod)) return;
    if (before?.isLocal) {
      this.#touch(before.addresses);
      for (const { text } of before.addresses) {
        const holders = this.#holders.get(text);
        holders?.delete(key);
        if (holders?.size === 0) this.#holders.delete(text);
      }
    }
    if (pod?.isLocal) {
      this.#touch(pod.addresses);
      for (const { text } of pod.addresses) {
        const holders = this.#holders.get(text);
        if (holders) holders.add(key);
        else this.#holders.set(text, new Set([key]));
      }
    }
  }

  /** Undefined for a namespace that is gone. */
  setNamespace(name: string, labels: Labels | undefined): void {
    this.#sets.setNamespace(name, labels);
  }

  /** The commands for all that has changed since the last commands, empty if nothing has. */
  changes(): string {
    this.#settle();
    return this.#table.changes();
  }

  /** The commands that make the whole table anew, whatever the kernel has. */
  rewrite(): string {
    this.#settle();
    return this.#table.rewrite();
  }

  get size(): NftTable["size"] {
    return this.#table.size;
  }

  #touch(addresses: readonly PodAddress[]): void {
    for (const address of addresses) this.#dirty.set(address.text, address);
  }

  /** Has every address lead to the policies that are for its pods by now. */
  #settle(): void {
    for (const address of this.#dirty.values())
      for (const direction of directions) this.#lead(address, direction, this.#policiesOf(address, direction));
    this.#dirty.clear();
  }

  /** Sorted, so that pods with the same policies share a chain. */
  #policiesOf({ text }: PodAddress, direction: PolicyDirection): readonly string[] {
    const keys = new Set<string>();
    for (const holder of this.#holders.get(text) ?? []) {
      const pod = this.#sets.get(holder);
      if (!pod) continue;
      for (const [key, { rules, selects }] of this.#policies.get(pod.namespace) ?? [])
        if (rules[direction] && selects(pod.labels)) keys.add(key);
    }
    return [...keys].sort();
  }

  #lead({ family, text }: PodAddress, direction: PolicyDirection, policies: readonly string[]): void {
    const map = `${direction}${family}`;
    const place = `${map} ${text}`;
    const before = this.#leads.get(place);
    const after = policies.length === 0 ? undefined : this.#useCombination(policies, direction);
    if (before !== after) {
      if (after === undefined) this.#table.removeElement(map, text);
      else this.#table.addElement(map, text, `goto ${after}`);
      if (after === undefined) this.#leads.delete(place);
      else this.#leads.set(place, after);
      this.#noteSelf(text, family);
    }
    if (before !== undefined) this.#releaseCombination(before);
  }

  /** No policy keeps a pod from itself, which it reaches through a service. */
  #noteSelf(text: string, family: PolicyFamily): void {
    const isLimited = directions.some((direction) => this.#leads.has(`${direction}${family} ${text}`));
    const element = `${text} . ${text}`;
    if (isLimited) this.#table.addElement(`self${family}`, element);
    else this.#table.removeElement(`self${family}`, element);
  }

  #useCombination(policies: readonly string[], direction: PolicyDirection): string {
    const name = `limit-${direction}-${nameFor(policies)}`;
    const present = this.#combinations.get(name);
    if (present) {
      present.users++;
      return name;
    }
    const chains = policies.map((key) => this.#useChain(key, direction));
    this.#combinations.set(name, { chains, users: 1 });
    const asked = policies.map((key, i) => `jump ${chains[i]} comment "${commentOf(key)}"`);
    this.#table.setChain(name, [...asked, "drop"]);
    return name;
  }

  #releaseCombination(name: string): void {
    const combination = this.#combinations.get(name);
    if (!combination || --combination.users > 0) return;
    this.#combinations.delete(name);
    this.#table.removeChain(name);
    for (const chain of combination.chains) this.#releaseChain(chain);
  }

  #useChain(key: string, direction: PolicyDirection): string {
    const name = chainOf(key, direction);
    const present = this.#chains.get(name);
    if (present) {
      present.users++;
      return name;
    }
    const rules = this.#policies.get(key.slice(0, key.indexOf("/")))?.get(key)?.rules[direction] ?? noRules;
    this.#chains.set(name, { rules, users: 1 });
    this.#useSets(rules);
    this.#table.setChain(name, rules.rules);
    return name;
  }

  #releaseChain(name: string): void {
    const chain = this.#chains.get(name);
    if (!chain || --chain.users > 0) return;
    this.#chains.delete(name);
    this.#table.removeChain(name);
    this.#releaseSets(chain.rules);
  }

  #replaceRules(name: string, rules: DirectionRules): void {
    const chain = this.#chains.get(name);
    if (!chain) return;
    this.#useSets(rules);
    this.#releaseSets(chain.rules);
    chain.rules = rules;
    this.#table.setChain(name, rules.rules);
  }

  #useSets({ peers, namedPorts, fixedSets }: DirectionRules): void {
    for (const [id, selector] of peers) this.#sets.usePeers(id, selector);
    for (const [id, port] of namedPorts) this.#sets.useNamedPort(id, port);
    for (const [name, { declaration, elements }] of fixedSets) {
      const users = this.#fixedUsers.get(name) ?? 0;
      this.#fixedUsers.set(name, users + 1);
      if (users > 0) continue;
      this.#table.addSet(name, declaration);
      for (const element of elements) this.#table.addElement(name, element);
    }
  }

  #releaseSets({ peers, namedPorts, fixedSets }: DirectionRules): void {
    for (const id of peers.keys()) this.#sets.releasePeers(id);
    for (const id of namedPorts.keys()) this.#sets.releaseNamedPort(id);
    for (const name of fixedSets.keys()) {
      const users = this.#fixedUsers.get(name) ?? 0;
      if (users > 1) this.#fixedUsers.set(name, users - 1);
      else {
        this.#fixedUsers.delete(name);
        this.#table.removeSet(name);
      }
    }
  }
}

const noRules: DirectionRules = { rules: [], peers: new Map(), namedPorts: new Map(), fixedSets: new Map() };

const entryOf = (policy: NetworkPolicy): PolicyEntry => ({
  selects: matcherOf(policy.spec.podSelector),
  rules: { ingress: directionRules(policy, "ingress"), egress: directionRules(policy, "egress") },
});

const chainOf = (key: string, direction: PolicyDirection): string => `policy-${direction}-${nameFor(key)}`;

/** The kernel keeps 128 bytes of it. */
const commentOf = (key: string): string => (key.length > 120 ? `${key.slice(0, 117)}...` : key);
