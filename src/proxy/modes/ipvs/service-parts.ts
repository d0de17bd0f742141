// What a service needs on a node in ipvs mode: virtual servers with their destinations, the addresses that these are at, and entries of
// the sets that rules look into. Pure.
// Upstream: pkg/proxy/ipvs/proxier.go.
import { formatIp, parseIp } from "#schema/ip.ts";
import type { Frontend, FrontendFamily, FrontendTarget, Protocol } from "../../frontends.ts";
import { contains, hostNetwork, joined, network } from "../iptables/rule-text.ts";
import { type IpSetName, kernelSetName } from "./ip-sets.ts";

export interface VirtualServer {
  /** How it chooses, in ipvsadm's words: `-s rr -p 10800`. */
  readonly options: string;
  /** Weights by address and port; a destination of weight 0 gets no new connections. */
  readonly destinations: ReadonlyMap<string, number>;
}

export interface ServiceParts {
  /** Addresses of the service that the node is to have. */
  readonly addresses: ReadonlySet<string>;
  /** Entries with their sets, as in `KUBE-CLUSTER-IP 10.96.0.1,tcp:80`. */
  readonly entries: ReadonlySet<string>;
  /** By protocol and place in ipvsadm's words: `-t 10.96.0.1:80`. */
  readonly servers: ReadonlyMap<string, VirtualServer>;
}

export interface PartsSettings {
  readonly family: FrontendFamily;
  readonly scheduler: string;
  /** Addresses that the node has by itself. */
  readonly nodeAddresses: readonly string[];
  /** Those of them that have node ports. */
  readonly nodePortAddresses: readonly string[];
}

const protocolFlags: Readonly<Record<Protocol, string>> = { tcp: "-t", udp: "-u", sctp: "--sctp-service" };

export function serviceParts(frontends: readonly Frontend[], settings: PartsSettings): ServiceParts {
  const parts = new PartsBuilder(settings);
  for (const frontend of frontends) parts.add(frontend);
  return parts;
}

class PartsBuilder implements ServiceParts {
  readonly addresses = new Set<string>();
  readonly entries = new Set<string>();
  readonly servers = new Map<string, VirtualServer>();
  readonly #settings: PartsSettings;

  constructor(settings: PartsSettings) {
    this.#settings = settings;
  }

  add(frontend: Frontend): void {
    const { address, port, protocol, healthPort } = frontend;
    const { nodePortAddresses } = this.#settings;
    if (healthPort !== undefined) this.#enter("HEALTH-CHECK-NODE-PORT", String(healthPort));
    // An endpoint that reaches itself would answer itself straight.
    for (const { address: pod, port: at, isLocal } of frontend.targets) {
      const own = canonical(pod);
      if (isLocal) this.#enter("LOOP-BACK", `${own},${protocol}:${at},${own}`);
    }
    if (address === undefined) {
      this.#enterNodePort(frontend);
      for (const own of nodePortAddresses) this.#serve(own, frontend);
      return;
    }
    const own = canonical(address);
    this.#enterAddress(own, frontend, `${own},${protocol}:${port}`);
    this.#serve(own, frontend);
    if (this.#settings.nodeAddresses.includes(own)) return;
    this.addresses.add(own);
    this.#enter("IPVS-IPS", own);
  }

  #enterAddress(address: string, frontend: Frontend, entry: string): void {
    const { role, policy } = frontend;
    if (role === "cluster") this.#enter("CLUSTER-IP", entry);
    if (role === "external") this.#enter(policy === "Local" ? "EXTERNAL-IP-LOCAL" : "EXTERNAL-IP", entry);
    if (role !== "balancer") return;
    this.#enter("LOAD-BALANCER", entry);
    if (policy === "Local") this.#enter("LOAD-BALANCER-LOCAL", entry);
    if (frontend.sources) this.#enterSources(address, frontend.sources, entry);
  }

  #enterSources(address: string, sources: readonly string[], entry: string): void {
    this.#enter("LOAD-BALANCER-FW", entry);
    for (const source of sources)
      for (const range of storable(source)) this.#enter("LOAD-BALANCER-SOURCE-CIDR", `${entry},${range}`);
    // The node itself sends from the address of the load balancer, since it has it.
    if (sources.some((source) => this.#settings.nodeAddresses.some((own) => contains(source, own))))
      this.#enter("LOAD-BALANCER-SOURCE-IP", `${entry},${address}`);
  }

  #enterNodePort({ port, protocol, policy }: Frontend): void {
    const isLocal = policy === "Local";
    if (protocol === "sctp") {
      for (const own of this.#settings.nodePortAddresses) {
        this.#enter("NODE-PORT-SCTP-HASH", `${own},sctp:${port}`);
        if (isLocal) this.#enter("NODE-PORT-LOCAL-SCTP-HASH", `${own},sctp:${port}`);
      }
      return;
    }
    const name = protocol === "tcp" ? ("TCP" as const) : ("UDP" as const);
    this.#enter(`NODE-PORT-${name}`, String(port));
    if (isLocal) this.#enter(`NODE-PORT-LOCAL-${name}`, String(port));
  }

  #serve(address: string, frontend: Frontend): void {
    const { scheduler } = this.#settings;
    const { port, protocol, affinitySeconds } = frontend;
    const options = [
      `-s ${scheduler}`,
      ...(affinitySeconds === undefined ? [] : [`-p ${affinitySeconds}`]),
      ...(scheduler === "mh" ? ["-b mh-port"] : []),
    ];
    const targets = targetsOf(frontend).map((target) => [joined(canonical(target.address), target.port), 1] as const);
    this.servers.set(`${protocolFlags[protocol]} ${joined(address, port)}`, {
      options: options.join(" "),
      destinations: new Map(targets),
    });
  }

  #enter(set: IpSetName, entry: string): void {
    this.entries.add(`${kernelSetName(this.#settings.family, set)} ${entry}`);
  }
}

/**
 * A virtual server cannot tell insiders from outsiders. Where outsiders are kept on a node without endpoints, all go to those of other
 * nodes: insiders get there, and outsiders, whose address is not replaced, get no answer.
 */
const targetsOf = ({ targets, insideTargets = [] }: Frontend): readonly FrontendTarget[] =>
  targets.length > 0 ? targets : insideTargets;

/** As the kernel writes it. */
function canonical(address: string): string {
  const ip = parseIp(address);
  return ip ? formatIp(ip) : address;
}

/** A network as sets have it: without the prefix of a single address, and the network of all addresses in two halves. */
function storable(range: string): readonly string[] {
  const text = network(range);
  if (text === undefined) return range.includes(":") ? ["::/1", "8000::/1"] : ["0.0.0.0/1", "128.0.0.0/1"];
  const [address = ""] = text.split("/");
  return [text === hostNetwork(address) ? address : text];
}
