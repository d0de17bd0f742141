// The rules of one service: chains of its own in the nat table, and lines in the chains that all services share. Pure.
// Upstream: pkg/proxy/iptables/proxier.go.
import type { Frontend, FrontendFamily, FrontendTarget } from "../../frontends.ts";
import { type PortChains, portChains } from "./chain-names.ts";
import { contains, hostNetwork, network, type RuleParts, rejection, rule } from "./rule-text.ts";

/** A chain with its table, as in `nat KUBE-SERVICES`. */
export type SharedChain =
  | "nat KUBE-SERVICES"
  | "nat KUBE-NODEPORTS"
  | "filter KUBE-SERVICES"
  | "filter KUBE-EXTERNAL-SERVICES"
  | "filter KUBE-NODEPORTS"
  | "filter KUBE-PROXY-FIREWALL";

export interface ServiceChains {
  /** Chains of the nat table, by name. */
  readonly own: ReadonlyMap<string, readonly string[]>;
  readonly shared: ReadonlyMap<SharedChain, readonly string[]>;
  /** How many endpoint chains there are among its own. */
  readonly endpoints: number;
}

/** One port of a service. */
export interface ServicePortView {
  /** `namespace/name:port`, for names of chains and for people. */
  readonly name: string;
  readonly protocol: string;
  readonly affinitySeconds: number | undefined;
}

/** How traffic comes from the chain of a policy to the targets: rules at the end of that chain, and chains that these lead to. */
export type Delivery = (
  port: ServicePortView,
  chain: string,
  targets: readonly FrontendTarget[],
) => { readonly rules: readonly string[]; readonly chains: ReadonlyMap<string, readonly string[]> };

export interface ServiceChainSettings {
  readonly family: FrontendFamily;
  /** The network of pods: who is inside the cluster. Undefined if that cannot be told. */
  readonly podRange: string | undefined;
  /** Whether senders are to be replaced where answers would not come back through this node. */
  readonly masquerades: boolean;
  /** Whether every sender to a cluster address is to be replaced. */
  readonly masqueradesAll: boolean;
  /** Addresses of the node. */
  readonly nodeAddresses: readonly string[];
  readonly deliver: Delivery;
}

export const markForMasquerade = "KUBE-MARK-MASQ";

/** `service` is `namespace/name`. */
export function serviceChains(
  service: string,
  frontends: readonly Frontend[],
  settings: ServiceChainSettings,
): ServiceChains {
  const out = new ChainsBuilder(settings);
  for (const port of servicePorts(service, frontends)) out.addPort(port);
  return out;
}

/** A port of a service with its frontends, and with what its chains lead to. */
export interface ServicePortChains {
  readonly port: ServicePortView;
  readonly chains: PortChains;
  readonly frontends: readonly Frontend[];
  /** The chains that lead to endpoints, with these. */
  readonly policies: readonly (readonly [chain: string, targets: readonly FrontendTarget[]])[];
}

export function servicePorts(service: string, frontends: readonly Frontend[]): readonly ServicePortChains[] {
  const ports = Map.groupBy(frontends, ({ portName, protocol }) => `${portName} ${protocol}`);
  return [...ports.values()].flatMap((own) => {
    const [first] = own;
    if (!first) return [];
    const { portName, protocol, affinitySeconds } = first;
    const name = portName === "" ? service : `${service}:${portName}`;
    const chains = portChains(name, protocol);
    const local = own.find(({ policy }) => policy === "Local")?.targets ?? [];
    const everywhere =
      own.find(({ policy }) => policy === "Cluster")?.targets ??
      own.find(({ insideTargets }) => insideTargets !== undefined)?.insideTargets ??
      [];
    const policies = [[chains.cluster, everywhere] as const, [chains.local, local] as const];
    return {
      port: { name, protocol, affinitySeconds },
      chains,
      frontends: own,
      policies: policies.filter(([, targets]) => targets.length > 0),
    };
  });
}

class ChainsBuilder implements ServiceChains {
  readonly own = new Map<string, string[]>();
  readonly shared = new Map<SharedChain, string[]>();
  endpoints = 0;
  readonly #settings: ServiceChainSettings;

  constructor(settings: ServiceChainSettings) {
    this.#settings = settings;
  }

  addPort({ port, chains, frontends, policies }: ServicePortChains): void {
    const { name } = port;
    for (const frontend of frontends) this.#capture(port, chains, frontend);
    const external = frontends.filter(({ role }) => role !== "cluster");
    const [outside] = external;
    if (outside && hasEndpoints(outside)) this.#fillExternal(name, chains, outside);
    this.#fillFirewall(name, chains, external);
    for (const frontend of frontends) if (frontend.role === "cluster") this.#masqueradeInternal(port, chains, frontend);
    this.#fillPolicies(port, policies);
  }

  /** Leads traffic for an address into the chains of the port, or says what becomes of it when there are no targets. */
  #capture(port: ServicePortView, chains: PortChains, frontend: Frontend): void {
    const { name } = port;
    const { role, policy, targets, healthPort } = frontend;
    const { protocol, address } = frontend;
    const to = address === undefined ? undefined : hostNetwork(address);
    const at = { to, protocol, port: frontend.port };
    const words = { cluster: "cluster IP", external: "external IP", balancer: "loadbalancer IP" };
    const isInternal = role === "cluster";
    const leads = isInternal ? targets.length > 0 : hasEndpoints(frontend);
    if (leads) {
      const isGuarded = role === "balancer" && frontend.sources !== undefined;
      const policyChain = policy === "Local" ? chains.local : chains.cluster;
      const jump = isInternal ? policyChain : isGuarded ? chains.firewall : chains.external;
      const comment = role === "node-port" ? name : `${name} ${words[role]}`;
      this.#share(role === "node-port" ? "nat KUBE-NODEPORTS" : "nat KUBE-SERVICES", { ...at, comment, jump });
      if (isGuarded)
        this.#share("filter KUBE-PROXY-FIREWALL", {
          ...at,
          comment: `${name} traffic not accepted by ${chains.firewall}`,
          jump: "DROP",
        });
    }
    if (targets.length === 0)
      this.#share(isInternal ? "filter KUBE-SERVICES" : "filter KUBE-EXTERNAL-SERVICES", {
        ...at,
        comment: `${name} has no ${hasEndpoints(frontend) ? "local " : ""}endpoints`,
        matches: role === "node-port" ? ["-m addrtype --dst-type LOCAL"] : [],
        jump: hasEndpoints(frontend) ? "DROP" : rejection(this.#settings.family),
      });
    if (healthPort !== undefined)
      this.#share("filter KUBE-NODEPORTS", {
        protocol: "tcp",
        comment: `${name} health check node port`,
        port: healthPort,
        jump: "ACCEPT",
      });
  }

  /** Traffic from outside follows the policy; traffic from inside goes to all endpoints, as through a load balancer. */
  #fillExternal(name: string, chains: PortChains, { policy, targets }: Frontend): void {
    const { podRange, masquerades } = this.#settings;
    const chain = chains.external;
    const destinations = `${name} external destinations`;
    this.#begin(chain);
    if (policy === "Cluster") {
      if (masquerades)
        this.#append(chain, { comment: `masquerade traffic for ${destinations}`, jump: markForMasquerade });
    } else {
      if (podRange !== undefined)
        this.#append(chain, { from: podRange, comment: `pod traffic for ${destinations}`, jump: chains.cluster });
      const matches = ["-m addrtype --src-type LOCAL"];
      if (masquerades)
        this.#append(chain, {
          comment: `masquerade LOCAL traffic for ${destinations}`,
          matches,
          jump: markForMasquerade,
        });
      this.#append(chain, { comment: `route LOCAL traffic for ${destinations}`, matches, jump: chains.cluster });
    }
    if (targets.length > 0) this.#append(chain, { jump: policy === "Local" ? chains.local : chains.cluster });
  }

  /** Those who may use the load balancer; what comes to the end of the chain is dropped by KUBE-PROXY-FIREWALL. */
  #fillFirewall(name: string, chains: PortChains, external: readonly Frontend[]): void {
    const guarded = external.filter((frontend) => frontend.sources !== undefined && hasEndpoints(frontend));
    const [first] = guarded;
    if (!first) return;
    const { sources = [] } = first;
    this.#begin(chains.firewall);
    const comment = `${name} loadbalancer IP`;
    const allow = (from: string | undefined) => this.#append(chains.firewall, { from, comment, jump: chains.external });
    for (const source of sources) allow(network(source));
    // A node that has the address of the load balancer itself sends from it.
    if (sources.some((source) => this.#settings.nodeAddresses.some((address) => contains(source, address))))
      for (const { address } of guarded) if (address !== undefined) allow(hostNetwork(address));
    this.#append(chains.firewall, { comment: `other traffic to ${name} will be dropped by KUBE-PROXY-FIREWALL` });
  }

  /** Whoever is outside but has a route to the cluster address gets its answer through this node. */
  #masqueradeInternal({ name, protocol }: ServicePortView, chains: PortChains, frontend: Frontend): void {
    const { podRange, masquerades, masqueradesAll } = this.#settings;
    const { address = "", policy, targets } = frontend;
    const chain = policy === "Local" ? chains.local : chains.cluster;
    if (targets.length === 0) return;
    this.#begin(chain);
    if (!masquerades || !(masqueradesAll || podRange !== undefined)) return;
    this.#append(chain, {
      ...(!masqueradesAll && { notFrom: podRange }),
      to: hostNetwork(address),
      protocol,
      comment: `${name} cluster IP`,
      port: frontend.port,
      jump: markForMasquerade,
    });
  }

  /** The ends of the policies' chains, which lead to endpoints. */
  #fillPolicies(port: ServicePortView, policies: ServicePortChains["policies"]): void {
    const delivered = new Map<string, readonly string[]>();
    for (const [chain, targets] of policies) {
      const { rules, chains: more } = this.#settings.deliver(port, chain, targets);
      this.#begin(chain).push(...rules);
      for (const [name, lines] of more) delivered.set(name, lines);
    }
    for (const [name, lines] of delivered) this.own.set(name, [...lines]);
    this.endpoints += delivered.size;
  }

  #begin(chain: string): string[] {
    const present = this.own.get(chain) ?? [];
    this.own.set(chain, present);
    return present;
  }

  #append(chain: string, parts: RuleParts): void {
    this.#begin(chain).push(rule(parts));
  }

  #share(chain: SharedChain, parts: RuleParts): void {
    const present = this.shared.get(chain);
    if (present) present.push(rule(parts));
    else this.shared.set(chain, [rule(parts)]);
  }
}

/** Whether the service has any endpoints at all, on this node or elsewhere. */
const hasEndpoints = ({ targets, without }: Frontend): boolean => targets.length > 0 || without === "drop";
