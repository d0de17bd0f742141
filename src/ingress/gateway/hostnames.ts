// Hostnames of listeners and routes: exact ones, wildcards for any number of labels, and any host at all.
import type { HostTier } from "../proxy-state.ts";

/** Any host. */
export const anyHost = "";

export const tierOf = (hostname: string): HostTier =>
  hostname === anyHost ? "any" : hostname.startsWith("*.") ? "wildcard" : "exact";

/** The hosts that both are for, or undefined if there are none. */
export function commonHost(one: string, other: string): string | undefined {
  if (one === other || other === anyHost) return one;
  if (one === anyHost) return other;
  if (one.startsWith("*.") && other.endsWith(one.slice(1))) return other;
  if (other.startsWith("*.") && one.endsWith(other.slice(1))) return one;
  return undefined;
}

/** The hosts that a route has at a listener. One without hostnames has those of the listener. */
export function hostsAt(listener: string | undefined, route: readonly string[] | undefined): readonly string[] {
  const own = listener ?? anyHost;
  if (!route || route.length === 0) return [own];
  const common = route.map((hostname) => commonHost(own, hostname)).filter((hostname) => hostname !== undefined);
  return [...new Set(common)];
}

export const haveCommonHost = (some: readonly string[], others: readonly string[]): boolean =>
  some.some((one) => others.some((other) => commonHost(one, other) !== undefined));
