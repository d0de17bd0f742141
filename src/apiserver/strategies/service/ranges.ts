// The ranges that addresses and node ports of services are taken from.
// Upstream: pkg/registry/core/service/ipallocator/ipallocator.go and pkg/registry/core/service/portallocator/allocator.go.
import { UsageError } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { formatIp, parseCidr, parseIp } from "#schema/ip.ts";

export type IpFamily = "IPv4" | "IPv6";

/** Numbers from `first` to `last`. The lowest `kept` are left to those who ask for one by name, while there are others. */
export interface NumberRange {
  readonly first: bigint;
  readonly last: bigint;
  readonly kept: bigint;
  /** How it is written: `10.96.0.0/16`, `30000-32767`. */
  readonly text: string;
}

export interface AddressRange extends NumberRange {
  readonly family: IpFamily;
}

export interface ServiceNetwork {
  /** One range, or one of each family; the first is of the family a service gets unless it says otherwise. */
  readonly addresses: readonly [AddressRange, ...AddressRange[]];
  readonly nodePorts: NumberRange;
}

/** Larger ranges are refused: more addresses are of no use, and a full range would be slow to search. */
const mostHostBits = 20;

/** Reads `10.96.0.0/16` or `10.96.0.0/16,fd00:10:96::/112`. Throws UsageError. */
export function parseAddressRanges(text: string): ServiceNetwork["addresses"] {
  const [first, second, ...more] = text.split(",").map((part) => addressRange(part.trim()));
  if (!first) throw new UsageError("--service-cluster-ip-range must contain at least one valid cidr");
  if (more.length > 0) throw new UsageError("--service-cluster-ip-range must not contain more than two entries");
  if (first.family === second?.family)
    throw new UsageError(
      "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
    );
  return second ? [first, second] : [first];
}

function addressRange(text: string): AddressRange {
  const cidr = parseCidr(text);
  const range = rangeOf(text);
  if (!cidr || !range)
    throw new UsageError(`--service-cluster-ip-range: ${JSON.stringify(text)} is not a network such as 10.96.0.0/16`);
  const bits = cidr.address.family === 4 ? 32 : 128;
  if (bits - cidr.length > mostHostBits)
    throw new UsageError(
      `specified --service-cluster-ip-range is too large; for ${bits}-bit addresses, the mask must be >= ${bits - mostHostBits}`,
    );
  if (range.last < range.first) throw new UsageError(`--service-cluster-ip-range: ${text} has no room for a service`);
  return range;
}

/** The addresses of a network, of any size; undefined if the text is none. */
export function rangeOf(text: string): AddressRange | undefined {
  const cidr = parseCidr(text);
  if (!cidr) return undefined;
  const { family } = cidr.address;
  const size = 1n << BigInt((family === 4 ? 32 : 128) - cidr.length);
  const networkText = `${formatIp({ family, value: cidr.network })}/${cidr.length}`;
  // The network's own address is not given out, nor IPv4's broadcast address.
  const [first, last] = [cidr.network + 1n, cidr.network + size - (family === 4 ? 2n : 1n)];
  return { family: `IPv${family}`, first, last, kept: keptOf(size, 16n, 256n), text: networkText };
}

/** Reads `30000-32767`, or `30000+100`, or a single port. Throws UsageError. */
export function parsePortRange(text: string): NumberRange {
  const match = /^\s*(\d{1,5})\s*(?:([-+])\s*(\d{1,5})\s*)?$/.exec(text);
  const [, low = "", sign, high = ""] = match ?? [];
  const first = Number(low);
  const last = sign === "-" ? Number(high) : sign === "+" ? first + Number(high) : first;
  if (!match || last < first || last > 65535)
    throw new UsageError(
      `--service-node-port-range: ${JSON.stringify(text)} is not a range of ports such as 30000-32767`,
    );
  const size = BigInt(last - first + 1);
  return { first: BigInt(first), last: BigInt(last), kept: keptOf(size, 32n, 128n), text: `${first}-${last}` };
}

/** A part of the range, though neither very little nor very much; nothing of a tiny range (KEP-3070, KEP-3668). */
function keptOf(size: bigint, part: bigint, most: bigint): bigint {
  const least = 16n;
  if (size <= least) return 0n;
  const share = size / part;
  return share < least ? least : share > most ? most : share;
}

/** Of a range that is larger only the beginning is given out by chance. */
const mostSearched = 1n << 30n;

/** A number nobody has taken, from anywhere in the upper part, or in the lower part once that is full. */
export function freeNumber(
  { first, last, kept }: NumberRange,
  isTaken: (number: bigint) => boolean,
  random: Random,
): bigint | undefined {
  const middle = first + kept > last + 1n ? last + 1n : first + kept;
  return freeBetween(middle, last, isTaken, random) ?? freeBetween(first, middle - 1n, isTaken, random);
}

function freeBetween(
  first: bigint,
  last: bigint,
  isTaken: (number: bigint) => boolean,
  random: Random,
): bigint | undefined {
  const room = last - first + 1n;
  if (room <= 0n) return undefined;
  const size = room < mostSearched ? room : mostSearched;
  const start = BigInt(random.below(Number(size)));
  for (let i = 0n; i < size; i++) {
    const number = first + ((start + i) % size);
    if (!isTaken(number)) return number;
  }
  return undefined;
}

export const isWithin = ({ first, last }: NumberRange, number: bigint): boolean => first <= number && number <= last;

/** One spelling for each address, since clients may use others. */
export function canonicalIp(text: string): string {
  const ip = parseIp(text);
  return ip ? formatIp(ip) : text;
}
