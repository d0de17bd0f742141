// Ranges of addresses, as people write them: `10.96.0.0/16`, `172.31.255.10-172.31.255.20`, or several of these with commas.
import { formatIp, parseCidr, parseIp } from "#schema/ip.ts";

export type IpVersion = 4 | 6;

/** Both ends belong to it. */
export interface NetworkRange {
  readonly family: IpVersion;
  readonly first: bigint;
  readonly last: bigint;
}

export const bitsOf = (family: IpVersion): number => (family === 4 ? 32 : 128);

/** Undefined if the text is none of these. */
export function parseRanges(text: string): readonly NetworkRange[] | undefined {
  const ranges: NetworkRange[] = [];
  for (const part of partsOf(text)) {
    const range = parseRange(part);
    if (range === undefined) return undefined;
    ranges.push(range);
  }
  return ranges;
}

/** What a text of several has between its commas. */
export const partsOf = (text: string): readonly string[] => text.split(",").map((part) => part.trim());

/** The families of the parts of a text, each once, in the order in which they are first named; undefined if it is no text of ranges. */
export function familiesOf(text: string): readonly IpVersion[] | undefined {
  const ranges = parseRanges(text);
  return ranges && [...new Set(ranges.map(({ family }) => family))];
}

function parseRange(text: string): NetworkRange | undefined {
  const cidr = parseCidr(text);
  if (cidr) {
    const { family } = cidr.address;
    return { family, first: cidr.network, last: cidr.network + (1n << BigInt(bitsOf(family) - cidr.length)) - 1n };
  }
  const [from, to = from, ...rest] = text.split("-").map((end) => parseIp(end.trim()));
  if (!from || !to || rest.length > 0 || from.family !== to.family) return undefined;
  return from.value <= to.value ? { family: from.family, first: from.value, last: to.value } : undefined;
}

export const overlap = (a: NetworkRange, b: NetworkRange): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last;

/** The fewest networks that make up the range, as routes need them. */
export function cidrsOf({ family, first, last }: NetworkRange): readonly string[] {
  const bits = bitsOf(family);
  const cidrs: string[] = [];
  for (let at = first; at <= last; ) {
    let free = 0;
    while (free < bits && at % (1n << BigInt(free + 1)) === 0n && at + (1n << BigInt(free + 1)) - 1n <= last) free++;
    cidrs.push(`${formatIp({ family, value: at })}/${bits - free}`);
    at += 1n << BigInt(free);
  }
  return cidrs;
}

/** The networks that a text of ranges means. Throws an error that says which text is none. */
export function cidrsIn(what: string, text: string): readonly string[] {
  const ranges = parseRanges(text);
  if (!ranges) throw new Error(`${what} ${JSON.stringify(text)} is no network such as 10.96.0.0/16`);
  return ranges.flatMap(cidrsOf);
}

/** Whether an address or a network is of IPv6, by how it is written. */
export const isIpv6 = (text: string): boolean => text.includes(":");

/** The one of these that is of the family of a network or another address. */
export const addressFor = (range: string, addresses: readonly string[]): string | undefined =>
  addresses.find((address) => isIpv6(address) === isIpv6(range));
