// The host name and domain of a pod.
// Upstream: pkg/kubelet/kubelet_pods.go (GeneratePodHostNameAndDomain).
import type { Pod } from "#api/core/v1/pod.ts";

export interface HostName {
  readonly name: string;
  /** The domain of its DNS name: `db.shop.svc.cluster.local`; empty if it has none. */
  readonly domain: string;
}

const longestName = 63;
const longestFullName = 64;
const fitting = (name: string): string =>
  name.length <= longestName ? name : name.slice(0, longestName).replace(/[.-]+$/, "");

export function hostNameOf({ metadata, spec }: Pod, clusterDomain: string): HostName {
  const { hostname, subdomain, hostnameOverride } = spec;
  if (hostnameOverride !== undefined) return { name: fitting(hostnameOverride), domain: "" };
  const domain = subdomain ? `${subdomain}.${metadata.namespace}.svc.${clusterDomain}` : "";
  return { name: fitting(hostname || metadata.name), domain };
}

/** The host name that the kernel is given; empty for a pod in the node's network, which has the node's. */
export function kernelNameOf(pod: Pod, clusterDomain = ""): string {
  if (pod.spec.hostNetwork) return "";
  const { name, domain } = hostNameOf(pod, clusterDomain);
  if (domain === "" || !pod.spec.setHostnameAsFQDN) return name;
  const full = `${name}.${domain}`;
  if (full.length <= longestFullName) return full;
  const limits = `${longestFullName} characters is the max, ${full.length} characters requested`;
  throw new Error(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (${limits})`,
  );
}
