// The sets of addresses and ports that the iptables rules of ipvs mode look into. Names are upstream's: tools and people look for them.
// Upstream: pkg/proxy/ipvs/ipset.go.
import type { FrontendFamily } from "../../frontends.ts";

const types = {
  "LOOP-BACK": "hash:ip,port,ip",
  "CLUSTER-IP": "hash:ip,port",
  "EXTERNAL-IP": "hash:ip,port",
  "EXTERNAL-IP-LOCAL": "hash:ip,port",
  "LOAD-BALANCER": "hash:ip,port",
  "LOAD-BALANCER-LOCAL": "hash:ip,port",
  "LOAD-BALANCER-FW": "hash:ip,port",
  "LOAD-BALANCER-SOURCE-IP": "hash:ip,port,ip",
  "LOAD-BALANCER-SOURCE-CIDR": "hash:ip,port,net",
  "NODE-PORT-TCP": "bitmap:port",
  "NODE-PORT-LOCAL-TCP": "bitmap:port",
  "NODE-PORT-UDP": "bitmap:port",
  "NODE-PORT-LOCAL-UDP": "bitmap:port",
  "NODE-PORT-SCTP-HASH": "hash:ip,port",
  "NODE-PORT-LOCAL-SCTP-HASH": "hash:ip,port",
  "HEALTH-CHECK-NODE-PORT": "bitmap:port",
  "IPVS-IPS": "hash:ip",
} as const;

export type IpSetName = keyof typeof types;
const names = Object.keys(types) as IpSetName[]; // the keys of a constant

/** The name that the kernel knows the set by. */
export const kernelSetName = (family: FrontendFamily, name: IpSetName): string =>
  `KUBE-${family === "IPv6" ? "6-" : ""}${name}`;

export const setNamesOf = (family: FrontendFamily): readonly string[] =>
  names.map((name) => kernelSetName(family, name));

/** Upstream's sets hold 65,536 entries, which is less than services there may be. */
const mostEntries = 1_048_576;

/** Commands that make the sets which are not there yet. */
export const createLines = (family: FrontendFamily, present: ReadonlySet<string>): readonly string[] =>
  names.flatMap((name) => {
    const type = types[name];
    const size =
      type === "bitmap:port"
        ? "range 0-65535"
        : `family ${family === "IPv6" ? "inet6" : "inet"} maxelem ${mostEntries}`;
    const set = kernelSetName(family, name);
    return present.has(set) ? [] : [`create ${set} ${type} ${size}`];
  });

/** The sets of a kernel with their entries, as `ipset save` prints them. */
export function readSets(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const sets = new Map<string, Set<string>>();
  for (const line of text.split("\n")) {
    const [verb, set = "", entry = ""] = line.split(" ");
    if (verb === "create") sets.set(set, new Set());
    else if (verb === "add") sets.get(set)?.add(entry);
  }
  return sets;
}
