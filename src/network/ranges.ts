// Ranges of IPv4 addresses, as people write them: `10.96.0.0/16`, `172.31.255.10-172.31.255.20`, or several of these with commas.
import { formatIp, parseCidr, parseIp } from "#schema/ip.ts";

/** Both ends belong to it. */
export interface NetworkRange {
  readonly first: bigint;
  readonly last: bigint;
}

const bits = 32;

/** What is of IPv6 is left out; undefined if the text is none of these. */
export function parseRanges(text: string): readonly NetworkRange[] | undefined {
  const ranges: NetworkRange[] = [];
  for (const part of text.split(",")) {
    const range = parseRange(part.trim());
    if (range === undefined) return undefined;
    if (range !== "IPv6") ranges.push(range);
  }
  return ranges;
}

function parseRange(text: string): NetworkRange | "IPv6" | undefined {
  const cidr = parseCidr(text);
  if (cidr)
    return cidr.address.family === 6
      ? "IPv6"
      : { first: cidr.network, last: cidr.network + (1n << BigInt(bits - cidr.length)) - 1n };
  const [from, to = from, ...rest] = text.split("-").map((end) => parseIp(end.trim()));
  if (!from || !to || rest.length > 0 || from.family !== to.family) return undefined;
  if (from.family === 6) return "IPv6";
  return from.value <= to.value ? { first: from.value, last: to.value } : undefined;
}

export const overlap = (a: NetworkRange, b: NetworkRange): boolean => a.first <= b.last && b.first <= a.last;

/** The fewest networks that make up the range, as routes need them. */
export function cidrsOf({ first, last }: NetworkRange): readonly string[] {
  const cidrs: string[] = [];
  for (let at = first; at <= last; ) {
    let free = 0;
    while (free < bits && at % (1n << BigInt(free + 1)) === 0n && at + (1n << BigInt(free + 1)) - 1n <= last) free++;
    cidrs.push(`${formatIp({ family: 4, value: at })}/${bits - free}`);
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
