// The ranges of addresses that a cluster has, and of which families: what flags say of them, and what is wrong with that.
import { parseAddressRanges } from "#apiserver/strategies/service/ranges.ts";
import { UsageError } from "#base/errors.ts";
import { partOf } from "#kubelet/simulated/addresses.ts";
import type { Ranges } from "#network/conflicts.ts";
import { familiesOf, type IpVersion, partsOf } from "#network/ranges.ts";
import { parseCidr, parseIp } from "#schema/ip.ts";

export const ipFamilyNames = ["ipv4", "ipv6", "dual"] as const;
export type IpFamilyName = (typeof ipFamilyNames)[number];

/** The flags that name ranges. */
export const rangeFlags = {
  nodeRange: "node-range",
  podRange: "cluster-cidr",
  serviceRange: "service-cluster-ip-range",
  loadBalancerRange: "load-balancer-range",
} as const satisfies Record<keyof Ranges, string>;
type RangeFlag = (typeof rangeFlags)[keyof Ranges];

type AskedRanges = { readonly [flag in RangeFlag]?: string | undefined } & {
  readonly "ip-family"?: string | undefined;
};

export interface RangeSettings extends Readonly<Record<RangeFlag, string>> {
  readonly runtime: string;
  readonly nodes: number;
  readonly "ip-family": string;
}

/** Ranges by the names of their flags. */
export const rangeSettings = (ranges: Ranges): Readonly<Record<RangeFlag, string>> => ({
  "node-range": ranges.nodeRange,
  "cluster-cidr": ranges.podRange,
  "service-cluster-ip-range": ranges.serviceRange,
  "load-balancer-range": ranges.loadBalancerRange,
});

const namedFamilies: Readonly<Record<IpFamilyName, readonly IpVersion[]>> = { ipv4: [4], ipv6: [6], dual: [4, 6] };

export const nameOfFamilies = (families: readonly IpVersion[]): IpFamilyName =>
  families.length > 1 ? "dual" : families[0] === 6 ? "ipv6" : "ipv4";

/** The families that are asked for, the one first that comes first in the ranges that are given. */
export function familiesAsked(asked: AskedRanges): readonly IpVersion[] {
  const given = Object.values(rangeFlags).flatMap((flag) => {
    const families = asked[flag] === undefined ? undefined : familiesOf(asked[flag]);
    return families ? [families] : [];
  });
  const widest = given.find(({ length }) => length > 1) ?? given[0];
  const name = ipFamilyNames.find((one) => one === asked["ip-family"]);
  if (name === undefined) return widest ?? namedFamilies.ipv4;
  return widest && nameOfFamilies(widest) === name ? widest : namedFamilies[name];
}

/** Each node has a network of pods of this size, in bits of the prefix. */
export const nodePrefixes: Readonly<Record<IpVersion, number>> = { 4: 24, 6: 64 };
/** How many nodes the usual ranges of pods have room for. */
export const usualRoom = 256;
const widePodRanges: Readonly<Record<IpVersion, string>> = { 4: "10.128.0.0/9", 6: "fd00:10:128::/48" };
export const widePodRange = (families: readonly IpVersion[]): string =>
  families.map((family) => widePodRanges[family]).join(",");

/** The networks of a node's pods, by the number of the node: one of each family, with a comma. */
export const podRangeOf = (podRange: string, node: number): string =>
  partsOf(podRange)
    .map((range) => partOf(range, nodePrefixes[familiesOf(range)?.[0] ?? 4], node))
    .join(",");

/** Throws UsageError. */
export function checkRanges(settings: RangeSettings): void {
  const { runtime, nodes } = settings;
  const wrong = (flag: string, why: string) => new UsageError(`--${flag}: ${why}`);
  const family = ipFamilyNames.find((name) => name === settings["ip-family"]);
  if (!family) throw wrong("ip-family", `${ipFamilyNames.join(", ")}, not ${JSON.stringify(settings["ip-family"])}`);
  for (const [flag, example] of [
    ["node-range", "172.31.0.0/24"],
    ["cluster-cidr", "10.244.0.0/16"],
  ] as const)
    for (const part of partsOf(settings[flag]))
      if (!parseCidr(part)) throw wrong(flag, `${JSON.stringify(part)} is not a network such as ${example}`);
  parseAddressRanges(settings["service-cluster-ip-range"]);
  for (const part of partsOf(settings["load-balancer-range"])) {
    if (!parseCidr(part) && !part.split("-").every((end) => parseIp(end)))
      throw wrong("load-balancer-range", `${JSON.stringify(part)} is neither a network nor a range of addresses`);
    if (runtime === "containerd" && !parseCidr(part))
      throw wrong("load-balancer-range", `a network, for the host to have a route to, not ${JSON.stringify(part)}`);
  }
  checkFamilies(settings, family);
  for (const part of partsOf(settings["cluster-cidr"])) {
    const range = parseCidr(part);
    const room = range ? 2 ** (nodePrefixes[range.address.family] - range.length) : 0;
    if (room < nodes) throw wrong("cluster-cidr", `${part} has room for ${Math.floor(room)} nodes, not ${nodes}`);
  }
}

/** Simulated nodes have addresses that nobody gives a range for, and load balancers of them may lack a family. */
function checkFamilies(settings: RangeSettings, name: IpFamilyName): void {
  const services = familiesOf(settings["service-cluster-ip-range"]) ?? [];
  const isReal = settings.runtime === "containerd";
  const flags = [
    ...(["service-cluster-ip-range", "cluster-cidr"] as const),
    ...(isReal ? (["node-range", "load-balancer-range"] as const) : []),
  ];
  for (const flag of flags) {
    const text = settings[flag];
    const families = familiesOf(text) ?? [];
    if (nameOfFamilies(families) !== name || String(families) !== String(services))
      throw new UsageError(
        `--${flag}: ${text} has to be ${wordsOf(name === "dual" && services.length > 1 ? services : namedFamilies[name])}, as --ip-family=${name} asks for; name all ranges in one order of families`,
      );
    if (isReal && partsOf(text).length !== families.length)
      throw new UsageError(`--${flag}: ${text} has more than one network of a family`);
  }
}

const wordsOf = (families: readonly IpVersion[]): string =>
  families.map((family) => `a network of IPv${family}`).join(", then ");
