// Ranges that addresses of services are given out of.
// Upstream: pkg/api/servicecidr/servicecidr.go.
import type { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import { type Cidr, parseCidr, parseIp } from "#schema/ip.ts";
import { isReady } from "./conditions.ts";

/** Says that an IPAddress was made for a service, by a server of the cluster. */
export const managedByLabel = "ipaddress.kubernetes.io/managed-by";
export const addressAllocator = "ipallocator.k8s.io";
export const familyLabel = "ipaddress.kubernetes.io/ip-family";

/** Whether the address is one that services can get of the network: neither its own address is nor IPv4's broadcast address. */
export function givesOut(network: string, address: string): boolean {
  const cidr = parseCidr(network);
  const ip = parseIp(address);
  if (!cidr || !ip || cidr.address.family !== ip.family || ip.value === cidr.network) return false;
  const last = cidr.network + sizeOf(cidr) - 1n;
  if (ip.value < cidr.network || ip.value > last) return false;
  return ip.family === 6 || ip.value !== last;
}

/** Whether all of the inner network is in the outer one, or they are the same. */
export function containsNetwork(outer: string, inner: string): boolean {
  const [large, small] = [parseCidr(outer), parseCidr(inner)];
  if (!large || !small || large.address.family !== small.address.family || large.length > small.length) return false;
  return large.network <= small.network && small.network < large.network + sizeOf(large);
}

export const networksOverlap = (one: string, other: string): boolean =>
  containsNetwork(one, other) || containsNetwork(other, one);

const sizeOf = ({ address, length }: Cidr): bigint => 1n << BigInt((address.family === 4 ? 32 : 128) - length);

/** Whether addresses are given out of its ranges. */
export const isInUse = (range: ServiceCIDR): boolean =>
  range.metadata.deletionTimestamp === undefined && isReady(range);
