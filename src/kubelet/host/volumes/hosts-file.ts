import type { Pod } from "#api/core/v1/pod.ts";
import { hostNameOf } from "../../inputs/host-name.ts";

/** The content is that of upstream's managedHostsFileContent (pkg/kubelet/kubelet_pods.go): some programs look for its first line. */
export function hostsFile(pod: Pod, podIps: readonly string[], clusterDomain: string): string {
  const { name, domain } = hostNameOf(pod, clusterDomain);
  const names = domain === "" ? name : `${name}.${domain}\t${name}`;
  const lines = [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...podIps.map((ip) => `${ip}\t${names}`),
  ];
  return `${lines.join("\n")}\n${aliasesOf(pod)}`;
}

/** Of a pod in the node's network: what the node's own says, and what the pod adds. */
export const nodeHostsFile = (pod: Pod, ofNode: string): string =>
  `# Kubernetes-managed hosts file (host network).\n${ofNode}${aliasesOf(pod)}`;

function aliasesOf({ spec: { hostAliases = [] } }: Pod): string {
  if (hostAliases.length === 0) return "";
  const lines = hostAliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join("\t"));
  return `\n# Entries added by HostAliases.\n${lines.join("\n")}\n`;
}
