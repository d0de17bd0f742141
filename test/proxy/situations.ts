// What becomes of traffic for services, whatever the proxy mode: a table of types, policies, affinity, senders, protocols and endpoints.
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Draft } from "#schema/infer.ts";
import { addresses, type Place } from "./two-nodes.ts";

type EndpointDraft = Draft<EndpointSlice["endpoints"][number]>;
type Pod = "pod" | "second pod" | "remote pod";

/** `same` is one of the endpoints, always the same. */
export type Outcome = readonly Pod[] | "same" | "refused" | "silence";

export interface Situation {
  readonly name: string;
  readonly spec: Draft<Service["spec"]>;
  readonly balancer?: boolean;
  readonly endpoints: readonly EndpointDraft[];
  readonly at: "cluster" | "node-port" | "external" | "balancer";
  readonly from: Place;
  readonly outcome: Outcome;
  /** Whom the endpoint sees, where a mode of the kernel carries the traffic; a proxy in between hides the sender anyway. */
  readonly sees?: "sender" | "node";
}

const endpoint = (pod: Pod, rest: EndpointDraft = {}): EndpointDraft => ({
  nodeName: pod === "remote pod" ? "n2" : "n1",
  ...rest,
  addresses: [addresses[pod]],
});
const here = ["pod", "second pod"] as const;
const everywhere = [...here, "remote pod"] as const;
const ending = { conditions: { ready: false, serving: true, terminating: true } };
const unready = { conditions: { ready: false } };
const all = everywhere.map((pod) => endpoint(pod));
const onlyRemote = [endpoint("remote pod")];
const zoneHints = [
  endpoint("pod", { hints: { forZones: [{ name: "a" }] } }),
  endpoint("remote pod", { hints: { forZones: [{ name: "b" }] } }),
];

const nodePort = { type: "NodePort" } as const;
const local = { externalTrafficPolicy: "Local" } as const;
const sticky = { sessionAffinity: "ClientIP" } as const;
const udp = { ports: [{ port: 80, protocol: "UDP" }] } as const;
const balanced = { type: "LoadBalancer" } as const;
const external = { externalIPs: ["external"] };
const fromClients = { loadBalancerSourceRanges: ["192.168.77.96/27"] };
const fromOthers = { loadBalancerSourceRanges: ["10.1.0.0/16"] };
const fromPods = { loadBalancerSourceRanges: ["10.244.0.0/16"] };

type Row = readonly [
  name: string,
  spec: Draft<Service["spec"]>,
  endpoints: readonly EndpointDraft[],
  at: Situation["at"],
  from: Place,
  outcome: Outcome,
  sees?: "sender" | "node",
];

const rows: readonly Row[] = [
  ["a cluster address, from a pod", {}, all, "cluster", "pod", everywhere],
  [
    "a cluster address, from the other pod, to that of another node",
    {},
    onlyRemote,
    "cluster",
    "second pod",
    ["remote pod"],
    "sender",
  ],
  ["a cluster address, from the node", {}, all, "cluster", "node", everywhere],
  ["a cluster address, from outside", {}, all, "cluster", "client", everywhere, "node"],
  [
    "a cluster address, from a pod of the other node",
    {},
    [endpoint("pod")],
    "cluster",
    "remote pod",
    ["pod"],
    "sender",
  ],
  ["a cluster address, from its only endpoint", {}, [endpoint("pod")], "cluster", "pod", ["pod"], "node"],
  ["a cluster address by datagrams, from a pod", udp, all, "cluster", "pod", everywhere],
  ["a cluster address by datagrams, from the node", udp, all, "cluster", "node", everywhere],
  ["a cluster address by datagrams, from outside", udp, all, "cluster", "client", everywhere, "node"],
  ["a cluster address without endpoints, from a pod", {}, [], "cluster", "pod", "refused"],
  ["a cluster address without endpoints, from the node", {}, [], "cluster", "node", "refused"],
  ["a cluster address without endpoints, from outside", {}, [], "cluster", "client", "refused"],
  ["a cluster address without endpoints, by datagrams", udp, [], "cluster", "pod", "refused"],
  [
    "endpoints that are not ready",
    {},
    [endpoint("pod", unready), endpoint("second pod")],
    "cluster",
    "pod",
    ["second pod"],
  ],
  [
    "endpoints that are all ending",
    {},
    [endpoint("pod", ending), endpoint("remote pod", unready)],
    "cluster",
    "client",
    ["pod"],
  ],
  ["endpoints that are kept for the zone", {}, zoneHints, "cluster", "second pod", ["pod"]],
  ["insiders kept on the node, from a pod", { internalTrafficPolicy: "Local" }, all, "cluster", "pod", here],
  ["insiders kept on the node, from outside", { internalTrafficPolicy: "Local" }, all, "cluster", "client", here],
  [
    "insiders kept on a node without endpoints",
    { internalTrafficPolicy: "Local" },
    onlyRemote,
    "cluster",
    "pod",
    "silence",
  ],
  ["affinity, from a pod", sticky, all, "cluster", "pod", "same"],
  ["affinity, from outside", sticky, all, "cluster", "client", "same"],
  ["affinity by datagrams", { ...sticky, ...udp }, all, "cluster", "second pod", "same"],
  ["affinity with a single endpoint", sticky, onlyRemote, "cluster", "node", ["remote pod"]],
  ["a node port, from outside", nodePort, all, "node-port", "client", everywhere, "node"],
  ["a node port, from the node", nodePort, all, "node-port", "node", everywhere],
  ["a node port, from a pod", nodePort, all, "node-port", "second pod", everywhere],
  ["a node port by datagrams, from outside", { ...nodePort, ...udp }, all, "node-port", "client", everywhere, "node"],
  ["a node port without endpoints, from outside", nodePort, [], "node-port", "client", "refused"],
  ["a node port with affinity", { ...nodePort, ...sticky }, all, "node-port", "client", "same"],
  [
    "a node port that keeps outsiders on the node",
    { ...nodePort, ...local },
    all,
    "node-port",
    "client",
    here,
    "sender",
  ],
  [
    "a node port that keeps outsiders on the node, from a pod",
    { ...nodePort, ...local },
    all,
    "node-port",
    "pod",
    everywhere,
  ],
  [
    "a node port that keeps outsiders on the node, from the node",
    { ...nodePort, ...local },
    all,
    "node-port",
    "node",
    everywhere,
  ],
  [
    "a node port that keeps outsiders on a node without endpoints",
    { ...nodePort, ...local },
    onlyRemote,
    "node-port",
    "client",
    "silence",
  ],
  ["the same, from a pod", { ...nodePort, ...local }, onlyRemote, "node-port", "pod", ["remote pod"]],
  ["the same, from the node", { ...nodePort, ...local }, onlyRemote, "node-port", "node", ["remote pod"]],
  ["an external address, from outside", external, all, "external", "client", everywhere, "node"],
  ["an external address, from a pod", external, all, "external", "pod", everywhere],
  ["an external address without endpoints", external, [], "external", "client", "refused"],
  [
    "an external address that keeps outsiders on the node",
    { ...nodePort, ...external, ...local },
    all,
    "external",
    "client",
    here,
    "sender",
  ],
  ["a load balancer, from outside", balanced, all, "balancer", "client", everywhere, "node"],
  ["a load balancer, from a pod", balanced, all, "balancer", "pod", everywhere],
  ["a load balancer by datagrams", { ...balanced, ...udp }, all, "balancer", "client", everywhere, "node"],
  [
    "a load balancer for the sender's network",
    { ...balanced, ...fromClients },
    all,
    "balancer",
    "client",
    everywhere,
    "node",
  ],
  ["a load balancer for another network", { ...balanced, ...fromOthers }, all, "balancer", "client", "silence"],
  ["a load balancer for pods, from a pod", { ...balanced, ...fromPods }, all, "balancer", "second pod", everywhere],
  ["a load balancer for pods, from outside", { ...balanced, ...fromPods }, all, "balancer", "client", "silence"],
  [
    "the node port of a load balancer for another network",
    { ...balanced, ...fromOthers },
    all,
    "node-port",
    "client",
    everywhere,
    "node",
  ],
  [
    "a load balancer that keeps outsiders on the node",
    { ...balanced, ...local },
    all,
    "balancer",
    "client",
    here,
    "sender",
  ],
  [
    "the same, for the sender's network",
    { ...balanced, ...local, ...fromClients },
    all,
    "balancer",
    "client",
    here,
    "sender",
  ],
  [
    "a load balancer that keeps outsiders on a node without endpoints",
    { ...balanced, ...local },
    onlyRemote,
    "balancer",
    "client",
    "silence",
  ],
  ["a load balancer without endpoints", balanced, [], "balancer", "client", "refused"],
];

export const situations: readonly Situation[] = rows.map(([name, spec, endpoints, at, from, outcome, sees], i) => ({
  name: `${name}`,
  spec: {
    ports: [{ port: 80 }],
    ...spec,
    ...(spec?.externalIPs && { externalIPs: [externalAddress(i)] }),
  },
  balancer: spec?.type === "LoadBalancer",
  endpoints,
  at,
  from,
  outcome,
  ...(sees && { sees }),
}));

/** The address of the i-th situation that leads from elsewhere to its service. */
export function externalAddress(i: number): string {
  return `172.31.0.${i + 1}`;
}

export const balancerAddress = (i: number): string => `172.31.1.${i + 1}`;

/** What comes of it in ipvs mode, whose virtual servers cannot tell insiders from outsiders, and refuse where they have no destination. */
export const ipvsOutcome = ({ name, outcome }: Situation): Outcome => ipvsOutcomes.get(name) ?? outcome;

const ipvsOutcomes: ReadonlyMap<string, Outcome> = new Map<string, Outcome>([
  ["insiders kept on a node without endpoints", "refused"],
  ["a node port that keeps outsiders on the node, from a pod", here],
  ["a node port that keeps outsiders on the node, from the node", here],
]);
