// The names of a cluster, as the DNS specification of Kubernetes gives them and CoreDNS serves them:
// https://github.com/kubernetes/dns/blob/master/docs/specification.md
import type { Service } from "#api/core/v1/service.ts";
import { clusterAddresses } from "#rules/services.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import type { Directory, EndpointAddress } from "./directory.ts";
import { addressOfReverse } from "./reverse.ts";

export type Data =
  | { readonly type: "A" | "AAAA" | "CNAME" | "PTR" | "NS"; readonly data: string }
  | { readonly type: "TXT"; readonly data: readonly string[] }
  | {
      readonly type: "SOA";
      readonly data: {
        readonly mname: string;
        readonly rname: string;
        readonly serial: number;
        readonly refresh: number;
        readonly retry: number;
        readonly expire: number;
        readonly minimum: number;
      };
    }
  | {
      readonly type: "SRV";
      readonly data: {
        readonly priority: number;
        readonly weight: number;
        readonly port: number;
        readonly target: string;
      };
    };
export type ZoneRecord = Data & { readonly name: string };

export interface ZoneAnswer {
  /** Whether the name exists; one without records of the type asked for still does. */
  readonly exists: boolean;
  readonly answers: readonly ZoneRecord[];
  readonly additionals: readonly ZoneRecord[];
}

const specificationVersion = "1.1.0";
/** TTL of all answers, negative ones included. */
export const ttlSeconds = 5;
const absent: ZoneAnswer = { exists: false, answers: [], additionals: [] };
const empty: ZoneAnswer = { exists: true, answers: [], additionals: [] };
const answered = (answers: readonly ZoneRecord[], additionals: readonly ZoneRecord[] = []): ZoneAnswer => ({
  exists: true,
  answers,
  additionals,
});

export class DnsZone {
  /** `cluster.local` */
  readonly domain: string;
  readonly #directory: Directory;
  /** Where this DNS itself is reached in the cluster. */
  readonly #servers: readonly string[];

  constructor(domain: string, directory: Directory, servers: readonly string[]) {
    this.domain = domain;
    this.#directory = directory;
    this.#servers = servers;
  }

  /** Looks up a name in lower case, without its final dot; undefined for a name outside of the zone. */
  find(name: string, type: string): ZoneAnswer | undefined {
    if (name === this.domain) return this.#apex(type);
    if (name.endsWith(`.${this.domain}`)) return this.#below(name, name.slice(0, -this.domain.length - 1), type);
    return name.endsWith(".arpa") ? this.#reverse(name, type) : undefined;
  }

  /** The SOA record of the domain. */
  get authority(): ZoneRecord {
    const times = { serial: 1, refresh: 7200, retry: 1800, expire: 86_400, minimum: ttlSeconds };
    const data = { mname: this.#serverName, rname: `hostmaster.${this.domain}`, ...times };
    return { name: this.domain, type: "SOA", data };
  }

  #apex(type: string): ZoneAnswer {
    if (type === "SOA") return answered([this.authority]);
    if (type !== "NS") return empty;
    const server = this.#serverName;
    return answered([{ name: this.domain, type, data: server }], addressRecords(server, this.#servers));
  }

  get #serverName(): string {
    return `ns.dns.${this.domain}`;
  }

  #below(name: string, relative: string, type: string): ZoneAnswer {
    if (relative === "dns-version")
      return type === "TXT" ? answered([{ name, type: "TXT", data: [specificationVersion] }]) : empty;
    if (name === this.#serverName) return answered(addressRecords(name, this.#servers, type));
    if (["svc", "pod", "dns"].includes(relative)) return empty;
    const labels = relative.split(".");
    const kind = labels.pop();
    const namespace = labels.pop() ?? "";
    if ((kind !== "svc" && kind !== "pod") || !this.#directory.hasNamespace(namespace)) return absent;
    if (labels.length === 0) return empty;
    return kind === "pod" ? pod(name, labels, type) : this.#service(name, labels, namespace, type);
  }

  #service(name: string, labels: readonly string[], namespace: string, type: string): ZoneAnswer {
    const service = this.#directory.service(namespace, labels.at(-1) ?? "");
    if (!service) return absent;
    const inner = labels.slice(0, -1);
    if (service.spec.type === "ExternalName")
      return inner.length > 0 ? absent : external(name, service.spec.externalName ?? "", type);
    if (inner.length === 0)
      return type === "SRV" ? this.#ports(name, service, () => true) : this.#own(name, service, type);
    if (inner.length === 1) return this.#endpoint(name, service, inner[0] ?? "", type);
    const [port, protocol] = inner;
    if (inner.length > 2 || !port?.startsWith("_") || !protocol?.startsWith("_")) return absent;
    const found = this.#ports(name, service, (one) => `_${one.name}` === port && `_${one.protocol}` === protocol);
    if (found.answers.length === 0) return absent;
    return type === "SRV" ? found : empty;
  }

  #own(name: string, service: Service, type: string): ZoneAnswer {
    const own = clusterAddresses(service.spec);
    return own.length > 0
      ? answered(addressRecords(name, own, type))
      : atEndpoints(name, this.#endpointsOf(service), type);
  }

  /** One of a service with an address of its own has a name, too. */
  #endpoint(name: string, service: Service, label: string, type: string): ZoneAnswer {
    const meant = this.#endpointsOf(service).filter((endpoint) => endpoint.label === label);
    return atEndpoints(name, meant, type);
  }

  #ports(name: string, service: Service, matches: (port: { name: string; protocol: string }) => boolean): ZoneAnswer {
    const own = clusterAddresses(service.spec);
    const base = this.#nameOf(service);
    const places =
      own.length > 0
        ? [{ target: base, addresses: own, ports: servicePorts(service) }]
        : this.#endpointsOf(service).map(({ label, address, ports }) => ({
            target: `${label}.${base}`,
            addresses: [address],
            ports,
          }));
    if (places.length === 0) return absent;
    const wanted = places.flatMap(({ target, ports }) => ports.filter(matches).map(({ port }) => ({ target, port })));
    const weight = Math.max(1, Math.floor(100 / Math.max(1, wanted.length)));
    const targets = new Set(wanted.map(({ target }) => target));
    return answered(
      wanted.map(({ target, port }) => ({ name, type: "SRV", data: { priority: 0, weight, port, target } })),
      places
        .filter(({ target }) => targets.has(target))
        .flatMap(({ target, addresses }) => addressRecords(target, addresses)),
    );
  }

  #reverse(name: string, type: string): ZoneAnswer | undefined {
    const address = addressOfReverse(name);
    if (address === undefined) return undefined;
    const names = this.#namesAt(address);
    if (names.length === 0) return undefined;
    return type === "PTR" ? answered(names.map((data) => ({ name, type: "PTR", data }))) : empty;
  }

  #namesAt(address: string): readonly string[] {
    const service = this.#directory.serviceAt(address);
    if (service) return [this.#nameOf(service)];
    const endpoints = this.#directory.endpointsAt(address);
    return [...new Set(endpoints.map((one) => `${one.label}.${one.service}.${one.namespace}.svc.${this.domain}`))];
  }

  #nameOf({ metadata }: Service): string {
    return `${metadata.name}.${metadata.namespace}.svc.${this.domain}`;
  }

  #endpointsOf({ metadata }: Service): readonly EndpointAddress[] {
    return this.#directory.endpoints(metadata.namespace ?? "", metadata.name);
  }
}

/** A name that stands for endpoints is none while there are none. */
function atEndpoints(name: string, endpoints: readonly EndpointAddress[], type: string): ZoneAnswer {
  if (endpoints.length === 0) return absent;
  const addresses = new Set(endpoints.map(({ address }) => address)); // one may be in several slices, for different ports
  return answered(addressRecords(name, [...addresses], type));
}

const external = (name: string, target: string, type: string): ZoneAnswer =>
  ["A", "AAAA", "CNAME"].includes(type) ? answered([{ name, type: "CNAME", data: target.replace(/\.$/, "") }]) : empty;

const servicePorts = ({ spec }: Service) =>
  (spec.ports ?? []).map(({ name = "", protocol = "TCP", port }) => ({ name, protocol: protocol.toLowerCase(), port }));

/** The name of a pod is its address: whether a pod has it is not looked at. */
function pod(name: string, labels: readonly string[], type: string): ZoneAnswer {
  const [label = "", ...rest] = labels;
  if (rest.length > 0) return absent;
  const text = label.split("-").length === 4 ? label.replaceAll("-", ".") : label.replaceAll("-", ":");
  const address = parseIp(text);
  return address ? answered(addressRecords(name, [formatIp(address)], type)) : absent;
}

/** Address records of the queried type; of both families for other types. */
const addressRecords = (name: string, addresses: readonly string[], type?: string): readonly ZoneRecord[] =>
  addresses
    .map((data) => ({ name, type: data.includes(":") ? ("AAAA" as const) : ("A" as const), data }))
    .filter((record) => type === undefined || record.type === type);
