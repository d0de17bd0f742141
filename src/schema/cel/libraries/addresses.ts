// IP addresses and networks. Follows apiserver/pkg/cel/library/ip.go and cidr.go, and Go's net/netip in what it refuses.
import { formatIp, type Ip, parseIp } from "../../ip.ts";
import { fn, global, type Library, member } from "../declarations.ts";
import { boolType, intType, opaqueType, stringType } from "../types.ts";
import { fail } from "../values/failure.ts";
import type { OpaqueValue } from "../values/value.ts";

export const ipType = opaqueType("net.IP");
export const cidrType = opaqueType("net.CIDR");

type Address = Pick<Ip, "family" | "value">;

export class IpValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type = ipType;
  readonly address: Address;

  constructor(address: Address) {
    this.address = address;
  }

  equals(other: OpaqueValue): boolean {
    return (
      other instanceof IpValue &&
      other.address.family === this.address.family &&
      other.address.value === this.address.value
    );
  }

  get size(): number {
    return this.address.family === 4 ? 4 : 16;
  }
}

export class CidrValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type = cidrType;
  readonly address: Address;
  readonly length: number;

  constructor(address: Address, length: number) {
    this.address = address;
    this.length = length;
  }

  /** How many bits after the prefix are free. */
  get hostBits(): bigint {
    return BigInt((this.address.family === 4 ? 32 : 128) - this.length);
  }

  equals(other: OpaqueValue): boolean {
    return (
      other instanceof CidrValue &&
      other.length === this.length &&
      new IpValue(other.address).equals(new IpValue(this.address))
    );
  }

  get size(): number {
    return Math.ceil((this.length + 7) / 8);
  }
}

/** The address, or what Go says is wrong with it. */
function readIp(text: string): Address | string {
  const wrap = (problem: string) =>
    `IP Address ${JSON.stringify(text)} parse error during conversion from string: ${problem}`;
  const zone = text.indexOf("%");
  const address = parseIp(zone < 0 ? text : text.slice(0, zone));
  if (zone >= 0 && address?.family === 6 && zone < text.length - 1)
    return `IP address ${JSON.stringify(text)} with zone value is not allowed`;
  if (!address || address.leadingZeros || zone >= 0)
    return wrap(`ParseAddr(${JSON.stringify(text)}): ${addressProblem(text)}`);
  if (address.mapped) return `IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`;
  return address;
}

/** Go's words for the commonest mistakes. */
function addressProblem(text: string): string {
  if (!/[.:%]/.test(text)) return "unable to parse IP";
  if (text.includes(":")) return "each colon-separated field must have at least one digit";
  if (/(^|\.)0\d/.test(text)) return "IPv4 field has octet with leading zero";
  if (/(^|\.)(\d{4,}|[3-9]\d\d|2[6-9]\d|25[6-9])(\.|$)/.test(text)) return "IPv4 field has value >255";
  if (/^\d+(\.\d+){0,2}$/.test(text)) return "IPv4 address too short";
  if (/^\d+(\.\d+){4,}$/.test(text)) return "IPv4 address too long";
  if (/[^0-9.]/.test(text)) return "unexpected character";
  return "IPv4 field must have at least one digit";
}

function toIp(text: string): IpValue {
  const address = readIp(text);
  return typeof address === "string" ? fail(address) : new IpValue(address);
}

function readCidr(text: string): CidrValue | string {
  const wrap = (problem: string) =>
    `network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text)}): ${problem}`;
  const slash = text.lastIndexOf("/");
  if (slash < 0) return wrap("no '/'");
  const host = text.slice(0, slash);
  const address = parseIp(host);
  if (!address || address.leadingZeros) return wrap(`ParseAddr(${JSON.stringify(host)}): ${addressProblem(host)}`);
  if (address.mapped) return `IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`;
  const digits = text.slice(slash + 1);
  const quoted = JSON.stringify(digits);
  if (!/^(0|[1-9]\d*)$/.test(digits)) return wrap(`bad bits after slash: ${quoted}`);
  if (Number(digits) > (address.family === 4 ? 32 : 128)) return wrap("prefix length out of range");
  return new CidrValue(address, Number(digits));
}

function toCidr(text: string): CidrValue {
  const cidr = readCidr(text);
  return typeof cidr === "string" ? fail(`network address parse error during conversion from string: ${cidr}`) : cidr;
}

function containsIp(cidr: CidrValue, { address }: IpValue): boolean {
  return (
    cidr.address.family === address.family && cidr.address.value >> cidr.hostBits === address.value >> cidr.hostBits
  );
}

function containsCidr(cidr: CidrValue, other: CidrValue): boolean {
  return cidr.length <= other.length && containsIp(cidr, new IpValue(other.address));
}

function masked(cidr: CidrValue): CidrValue {
  const value = (cidr.address.value >> cidr.hostBits) << cidr.hostBits;
  return new CidrValue({ family: cidr.address.family, value }, cidr.length);
}

/** Whether an address begins with the bits of a network. */
function isIn(v4: readonly [bigint, number] | undefined, v6: readonly [bigint, number] | undefined) {
  return ({ address: { family, value } }: IpValue): boolean => {
    const network = family === 4 ? v4 : v6;
    if (!network) return false;
    return value >> BigInt((family === 4 ? 32 : 128) - network[1]) === network[0];
  };
}

const isUnspecified = isIn([0n, 32], [0n, 128]);
const isLoopback = isIn([127n, 8], [1n, 128]);
const isLinkLocalMulticast = isIn([0xe00000n, 24], [0xff02n, 16]);
const isLinkLocalUnicast = isIn([0xa9fen, 16], [0xfe80n >> 6n, 10]);
const isMulticast = isIn([0xen, 4], [0xffn, 8]);

function isGlobalUnicast(ip: IpValue): boolean {
  const isBroadcast = ip.address.family === 4 && ip.address.value === 0xffffffffn;
  return !isBroadcast && !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);
}

const tests: Readonly<Record<string, (ip: IpValue) => boolean>> = {
  isUnspecified,
  isLoopback,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isGlobalUnicast,
};

export const addresses: Library = {
  types: [ipType, cidrType],
  functions: [
    fn(
      "ip",
      global("string_to_ip", [stringType], ipType, toIp),
      member("cidr_ip", [cidrType], ipType, (cidr: CidrValue) => new IpValue(cidr.address)),
    ),
    fn(
      "isIP",
      global("is_ip", [stringType], boolType, (text: string) => typeof readIp(text) !== "string"),
    ),
    fn(
      "ip.isCanonical",
      global("ip_is_canonical", [stringType], boolType, (text: string) => formatIp(toIp(text).address) === text),
    ),
    fn(
      "family",
      member("ip_family", [ipType], intType, (ip: IpValue) => ip.address.family),
    ),
    ...Object.entries(tests).map(([name, test]) =>
      fn(
        name,
        member(`ip_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`, [ipType], boolType, test),
      ),
    ),
    fn("cidr", global("string_to_cidr", [stringType], cidrType, toCidr)),
    fn(
      "isCIDR",
      global("is_cidr", [stringType], boolType, (text: string) => typeof readCidr(text) !== "string"),
    ),
    fn(
      "containsIP",
      member("cidr_contains_ip_string", [cidrType, stringType], boolType, (cidr: CidrValue, text: string) =>
        containsIp(cidr, toIp(text)),
      ),
      member("cidr_contains_ip_ip", [cidrType, ipType], boolType, containsIp),
    ),
    fn(
      "containsCIDR",
      member("cidr_contains_cidr_string", [cidrType, stringType], boolType, (cidr: CidrValue, text: string) =>
        containsCidr(cidr, toCidr(text)),
      ),
      member("cidr_contains_cidr", [cidrType, cidrType], boolType, containsCidr),
    ),
    fn(
      "prefixLength",
      member("cidr_prefix_length", [cidrType], intType, (cidr: CidrValue) => cidr.length),
    ),
    fn("masked", member("cidr_masked", [cidrType], cidrType, masked)),
    fn(
      "string",
      global("ip_to_string", [ipType], stringType, (ip: IpValue) => formatIp(ip.address)),
      global("cidr_to_string", [cidrType], stringType, (cidr: CidrValue) => `${formatIp(cidr.address)}/${cidr.length}`),
    ),
  ],
};
