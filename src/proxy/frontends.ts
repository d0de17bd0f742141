// Turns a service and its endpoints into frontends: the addresses of the service, and the targets of the traffic that arrives there. Pure;
// a proxy mode makes rules of it. Which endpoints count follows KEP-1669 (terminating), 2086 (local) and 2433 (hints).
// Upstream: pkg/proxy/topology.go.
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { clusterAddresses } from "#rules/services.ts";

export type FrontendFamily = "IPv4" | "IPv6";
export type Protocol = "tcp" | "udp" | "sctp";

/** What the address is to the service: its own, one that others lead here, a load balancer's, or every address of the node. */
export type FrontendRole = "cluster" | "external" | "balancer" | "node-port";

export interface FrontendTarget {
  readonly address: string;
  readonly port: number;
  /** Whether it is on this node. */
  readonly isLocal: boolean;
}

export interface Frontend {
  /** An address of the service, or undefined for every address of the node. */
  readonly address: string | undefined;
  readonly port: number;
  readonly protocol: Protocol;
  readonly role: FrontendRole;
  /** The name of the service's port, empty for one without. */
  readonly portName: string;
  /** The traffic policy that chose the targets: the internal one at a cluster address, else the external one. */
  readonly policy: "Cluster" | "Local";
  readonly targets: readonly FrontendTarget[];
  /** Targets of traffic that comes from inside the cluster, if they differ: the policy Local only restricts traffic from outside. */
  readonly insideTargets?: readonly FrontendTarget[];
  /** The sender is replaced by this node, so that answers come back through it. */
  readonly masquerades: boolean;
  /** For how long a sender keeps the same target after its last packet. */
  readonly affinitySeconds?: number;
  /** What happens to traffic when there is no target. */
  readonly without: "reject" | "drop";
  /** Networks that may send; defaults to all. */
  readonly sources?: readonly string[];
  /** The port at which load balancers ask how the service is on this node; only with the service's own address. */
  readonly healthPort?: number;
}

export interface NodeView {
  readonly name: string;
  readonly zone?: string | undefined;
}

/** The frontends of one family. A service without an address of its own has none. */
export function frontendsOf(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodeView,
  family: FrontendFamily,
): readonly Frontend[] {
  const { spec } = service;
  const addresses = clusterAddresses(spec).filter((address) => isOf(address, family));
  if (spec.type === "ExternalName" || addresses.length === 0) return [];
  return (spec.ports ?? []).flatMap((port) => {
    const endpoints = endpointsOf(slices, port.name ?? "", node, family);
    const targets = {
      everywhere: usable(nearby(endpoints, node)),
      here: usable(endpoints.filter(({ isLocal }) => isLocal)),
    };
    return [
      ...addresses.map((address) => clusterFrontend(spec, port, address, targets)),
      ...externalFrontends(service, port, targets, family),
    ];
  });
}

type ServicePort = NonNullable<Service["spec"]["ports"]>[number];

interface Targets {
  readonly everywhere: readonly FrontendTarget[];
  /** Those on this node. */
  readonly here: readonly FrontendTarget[];
}

const affinityDefaultSeconds = 10_800;

function commonOf(
  spec: Service["spec"],
  port: ServicePort,
): Pick<Frontend, "portName" | "protocol" | "affinitySeconds"> {
  const timeout = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinityDefaultSeconds;
  return {
    portName: port.name ?? "",
    protocol: port.protocol.toLowerCase() as Protocol, // one of the three, by validation
    ...(spec.sessionAffinity === "ClientIP" && { affinitySeconds: timeout }),
  };
}

function clusterFrontend(
  spec: Service["spec"],
  port: ServicePort,
  address: string,
  { everywhere, here }: Targets,
): Frontend {
  const isLocal = spec.internalTrafficPolicy === "Local";
  const healthPort = healthPortOf(spec);
  return {
    ...commonOf(spec, port),
    address,
    port: port.port,
    role: "cluster",
    policy: isLocal ? "Local" : "Cluster",
    ...(healthPort !== undefined && { healthPort }),
    targets: isLocal ? here : everywhere,
    masquerades: false,
    without: isLocal && everywhere.length > 0 ? "drop" : "reject",
  };
}

/** The port that says how a service is on a node, if there is one. */
export function healthPortOf(spec: Service["spec"] | undefined): number | undefined {
  const { type, externalTrafficPolicy, healthCheckNodePort = 0 } = spec ?? {};
  const isChecked = type === "LoadBalancer" && externalTrafficPolicy === "Local" && healthCheckNodePort > 0;
  return isChecked ? healthCheckNodePort : undefined;
}

/** At external IPs, at addresses of load balancers, and at the node port. */
function externalFrontends(
  { spec, status }: Service,
  port: ServicePort,
  { everywhere, here }: Targets,
  family: FrontendFamily,
): readonly Frontend[] {
  const isLocal = spec.externalTrafficPolicy === "Local";
  const frontend = (role: FrontendRole, address: string | undefined, at = port.port): Frontend => ({
    ...commonOf(spec, port),
    address,
    port: at,
    role,
    policy: isLocal ? "Local" : "Cluster",
    targets: isLocal ? here : everywhere,
    ...(isLocal && { insideTargets: everywhere }),
    masquerades: !isLocal,
    without: isLocal && everywhere.length > 0 ? "drop" : "reject",
  });
  const sources = (spec.loadBalancerSourceRanges ?? [])
    .map((range) => range.trim())
    .filter((range) => isOf(range, family));
  const balanced = (status.loadBalancer.ingress ?? []).filter(
    ({ ip, ipMode = "VIP" }) => ip !== undefined && ipMode === "VIP" && isOf(ip, family),
  );
  return [
    ...(spec.externalIPs ?? []).filter((ip) => isOf(ip, family)).map((ip) => frontend("external", ip)),
    ...balanced.map(({ ip }) => ({ ...frontend("balancer", ip), ...(sources.length > 0 && { sources }) })),
    ...(port.nodePort ? [frontend("node-port", undefined, port.nodePort)] : []),
  ];
}

const isOf = (address: string, family: FrontendFamily): boolean =>
  address !== "" && address.includes(":") === (family === "IPv6");

interface Candidate extends FrontendTarget {
  readonly isReady: boolean;
  readonly isEnding: boolean;
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

function endpointsOf(
  slices: readonly EndpointSlice[],
  portName: string,
  node: NodeView,
  family: FrontendFamily,
): readonly Candidate[] {
  const candidates = new Map<string, Candidate>();
  for (const { addressType, endpoints, ports } of slices) {
    if (addressType !== family) continue;
    const port = ports.find(({ name = "" }) => name === portName)?.port;
    if (port === undefined) continue;
    for (const { addresses, conditions, nodeName, hints } of endpoints) {
      const [address] = addresses; // the others mean the same endpoint
      if (address === undefined) continue;
      const { ready = true, terminating = false, serving = ready } = conditions;
      candidates.set(`${address} ${port}`, {
        address,
        port,
        isLocal: nodeName === node.name,
        isReady: ready,
        isEnding: serving && terminating,
        zones: hints?.forZones?.map(({ name }) => name) ?? [],
        nodes: hints?.forNodes?.map(({ name }) => name) ?? [],
      });
    }
  }
  return [...candidates.values()].sort((a, b) =>
    a.address < b.address ? -1 : a.address > b.address ? 1 : a.port - b.port,
  );
}

/** Those that are ready; where there are none, those that are ending but still answer. */
function usable(endpoints: readonly Candidate[]): readonly FrontendTarget[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const chosen = ready.length > 0 ? ready : endpoints.filter(({ isEnding }) => isEnding);
  return chosen.map(({ address, port, isLocal }) => ({ address, port, isLocal }));
}

/** Those that hints keep for this node or its zone, if every ready endpoint has a hint and one is for us. */
function nearby(endpoints: readonly Candidate[], { name, zone = "" }: NodeView): readonly Candidate[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const keptFor = (hintsOf: (endpoint: Candidate) => readonly string[], us: string) =>
    ready.length > 0 &&
    ready.every((endpoint) => hintsOf(endpoint).length > 0) &&
    ready.some((endpoint) => hintsOf(endpoint).includes(us))
      ? endpoints.filter((endpoint) => !endpoint.isReady || hintsOf(endpoint).includes(us))
      : undefined;
  return keptFor(({ nodes }) => nodes, name) ?? keptFor(({ zones }) => zones, zone) ?? endpoints;
}
