// One network policy as rules of two chains, one for each direction that it limits. Pure: pods that a policy speaks of are sets here,
// whose members peer-sets.ts knows. A chain accepts what the policy allows and returns otherwise.
//
// Rules do not look at the addresses of the packet but at those of its connection, as the kernel tracks it: who began it (`ct original
// saddr`), and who answers, after the address of a service has been translated (`ct reply saddr`, `ct reply proto-src`). Both are the
// same for every packet in either direction, so one rule is for the whole connection (decision 101).
// Upstream: pkg/apis/networking/types.go.
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from "#api/networking/v1/network-policy.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import type { SelectorStruct } from "#schema/selector.ts";
import { addressesIn, type PolicyFamily } from "./ip-blocks.ts";

export type PolicyDirection = "ingress" | "egress";

/** Pods that a policy names. */
export interface PeerSelector {
  /** The only namespace that they are in; undefined where namespaces are selected. */
  readonly namespace: string | undefined;
  readonly namespaceSelector: SelectorStruct | undefined;
  /** All pods of these namespaces if undefined. */
  readonly podSelector: SelectorStruct | undefined;
}

/** A port that pods give a number to, each its own. */
export interface NamedPolicyPort {
  readonly name: string;
  readonly protocol: string;
}

/** The chain of a policy for one direction, and the sets that its rules name. */
export interface DirectionRules {
  readonly rules: readonly string[];
  /** By the name that sets of them have, less their family. */
  readonly peers: ReadonlyMap<string, PeerSelector>;
  readonly namedPorts: ReadonlyMap<string, NamedPolicyPort>;
  /** Ports and blocks of addresses, by the name of their set. */
  readonly fixedSets: ReadonlyMap<string, FixedSet>;
}

/** A set whose elements the policy itself names. */
export interface FixedSet {
  readonly declaration: string;
  readonly elements: readonly string[];
}

export const addressFamilies: readonly PolicyFamily[] = [4, 6];

/** What the policy allows in a direction, or undefined if it does not limit that direction. */
export function directionRules(policy: NetworkPolicy, direction: PolicyDirection): DirectionRules | undefined {
  const { metadata, spec } = policy;
  const types = spec.policyTypes ?? [];
  if (!types.includes(direction === "ingress" ? "Ingress" : "Egress")) return undefined;
  const builder = new RulesBuilder(metadata.namespace ?? "", direction);
  const rules =
    direction === "ingress"
      ? (spec.ingress ?? []).map(({ from = [], ports = [] }) => ({ peers: from, ports }))
      : (spec.egress ?? []).map(({ to = [], ports = [] }) => ({ peers: to, ports }));
  for (const { peers, ports } of rules) builder.allow(peers, ports);
  return builder;
}

/** Names are of contents, so that the same policies give the same table in whichever order they came. */
export const nameFor = (...parts: readonly unknown[]): string =>
  hex(sha256(JSON.stringify(parts)).subarray(0, nameBytes));
const nameBytes = 8;

/** One part of a rule. Without a family it fits both. */
interface Match {
  readonly family?: PolicyFamily;
  readonly text: string;
}

const mostRules = 4;

const anything: readonly Match[] = [{ text: "" }];

export const nftFamily = { 4: "ip", 6: "ip6" } as const;

class RulesBuilder implements DirectionRules {
  readonly rules: string[] = [];
  readonly peers = new Map<string, PeerSelector>();
  readonly namedPorts = new Map<string, NamedPolicyPort>();
  readonly fixedSets = new Map<string, FixedSet>();
  readonly #namespace: string;
  readonly #direction: PolicyDirection;

  constructor(namespace: string, direction: PolicyDirection) {
    this.#namespace = namespace;
    this.#direction = direction;
  }

  /** No peers mean anybody, no ports any port of any protocol. */
  allow(peers: readonly NetworkPolicyPeer[], ports: readonly NetworkPolicyPort[]): void {
    const who = peers.length === 0 ? anything : this.#peerMatches(peers);
    const where = ports.length === 0 ? anything : this.#portMatches(ports);
    for (const peer of who)
      for (const port of where)
        if (peer.family === undefined || port.family === undefined || peer.family === port.family)
          this.rules.push([peer.text, port.text, "accept"].filter((text) => text !== "").join(" "));
  }

  #peerMatches(peers: readonly NetworkPolicyPeer[]): readonly Match[] {
    const blocks = peers.flatMap(({ ipBlock }) => ipBlock ?? []);
    const selectors = peers.filter(({ podSelector, namespaceSelector }) => podSelector ?? namespaceSelector);
    return [...selectors.flatMap((peer) => this.#selectorMatches(peer)), ...this.#blockMatches(blocks)];
  }

  #peerAddress(family: PolicyFamily): string {
    return `ct ${this.#direction === "ingress" ? "original" : "reply"} ${nftFamily[family]} saddr`;
  }

  #selectorMatches({ podSelector, namespaceSelector }: NetworkPolicyPeer): readonly Match[] {
    const selector = {
      namespace: namespaceSelector ? undefined : this.#namespace,
      namespaceSelector,
      podSelector,
    };
    const id = nameFor(selector.namespace ?? null, namespaceSelector ?? null, podSelector ?? null);
    this.peers.set(id, selector);
    return addressFamilies.map((family) => ({
      family,
      text: `${this.#peerAddress(family)} @${peersName(id, family)}`,
    }));
  }

  #blockMatches(blocks: readonly IPBlock[]): readonly Match[] {
    return addressFamilies.flatMap((family) => {
      const addresses = addressesIn(blocks, family);
      if (addresses === "all") return [{ family, text: `meta nfproto ipv${family}` }];
      const type = `ipv${family}_addr`;
      return this.#amongst(addresses, type).map((text) => ({ family, text: `${this.#peerAddress(family)} ${text}` }));
    });
  }

  #portMatches(ports: readonly NetworkPolicyPort[]): readonly Match[] {
    const byProtocol = Map.groupBy(ports, ({ protocol }) => protocol ?? "TCP");
    return [...byProtocol].flatMap(([protocol, all]) => {
      const of = `meta l4proto ${protocol.toLowerCase()}`;
      if (all.some(({ port }) => port === undefined)) return [{ text: of }];
      const names = new Set(all.flatMap(({ port }) => (typeof port === "string" ? [port] : [])));
      return [
        ...this.#amongst(mergedPorts(all), "inet_service").map((text) => ({
          text: `${of} ct reply proto-src ${text}`,
        })),
        ...[...names].flatMap((name) => this.#namedMatches({ name, protocol }, of)),
      ];
    });
  }

  /**
   * Matches for any of the values or ranges. Before it changes an element of any set, nft reads all sets of ranges, anonymous ones
   * too, which takes longer than the change where there are a thousand. So a few ranges are a rule each, and only many are a set.
   */
  #amongst(ranges: readonly string[], type: string): readonly string[] {
    const hasRanges = ranges.some((range) => range.includes("-"));
    if (ranges.length < 2 || (hasRanges && ranges.length <= mostRules)) return ranges;
    const name = `fixed-${nameFor(type, ranges)}`;
    this.fixedSets.set(name, {
      declaration: `type ${type};${hasRanges ? " flags interval;" : ""}`,
      elements: ranges,
    });
    return [`@${name}`];
  }

  #namedMatches(port: NamedPolicyPort, ofProtocol: string): readonly Match[] {
    const id = nameFor(port.protocol, port.name);
    this.namedPorts.set(id, port);
    return addressFamilies.map((family) => ({
      family,
      text: `${ofProtocol} ct reply ${nftFamily[family]} saddr . ct reply proto-src @${namedPortsName(id, family)}`,
    }));
  }
}

export const peersName = (id: string, family: PolicyFamily): string => `peers${family}-${id}`;
export const namedPortsName = (id: string, family: PolicyFamily): string => `named${family}-${id}`;

/** Numbers and ranges that do not overlap, which the kernel would refuse. */
function mergedPorts(ports: readonly NetworkPolicyPort[]): readonly string[] {
  const ranges = ports
    .flatMap(({ port, endPort }) => (typeof port === "number" ? [{ first: port, last: endPort ?? port }] : []))
    .sort((a, b) => a.first - b.first);
  const apart: { readonly first: number; last: number }[] = [];
  for (const { first, last } of ranges) {
    const before = apart.at(-1);
    if (before && first <= before.last + 1) before.last = Math.max(before.last, last);
    else apart.push({ first, last });
  }
  return apart.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
}
