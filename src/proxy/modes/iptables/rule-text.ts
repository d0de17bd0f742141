// Rules as iptables-save prints them: then what we ask for and what the kernel has can be compared as text.
// Upstream: pkg/util/iptables/save_restore.go.
import { formatIp, parseCidr, parseIp } from "#schema/ip.ts";
import type { FrontendFamily } from "../../frontends.ts";

export interface RuleParts {
  readonly from?: string | undefined;
  readonly notFrom?: string | undefined;
  readonly to?: string | undefined;
  readonly notTo?: string | undefined;
  readonly protocol?: string | undefined;
  readonly comment?: string | undefined;
  /** Matches in between, ready to be printed. */
  readonly matches?: readonly string[];
  /** The port that it is sent to; needs the protocol. */
  readonly port?: number | undefined;
  /** The target and its options; absent for a rule that does nothing. */
  readonly jump?: string | undefined;
}

/** A rule without the chain that it is in. */
export function rule(parts: RuleParts): string {
  const { from, notFrom, to, notTo, protocol, comment, matches = [], port, jump } = parts;
  return [
    ...(from === undefined ? [] : ["-s", from]),
    ...(notFrom === undefined ? [] : ["! -s", notFrom]),
    ...(to === undefined ? [] : ["-d", to]),
    ...(notTo === undefined ? [] : ["! -d", notTo]),
    ...(protocol === undefined ? [] : ["-p", protocol]),
    ...(comment === undefined ? [] : [`-m comment --comment "${comment}"`]),
    ...matches,
    ...(port === undefined ? [] : [`-m ${protocol} --dport ${port}`]),
    ...(jump === undefined ? [] : ["-j", jump]),
  ].join(" ");
}

/** One address as a network. */
export const hostNetwork = (address: string): string => `${address}/${address.includes(":") ? 128 : 32}`;

/** A network as the kernel has it, without the bits beyond the prefix; undefined for the one that contains every address. */
export function network(range: string): string | undefined {
  const cidr = parseCidr(range);
  if (!cidr) return range;
  if (cidr.length === 0) return undefined;
  return `${formatIp({ family: cidr.address.family, value: cidr.network })}/${cidr.length}`;
}

/** Whether an address is in a network. */
export function contains(range: string, address: string): boolean {
  const [cidr, ip] = [parseCidr(range), parseIp(address)];
  if (!cidr || !ip || ip.family !== cidr.address.family) return false;
  return network(`${formatIp(ip)}/${cidr.length}`) === network(range);
}

/** An address and a port as they are written together. */
export const joined = (address: string, port: number): string =>
  address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;

/** Which part of the packets goes the way of the first of so many targets. The kernel counts in parts of 2^31. */
export const probability = (count: number): string => (Math.round(2 ** 31 / count) / 2 ** 31).toFixed(11);

export const rejection = (family: FrontendFamily): string =>
  `REJECT --reject-with ${family === "IPv6" ? "icmp6" : "icmp"}-port-unreachable`;

/** Matches the list of senders of this name. */
export const recently = (family: FrontendFamily, name: string, what: string): string =>
  `-m recent ${what} --name ${name} --mask ${family === "IPv6" ? everyBit.IPv6 : everyBit.IPv4} --rsource`;

const everyBit = { IPv4: "255.255.255.255", IPv6: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" };
