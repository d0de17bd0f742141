// What on the host is in the way of a cluster's network, found before anything is changed, and ranges that nothing is in the way of.
import { type LocalNetwork, linkOf } from "./local-network.ts";
import { tableOf } from "./packet-rules.ts";
import { addressFor, bitsOf, type IpVersion, isIpv6, type NetworkRange, overlap, parseRanges } from "./ranges.ts";

export interface HostState {
  readonly links: readonly {
    readonly name: string;
    /** What the kernel calls such an interface: `veth`, `bridge`; absent for devices. */
    readonly kind?: string;
    /** With the length of its network: `192.168.1.7/24`. */
    readonly addresses: readonly string[];
  }[];
  /** In all tables; the default route's destination is `default`. */
  readonly routes: readonly { readonly to: string; readonly links: readonly string[] }[];
  /** Those that were asked about and are there. */
  readonly namespaces: readonly HostNamespace[];
  /** Addresses, which may be reached by no better way than the default route. */
  readonly nameServers: readonly string[];
  /** Chains that drop what is forwarded unless a rule says otherwise. */
  readonly forwardDrops: readonly { readonly table: string; readonly chain: string }[];
  readonly doesForward: boolean;
  readonly doesForwardIpv6: boolean;
}

export interface HostNamespace {
  readonly name: string;
  /** False for a file of that name that holds no namespace, as an interruption leaves. */
  readonly isWhole: boolean;
  readonly links: readonly { readonly name: string; readonly addresses: readonly string[] }[];
}

/** A cluster that is on this machine, running or not. */
export interface OtherCluster extends Ranges {
  readonly cluster: string;
}

export interface Ranges {
  readonly nodeRange: string;
  readonly podRange: string;
  readonly serviceRange: string;
  readonly loadBalancerRange: string;
}

type Name = keyof Ranges;

const flags: Readonly<Record<Name, { readonly what: string; readonly flag: string }>> = {
  nodeRange: { what: "the range of nodes", flag: "--node-range" },
  podRange: { what: "the range of pods", flag: "--cluster-cidr" },
  serviceRange: { what: "the range of services", flag: "--service-cluster-ip-range" },
  loadBalancerRange: { what: "the range of load balancers", flag: "--load-balancer-range" },
};
const names = ["nodeRange", "podRange", "serviceRange", "loadBalancerRange"] as const;

/** Sentences that say what is in the way, and which flag leads around it. What is left of this same cluster is not. */
export function findConflicts(
  network: LocalNetwork,
  state: HostState,
  others: readonly OtherCluster[] = [],
): readonly string[] {
  const { options, link } = network;
  const taken = occupied(state, others, link);
  const ranges = names.flatMap((name) => {
    const conflict = conflictOf(name, options, taken);
    return conflict === undefined ? [] : [conflict];
  });
  return [...ranges, ...foreignNames(network, state)];
}

function conflictOf(name: Name, ranges: Ranges, taken: readonly OccupiedRange[]): string | undefined {
  const { what: description, flag } = flags[name];
  const text = ranges[name];
  const parsed = parseRanges(text);
  if (!parsed || parsed.length === 0) return `${description}, ${JSON.stringify(text)}, is no network; ${flag} sets it`;
  for (const other of names.slice(0, names.indexOf(name))) {
    const theirs = parseRanges(ranges[other]) ?? [];
    if (parsed.some((a) => theirs.some((b) => overlap(a, b))))
      return `${description}, ${text}, overlaps with ${flags[other].what}, ${ranges[other]}: choose others with ${flag} or ${flags[other].flag}`;
  }
  const found = taken.find(({ range }) => parsed.some((one) => overlap(one, range)));
  return found && `${description}, ${text}, overlaps with ${found.by}: choose another with ${flag}`;
}

interface OccupiedRange {
  readonly range: NetworkRange;
  readonly by: string;
}

/** Shorter prefixes are no conflict, such as the two halves of the address space by which a VPN replaces the default route. */
const shortestPrefix: Readonly<Record<IpVersion, number>> = { 4: 8, 6: 16 };

const isWide = ({ family, first, last }: NetworkRange): boolean =>
  last - first >= 1n << BigInt(bitsOf(family) - shortestPrefix[family]);

function occupied(state: HostState, others: readonly OtherCluster[], ownLink: string): readonly OccupiedRange[] {
  const networks = [
    ...others.flatMap(({ cluster, ...ranges }) =>
      names.map((name) => ({ text: ranges[name], by: `${ranges[name]} of cluster ${JSON.stringify(cluster)}` })),
    ),
    ...state.links
      .filter(({ name }) => name !== ownLink)
      .flatMap(({ name, addresses }) => addresses.map((text) => ({ text, by: `${text} of interface ${name}` }))),
    ...state.routes
      .filter(({ to, links }) => to !== "default" && !links.includes(ownLink))
      .map(({ to, links }) => ({ text: to, by: `the route to ${to} over ${links.join(", ") || "no interface"}` })),
    ...state.nameServers.map((text) => ({ text, by: `${text}, a name server of this machine` })),
  ];
  return networks.flatMap(({ text, by }) =>
    (parseRanges(text) ?? []).filter((range) => !isWide(range)).map((range) => ({ range, by })),
  );
}

function foreignNames(network: LocalNetwork, { links, namespaces }: HostState): readonly string[] {
  const { link, nodes } = network;
  const taken = links.find(({ name, kind }) => name === link && kind !== "veth");
  const expected = new Map<string, { readonly link: string; readonly own: readonly string[] }>([
    [network.switch, { link: "host", own: [] }],
    ...nodes.map(({ netns, addresses }) => [netns, { link: "eth0", own: addresses }] as const),
  ]);
  return [
    ...(taken ? [`interface ${link}, a ${taken.kind ?? "device"}, is not ours: rename or remove it`] : []),
    ...namespaces.flatMap(({ name, links: inside }) => {
      const { link: plug, own } = expected.get(name) ?? { link: undefined, own: [] };
      const rest = inside.filter((one) => one.name !== "lo");
      const cable = rest.find((one) => one.name === plug);
      const isOurs = rest.length === 0 || (cable !== undefined && own.every((one) => isAt(cable.addresses, one)));
      const shown = rest.map((one) => [one.name, ...one.addresses].join(" ")).join(", ");
      return isOurs
        ? []
        : [
            `network namespace ${name} (with ${shown}) is not ours: "ip netns delete ${name}" removes it, or choose another --name`,
          ];
    }),
  ];
}

/** A cable that was just plugged in has no address of the family yet, or but the one that the kernel gives to every interface. */
function isAt(addresses: readonly string[], address: string): boolean {
  const rest = addresses.filter((one) => !one.startsWith("fe80:"));
  return addressFor(address, rest) === undefined || rest.some((one) => one.startsWith(`${address}/`));
}

/** What a person should know about the way out, beyond that there is one. */
export function egressNotes(network: LocalNetwork, state: HostState): readonly string[] {
  const { options, link } = network;
  if (!options.egress) return [];
  const own = tableOf(network);
  const hasIpv6 = network.hostAddresses.some(isIpv6);
  const drops = state.forwardDrops.filter(
    ({ table }) => table !== `ip ${own}` && table !== `ip6 ${own}` && (hasIpv6 || !table.startsWith("ip6 ")),
  );
  return [
    ...(hasIpv6 && !state.doesForwardIpv6
      ? [
          "pods have no way out of the machine over IPv6, since net.ipv6.conf.all.forwarding is off: whoever turns it on, and has the machine listen to routers all the same (accept_ra=2), starts the cluster again",
        ]
      : []),
    ...(state.doesForward
      ? []
      : ["net.ipv4.ip_forward is turned on for the nodes' way out of the machine, until the cluster goes down"]),
    ...drops.map(
      ({ table, chain }) =>
        `table ${table}, chain ${chain}, drops what is forwarded: pods reach nothing outside of the machine unless it accepts ` +
        `what comes from ${link}: "nft insert rule ${table} ${chain} iifname ${link} accept" and ` +
        `"nft insert rule ${table} ${chain} oifname ${link} ct state established,related accept"`,
    ),
  ];
}

/** In the order in which they are tried; the first is what a lone cluster has. */
const defaultRangesOfIpv4: Readonly<Record<Name, () => readonly string[]>> = {
  nodeRange: () => [31, 30, 29, 28].flatMap((b) => numbersBetween(0, 250).map((c) => `172.${b}.${c}.0/24`)),
  podRange: () => [
    ...[...numbersBetween(244, 255), ...numbersBetween(243, 128)].map((b) => `10.${b}.0.0/16`),
    ...numbersBetween(16, 21).map((b) => `172.${b}.0.0/16`),
  ],
  serviceRange: () => [
    ...numbersBetween(96, 127).map((b) => `10.${b}.0.0/16`),
    ...numbersBetween(22, 27).map((b) => `172.${b}.0.0/16`),
  ],
  loadBalancerRange: () => [31, 30, 29, 28].flatMap((b) => numbersBetween(255, 251).map((c) => `172.${b}.${c}.0/24`)),
};

const defaultRangesOfIpv6: Readonly<Record<Name, () => readonly string[]>> = {
  nodeRange: () => numbersBetween(0, 250).map((n) => (n === 0 ? "fd00:172:31::/64" : `fd00:172:31:${n}::/64`)),
  podRange: () => numbersBetween(244, 499).map((n) => `fd00:10:${n}::/56`),
  serviceRange: () => numbersBetween(96, 127).map((n) => `fd00:10:${n}::/112`),
  loadBalancerRange: () => numbersBetween(255, 510).map((n) => `fd00:172:31:${n}::/112`),
};

const defaultRanges = { 4: defaultRangesOfIpv4, 6: defaultRangesOfIpv6 } as const;

/** What a lone cluster has. */
export function usualRanges(families: readonly IpVersion[]): Ranges {
  const firstOf = (name: Name) => families.map((family) => defaultRanges[family][name]()[0]).join(",");
  return {
    nodeRange: firstOf("nodeRange"),
    podRange: firstOf("podRange"),
    serviceRange: firstOf("serviceRange"),
    loadBalancerRange: firstOf("loadBalancerRange"),
  };
}

/** From one number to another, up or down. */
const numbersBetween = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + Math.sign(to - from) * i);

/**
 * The ranges given, and for each that is not given the first default that is free. What is left of an earlier `cluster` of
 * this name does not count. Throws if there are none.
 */
export function pickRanges(
  fixed: Partial<Ranges>,
  state: HostState,
  others: readonly OtherCluster[] = [],
  { cluster = "", families = [4] }: { readonly cluster?: string; readonly families?: readonly IpVersion[] } = {},
): Ranges {
  const taken = [...occupied(state, others, linkOf(cluster))];
  const isFree = (text: string) =>
    (parseRanges(text) ?? []).every((one) => !taken.some(({ range }) => overlap(one, range)));
  const take = (text: string, by: string) => {
    for (const range of parseRanges(text) ?? []) taken.push({ range, by });
  };
  for (const name of names) if (fixed[name] !== undefined) take(fixed[name], flags[name].what);
  const pickOf = (family: IpVersion, name: Name): string => {
    const found = defaultRanges[family][name]().find(isFree);
    if (found === undefined)
      throw new Error(`each usual range is in use: choose ${flags[name].what} with ${flags[name].flag}`);
    take(found, flags[name].what);
    return found;
  };
  const pick = (name: Name): string => fixed[name] ?? families.map((family) => pickOf(family, name)).join(",");
  return {
    nodeRange: pick("nodeRange"),
    podRange: pick("podRange"),
    serviceRange: pick("serviceRange"),
    loadBalancerRange: pick("loadBalancerRange"),
  };
}
