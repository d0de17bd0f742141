// What traffic for a service is to become: from the service and its endpoints to addresses, and where what arrives there goes.
// Pure; the packet rules that do it are made elsewhere. Which endpoints count follows KEP-1669 (terminating), 2086 (local) and 2433 (hints).
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { clusterAddresses } from "#rules/services.ts";

export type Family = "IPv4" | "IPv6";
export type Protocol = "tcp" | "udp" | "sctp";

export interface Target {
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
  /** Whether it is the service's own address, which only the cluster knows. */
  readonly isClusterAddress: boolean;
  readonly targets: readonly Target[];
  /** Where what comes from inside goes, if that is elsewhere: what is local for strangers need not be for the cluster itself. */
  readonly insideTargets?: readonly Target[];
  /** The sender is replaced by this node, so that answers come back through it. */
  readonly masquerades: boolean;
  /** A sender comes back to the same target for so long. */
  readonly affinitySeconds?: number;
  /** What happens where there is no target. */
  readonly without: "reject" | "drop";
  /** Networks that may send; all unless told. */
  readonly sources?: readonly string[];
}

export interface NodeView {
  readonly name: string;
  readonly zone?: string | undefined;
}

/** The frontends of one family. A service without address of its own has none. */
export function frontendsOf(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodeView,
  family: Family,
): readonly Frontend[] {
  const { spec } = service;
  const own = clusterAddresses(spec).filter((address) => isOf(address, family));
  if (spec.type === "ExternalName" || own.length === 0) return [];
  const affinitySeconds =
    spec.sessionAffinity === "ClientIP" ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800) : undefined;
  const sources = (spec.loadBalancerSourceRanges ?? [])
    .map((range) => range.trim())
    .filter((range) => isOf(range, family));
  const isExternalLocal = spec.externalTrafficPolicy === "Local";
  return (spec.ports ?? []).flatMap((port) => {
    const endpoints = endpointsOf(slices, port.name ?? "", node, family);
    const everywhere = usable(nearby(endpoints, node));
    const here = usable(endpoints.filter(({ isLocal }) => isLocal));
    const common = {
      protocol: port.protocol.toLowerCase() as Protocol, // one of the three, by validation
      ...(affinitySeconds !== undefined && { affinitySeconds }),
    };
    const cluster = own.map((address): Frontend => {
      const isLocal = spec.internalTrafficPolicy === "Local";
      return {
        ...common,
        address,
        port: port.port,
        isClusterAddress: true,
        targets: isLocal ? here : everywhere,
        masquerades: false,
        without: isLocal && everywhere.length > 0 ? "drop" : "reject",
      };
    });
    const outside = (address: string | undefined, at: number, rest: Partial<Frontend> = {}): Frontend => ({
      ...common,
      address,
      port: at,
      isClusterAddress: false,
      targets: isExternalLocal ? here : everywhere,
      ...(isExternalLocal && { insideTargets: everywhere }),
      masquerades: !isExternalLocal,
      without: isExternalLocal && everywhere.length > 0 ? "drop" : "reject",
      ...rest,
    });
    const balanced = (service.status.loadBalancer.ingress ?? []).filter(
      ({ ip, ipMode = "VIP" }) => ip !== undefined && ipMode === "VIP" && isOf(ip, family),
    );
    return [
      ...cluster,
      ...(spec.externalIPs ?? []).filter((ip) => isOf(ip, family)).map((ip) => outside(ip, port.port)),
      ...balanced.map(({ ip }) => outside(ip, port.port, sources.length > 0 ? { sources } : {})),
      ...(port.nodePort ? [outside(undefined, port.nodePort)] : []),
    ];
  });
}

const isOf = (address: string, family: Family): boolean =>
  address !== "" && address.includes(":") === (family === "IPv6");

interface Candidate extends Target {
  readonly isReady: boolean;
  readonly isEnding: boolean;
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

function endpointsOf(
  slices: readonly EndpointSlice[],
  portName: string,
  node: NodeView,
  family: Family,
): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { addressType, endpoints, ports } of slices) {
    if (addressType !== family) continue;
    const port = ports.find(({ name = "" }) => name === portName)?.port;
    if (port === undefined) continue;
    for (const { addresses, conditions, nodeName, hints } of endpoints) {
      const [address] = addresses; // the others mean the same endpoint
      if (address === undefined) continue;
      const { ready = true, terminating = false, serving = ready } = conditions;
      found.set(`${address} ${port}`, {
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
  return [...found.values()].sort((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : a.port - b.port));
}

/** Those that are ready; where there are none, those that are ending but still answer. */
function usable(endpoints: readonly Candidate[]): readonly Target[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const chosen = ready.length > 0 ? ready : endpoints.filter(({ isEnding }) => isEnding);
  return chosen.map(({ address, port, isLocal }) => ({ address, port, isLocal }));
}

/** Those that hints keep for this node or its zone, if every ready endpoint has a hint and one is for us. */
function nearby(endpoints: readonly Candidate[], { name, zone = "" }: NodeView): readonly Candidate[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const keptFor = (hintsOf: (one: Candidate) => readonly string[], us: string) =>
    ready.length > 0 && ready.every((one) => hintsOf(one).length > 0) && ready.some((one) => hintsOf(one).includes(us))
      ? endpoints.filter((one) => !one.isReady || hintsOf(one).includes(us))
      : undefined;
  return keptFor(({ nodes }) => nodes, name) ?? keptFor(({ zones }) => zones, zone) ?? endpoints;
}
