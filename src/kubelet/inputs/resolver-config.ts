// The resolv.conf of a pod, by its dnsPolicy and dnsConfig.
// Upstream: pkg/kubelet/network/dns/dns.go.
import type { Pod } from "#api/core/v1/pod.ts";

export interface ResolverConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface ClusterResolver {
  /** Address of the cluster's own server. */
  readonly server: string;
  readonly domain: string;
  /** What the machine's own resolv.conf says to pods. */
  readonly machine: ResolverConfig;
}

/** What C libraries read of it; more would be ignored, or taken for an error. */
const limits = { servers: 3, searches: 32, searchCharacters: 2048 };
const clusterOptions = ["ndots:5"];

export function resolverConfigOf(
  { metadata, spec }: Pod,
  { server, domain, machine }: ClusterResolver,
): ResolverConfig {
  const { dnsPolicy, dnsConfig, hostNetwork = false } = spec;
  const isOfCluster = dnsPolicy === "ClusterFirstWithHostNet" || (dnsPolicy === "ClusterFirst" && !hostNetwork);
  const base: ResolverConfig = isOfCluster
    ? {
        servers: [server],
        searches: [`${metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain, ...machine.searches],
        options: clusterOptions,
      }
    : dnsPolicy === "None"
      ? { servers: [], searches: [], options: [] }
      : machine;
  const chosen = (dnsConfig?.options ?? []).map(({ name = "", value }) =>
    value === undefined ? name : `${name}:${value}`,
  );
  const nameOf = (option: string) => option.split(":")[0];
  const overridden = new Set(chosen.map(nameOf));
  return {
    servers: unique([...base.servers, ...(dnsConfig?.nameservers ?? [])]).slice(0, limits.servers),
    searches: fitting(unique([...base.searches, ...(dnsConfig?.searches ?? [])]).slice(0, limits.searches)),
    options: [...base.options.filter((option) => !overridden.has(nameOf(option))), ...chosen],
  };
}

/** Reads a resolv.conf. Of what is said twice the last counts, but servers add up. */
export function parseResolverConfig(text: string): ResolverConfig {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split("\n")) {
    const [word, ...rest] = line.trim().split(/\s+/);
    if (word === "nameserver" && rest[0] !== undefined) servers.push(rest[0]);
    else if (word === "search") searches = rest.filter((one) => one !== ".");
    else if (word === "domain" && rest[0] !== undefined) searches = [rest[0]];
    else if (word === "options") options = rest;
  }
  return { servers, searches, options };
}

const isLoopback = (address: string): boolean => address.startsWith("127.") || address === "::1";

/** What pods can use of it. A server on its loopback answers the machine alone; where there is no other, another asks it for them. */
export function withoutLoopback(machine: ResolverConfig, instead: string): ResolverConfig {
  const servers = machine.servers.filter((server) => !isLoopback(server));
  return { ...machine, servers: servers.length === 0 && machine.servers.length > 0 ? [instead] : servers };
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)];

function fitting(searches: readonly string[]): readonly string[] {
  let length = -1;
  return searches.filter((one) => {
    length += one.length + 1;
    return length <= limits.searchCharacters;
  });
}
