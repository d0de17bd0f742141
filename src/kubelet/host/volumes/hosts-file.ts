import type { Pod } from "#api/core/v1/pod.ts";

/** As upstream writes it, so that programs that look for its first line find it. */
export function hostsFile({ metadata, spec }: Pod, podIps: readonly string[], clusterDomain: string): string {
  const { hostname = metadata.name, subdomain, hostAliases = [] } = spec;
  const names = subdomain
    ? `${hostname}.${subdomain}.${metadata.namespace}.svc.${clusterDomain}\t${hostname}`
    : hostname;
  const lines = [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...podIps.map((ip) => `${ip}\t${names}`),
    ...(hostAliases.length > 0 ? ["", "# Entries added by HostAliases."] : []),
    ...hostAliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join("\t")),
  ];
  return `${lines.join("\n")}\n`;
}
