// From which networks nodes get the addresses of their pods.
// Upstream: pkg/controller/nodeipam/node_ipam_controller.go and cmd/kube-controller-manager/app/core.go.
import { UsageError } from "#base/errors.ts";
import { type Cidr, parseCidr } from "#schema/ip.ts";
import { Networks } from "./networks.ts";

export interface NodeIpamSettings {
  /** One network, or one of each family. */
  readonly clusterCidrs: readonly string[];
  /** How many bits the prefix of a node's network has; defaults to 24 and 64. */
  readonly nodeMaskSizes?: { readonly ipv4?: number; readonly ipv6?: number };
  /** Who gives the networks; the default is the only one that is left upstream, since clouds have managers of their own. */
  readonly allocator?: string;
  /** Networks of services: where they overlap, nodes get nothing. */
  readonly serviceCidrs?: readonly string[];
  /** Networks that nodes have by other ways: no others get them. */
  readonly reserved?: readonly string[];
}

export const rangeAllocator = "RangeAllocator";

/** One for each of the cluster's networks. Throws UsageError. */
export function networksOf({
  clusterCidrs,
  nodeMaskSizes,
  allocator = rangeAllocator,
  serviceCidrs = [],
  reserved = [],
}: NodeIpamSettings): readonly Networks[] {
  const { ipv4 = 24, ipv6 = 64 } = nodeMaskSizes ?? {};
  const wholes = clusterCidrs.map((text) => parsed("--cluster-cidr", text));
  const services = serviceCidrs.map((text) => parsed("--service-cluster-ip-range", text));
  const count = wholes.length;
  if (allocator !== rangeAllocator)
    throw new UsageError(
      `built-in cloud providers are disabled. The ipam ${allocator} is not available; --cidr-allocator-type can be ${rangeAllocator}`,
    );
  if (count === 0) throw new UsageError("Must specify --cluster-cidr if --allocate-node-cidrs is set");
  if (count > 2) throw new UsageError(`length of clusterCIDRs is:${count} more than max allowed of 2`);
  if (count === 2 && wholes[0]?.address.family === wholes[1]?.address.family)
    throw new UsageError(
      `len of ClusterCIDRs==${count} and they are not configured as dual stack (at least one from each IPFamily`,
    );
  return wholes.map((whole, i) => {
    const networks = cut(whole, whole.address.family === 4 ? ipv4 : ipv6, clusterCidrs[i] ?? "");
    for (const service of services) networks.reserve(service);
    for (const text of reserved) networks.reserve(parsed("reserved network", text));
    return networks;
  });
}

function cut(whole: Cidr, length: number, text: string): Networks {
  try {
    return new Networks(whole, length);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new UsageError(`--cluster-cidr ${text}: networks of nodes with /${length}: ${cause.message}`, { cause });
  }
}

function parsed(flag: string, text: string): Cidr {
  const cidr = parseCidr(text);
  if (!cidr) throw new UsageError(`${flag}: invalid CIDR address: ${text}`);
  return cidr;
}
