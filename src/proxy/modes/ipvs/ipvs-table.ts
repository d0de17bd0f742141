// Remembers what the node has for the services of one address family, and makes the commands that bring it from one state to the next.
// A destination of TCP that is no longer wanted gets no new connections (weight 0), and goes when the last of its old ones has ended.
// Upstream: pkg/proxy/ipvs/proxier.go, pkg/proxy/ipvs/graceful_termination.go.
import type { Frontend } from "../../frontends.ts";
import { type PartsSettings, type ServiceParts, serviceParts, type VirtualServer } from "./service-parts.ts";

/** All that the mode has on a node: what its services need together. */
export type IpvsState = ServiceParts;

/** Commands in the order in which they are to be done; empty texts need not be. */
export interface IpvsSteps {
  /** For `ipset restore`. */
  readonly sets: string;
  /** For `ipvsadm --restore`. */
  readonly servers: string;
  /** Addresses that virtual servers are at: a node that has an address without its server would refuse connections. */
  readonly bind: readonly string[];
  /** Addresses that no virtual server is at any more. */
  readonly unbind: readonly string[];
}

const nothing: ServiceParts = { addresses: new Set(), entries: new Set(), servers: new Map() };

export class IpvsTable {
  #settings: PartsSettings;
  readonly #frontends = new Map<string, readonly Frontend[]>();
  readonly #services = new Map<string, ServiceParts>();
  /** How many services want an address or an entry of a set. */
  readonly #wants = new Map<string, number>();
  /** The services that claim a virtual server; the first of them has it. */
  readonly #claims = new Map<string, Map<string, VirtualServer>>();
  /** Destinations that only old connections go to, by virtual server. */
  readonly #draining = new Map<string, ReadonlySet<string>>();

  constructor(settings: PartsSettings) {
    this.#settings = settings;
  }

  get draining(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#draining;
  }

  /** What the services call for. */
  get wanted(): IpvsState {
    const wants = (kind: string) =>
      new Set([...this.#wants.keys()].filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length)));
    const servers = [...this.#claims.keys()].flatMap((key) => {
      const server = this.#serverAt(key);
      return server ? [[key, server] as const] : [];
    });
    return { addresses: wants(address), entries: wants(entry), servers: new Map(servers) };
  }

  /** Takes over what services have now, and returns what changes the node accordingly. */
  change(services: ReadonlyMap<string, readonly Frontend[]>): IpvsSteps {
    const before = new Map<string, VirtualServer | undefined>();
    const wants = new Map<string, boolean>();
    for (const [service, frontends] of services) {
      if (frontends.length === 0) this.#frontends.delete(service);
      else this.#frontends.set(service, frontends);
      this.#replace(service, before, wants);
    }
    const steps = new StepsBuilder();
    for (const [key, was] of wants) steps.want(key, was, this.#wants.has(key));
    for (const [key, was] of before) this.#serve(key, was && this.#withDraining(key, was), steps);
    return steps.steps;
  }

  /** What brings a node to the wanted state from one that was read from it. */
  rewrite(present: IpvsState): IpvsSteps {
    const { addresses, entries, servers } = this.wanted;
    const steps = new StepsBuilder();
    const wants = (kind: string, before: ReadonlySet<string>, after: ReadonlySet<string>) => {
      for (const key of new Set([...before, ...after])) steps.want(`${kind}${key}`, before.has(key), after.has(key));
    };
    wants(entry, present.entries, entries);
    wants(address, present.addresses, addresses);
    this.#draining.clear();
    for (const key of new Set([...present.servers.keys(), ...servers.keys()]))
      this.#serve(key, present.servers.get(key), steps);
    return steps.steps;
  }

  /** The commands that remove destinations whose last connection has ended; `busy` names servers and destinations that still have some. */
  reap(busy: ReadonlySet<string>): string {
    const lines: string[] = [];
    for (const [server, destinations] of this.#draining) {
      const left = new Set([...destinations].filter((destination) => busy.has(`${server} ${destination}`)));
      for (const destination of destinations)
        if (!left.has(destination)) lines.push(`-d ${server} -r ${destination}\n`);
      if (left.size > 0) this.#draining.set(server, left);
      else this.#draining.delete(server);
    }
    return lines.join("");
  }

  /** Notes the addresses that the node has by itself. What services need of it follows with the next rewrite. */
  moveTo(settings: PartsSettings): void {
    this.#settings = settings;
    for (const service of this.#frontends.keys()) this.#replace(service, new Map(), new Map());
  }

  /** Replaces the parts of a service; notes what was there before of all that it touches. */
  #replace(service: string, before: Map<string, VirtualServer | undefined>, wants: Map<string, boolean>): void {
    const last = this.#services.get(service) ?? nothing;
    const frontends = this.#frontends.get(service);
    const next = frontends ? serviceParts(frontends, this.#settings) : nothing;
    for (const key of wantsOf(next)) this.#count(key, 1, wants);
    for (const key of wantsOf(last)) this.#count(key, -1, wants);
    for (const key of new Set([...last.servers.keys(), ...next.servers.keys()])) {
      if (!before.has(key)) before.set(key, this.#serverAt(key));
      const claims = this.#claims.get(key) ?? new Map<string, VirtualServer>();
      const server = next.servers.get(key);
      if (server) claims.set(service, server);
      else claims.delete(service);
      if (claims.size === 0) this.#claims.delete(key);
      else this.#claims.set(key, claims);
    }
    if (frontends) this.#services.set(service, next);
    else this.#services.delete(service);
  }

  #count(key: string, by: number, wants: Map<string, boolean>): void {
    const last = this.#wants.get(key) ?? 0;
    if (!wants.has(key)) wants.set(key, last > 0);
    if (last + by === 0) this.#wants.delete(key);
    else this.#wants.set(key, last + by);
  }

  #serverAt(key: string): VirtualServer | undefined {
    return this.#claims.get(key)?.values().next().value;
  }

  #withDraining(key: string, server: VirtualServer): VirtualServer {
    const draining = [...(this.#draining.get(key) ?? [])].map((destination) => [destination, 0] as const);
    return { ...server, destinations: new Map([...draining, ...server.destinations]) };
  }

  #serve(key: string, before: VirtualServer | undefined, steps: StepsBuilder): void {
    const draining = steps.serve(key, before, this.#serverAt(key));
    if (draining.size > 0) this.#draining.set(key, draining);
    else this.#draining.delete(key);
  }
}

/** Addresses and entries have one space of keys. */
const address = "address ";
const entry = "entry ";
const wantsOf = ({ addresses, entries }: ServiceParts): readonly string[] => [
  ...[...addresses].map((key) => `${address}${key}`),
  ...[...entries].map((key) => `${entry}${key}`),
];

class StepsBuilder {
  readonly #sets: string[] = [];
  readonly #bind: string[] = [];
  readonly #unbind: string[] = [];
  readonly #servers: string[] = [];

  get steps(): IpvsSteps {
    return { sets: this.#sets.join(""), bind: this.#bind, servers: this.#servers.join(""), unbind: this.#unbind };
  }

  want(key: string, before: boolean, after: boolean): void {
    if (before === after) return;
    if (key.startsWith(entry)) this.#sets.push(`${after ? "add" : "del"} ${key.slice(entry.length)}\n`);
    else (after ? this.#bind : this.#unbind).push(key.slice(address.length));
  }

  /** Returns the destinations that are left to drain. */
  serve(key: string, before: VirtualServer | undefined, after: VirtualServer | undefined): ReadonlySet<string> {
    const draining = new Set<string>();
    if (!after) {
      if (before) this.#servers.push(`-D ${key}\n`);
      return draining;
    }
    if (before?.options !== after.options) this.#servers.push(`${before ? "-E" : "-A"} ${key} ${after.options}\n`);
    const set = (verb: string, destination: string, weight: number) =>
      this.#servers.push(`${verb} ${key} -r ${destination} -m -w ${weight}\n`);
    for (const [destination, weight] of after.destinations) {
      const last = before?.destinations.get(destination);
      if (last !== weight) set(last === undefined ? "-a" : "-e", destination, weight);
    }
    for (const [destination, weight] of before?.destinations ?? []) {
      if (after.destinations.has(destination)) continue;
      // Datagrams know no end of a connection, and go elsewhere at once.
      if (!key.startsWith("-t ")) this.#servers.push(`-d ${key} -r ${destination}\n`);
      else {
        draining.add(destination);
        if (weight !== 0) set("-e", destination, 0);
      }
    }
    return draining;
  }
}
