// The iptables rules of ipvs mode. Services are in sets that the rules look into, so the rules never change.
// Upstream: pkg/proxy/ipvs/proxier.go.
import type { FrontendFamily } from "../../frontends.ts";
import { type Chains, canaryChains, type Jump, jump, markChains } from "../iptables/rule-set.ts";
import { rejection, rule } from "../iptables/rule-text.ts";
import { markForMasquerade } from "../iptables/service-chains.ts";
import { type IpSetName, kernelSetName } from "./ip-sets.ts";

export interface IpvsChainSettings {
  readonly family: FrontendFamily;
  /** The network of pods; undefined if it is not known. */
  readonly podRange: string | undefined;
  readonly masqueradesAll: boolean;
  readonly markBit: number;
}

export const ipvsJumps: readonly Jump[] = [
  ...["OUTPUT", "PREROUTING"].map((from) => jump(`nat ${from}`, "KUBE-SERVICES", "service portals", false)),
  jump("nat POSTROUTING", "KUBE-POSTROUTING", "postrouting rules", false),
  jump("filter FORWARD", "KUBE-FORWARD", "forwarding rules", false),
  jump("filter INPUT", "KUBE-NODE-PORT", "health check rules", false),
  ...["FORWARD", "INPUT"].map((from) => jump(`filter ${from}`, "KUBE-PROXY-FIREWALL", "load balancer firewall", false)),
  jump("filter INPUT", "KUBE-IPVS-FILTER", "ipvs access filter", false),
  // By the time of the filter table, ipvs has replaced the address that the node itself sent to.
  jump("mangle OUTPUT", "KUBE-PROXY-FIREWALL", "load balancer firewall", false),
];

export function ipvsChains(settings: IpvsChainSettings): Chains {
  const { family, markBit } = settings;
  const isIn: SetMatch = (set, fields) => `-m set --match-set ${kernelSetName(family, set)} ${fields}`;
  const marks = markChains(markBit);
  const loopback = rule({ matches: [isIn("LOOP-BACK", `${place},src`)], jump: "MASQUERADE" });
  return new Map([
    ...canaryChains,
    ...marks,
    ...firewallChains(isIn),
    ["nat KUBE-SERVICES", serviceRules(settings, isIn)],
    [
      "nat KUBE-LOAD-BALANCER",
      [rule({ matches: [isIn("LOAD-BALANCER-LOCAL", place)], jump: "RETURN" }), `-j ${markForMasquerade}`],
    ],
    ["nat KUBE-NODE-PORT", nodePortRules(isIn)],
    ["nat KUBE-POSTROUTING", [loopback, ...(marks.get("nat KUBE-POSTROUTING") ?? [])]],
    ["filter KUBE-NODE-PORT", [rule({ matches: [isIn("HEALTH-CHECK-NODE-PORT", "dst")], jump: "ACCEPT" })]],
    [
      "filter KUBE-IPVS-FILTER",
      [
        ...serviceSets.map((set) => rule({ matches: [isIn(set, place)], jump: "RETURN" })),
        rule({ matches: [isIn("HEALTH-CHECK-NODE-PORT", "dst")], jump: "RETURN" }),
        // The node has the addresses of services: what listens on all its addresses is not to be reached by them.
        rule({ matches: ["-m conntrack --ctstate NEW", isIn("IPVS-IPS", "dst")], jump: rejection(family) }),
      ],
    ],
  ]);
}

/** Matches packets whose fields are in a set. */
type SetMatch = (set: IpSetName, fields: string) => string;

/** The address and the port that a packet is sent to. */
const place = "dst,dst";
const serviceSets = ["CLUSTER-IP", "LOAD-BALANCER", "EXTERNAL-IP", "EXTERNAL-IP-LOCAL"] as const;
const sourceRanges = "KUBE-SOURCE-RANGES-FIREWALL";

function serviceRules({ family, podRange, masqueradesAll }: IpvsChainSettings, isIn: SetMatch): readonly string[] {
  // Without a network of pods only this is known: what comes from the address of a service was sent by the node itself.
  const fields = masqueradesAll || podRange !== undefined ? place : "src,dst";
  return [
    rule({ from: family === "IPv6" ? "::1/128" : "127.0.0.0/8", jump: "RETURN" }),
    rule({ matches: [isIn("LOAD-BALANCER", place)], jump: "KUBE-LOAD-BALANCER" }),
    rule({
      notFrom: masqueradesAll ? undefined : podRange,
      matches: [isIn("CLUSTER-IP", fields)],
      jump: markForMasquerade,
    }),
    rule({ matches: [isIn("EXTERNAL-IP", place)], jump: markForMasquerade }),
    rule({ matches: ["-m addrtype --dst-type LOCAL"], jump: "KUBE-NODE-PORT" }),
    // Other rules must not translate what ip_vs is to take.
    ...serviceSets.map((set) => rule({ matches: [isIn(set, place)], jump: "ACCEPT" })),
  ];
}

const nodePortRules = (isIn: SetMatch): readonly string[] =>
  (
    [
      ["tcp", "TCP", "dst"],
      ["udp", "UDP", "dst"],
      ["sctp", "SCTP-HASH", place],
    ] as const
  ).flatMap(([protocol, name, fields]) => [
    rule({ protocol, matches: [isIn(`NODE-PORT-LOCAL-${name}`, fields)], jump: "RETURN" }),
    rule({ protocol, matches: [isIn(`NODE-PORT-${name}`, fields)], jump: markForMasquerade }),
  ]);

/** Who may use a load balancer that not everybody may use. */
const firewallChains = (isIn: SetMatch): Chains =>
  new Map(
    ["filter", "mangle"].flatMap((table) => [
      [`${table} KUBE-PROXY-FIREWALL`, [rule({ matches: [isIn("LOAD-BALANCER-FW", place)], jump: sourceRanges })]],
      [
        `${table} ${sourceRanges}`,
        [
          rule({ matches: [isIn("LOAD-BALANCER-SOURCE-CIDR", `${place},src`)], jump: "RETURN" }),
          rule({ matches: [isIn("LOAD-BALANCER-SOURCE-IP", `${place},src`)], jump: "RETURN" }),
          "-j DROP",
        ],
      ],
    ]),
  );
