// The addresses that IP blocks mean, as ranges without their exceptions.
import type { IPBlock } from "#api/networking/v1/network-policy.ts";
import { formatIp, parseCidr } from "#schema/ip.ts";

export type PolicyFamily = 4 | 6;

/** Both ends belong to it. */
interface AddressRange {
  readonly first: bigint;
  readonly last: bigint;
}

const bitsOf = { 4: 32, 6: 128 } as const;

/** The addresses of a family in any of the blocks: ranges that nft understands, none of which touch, or "all". */
export function addressesIn(blocks: readonly IPBlock[], family: PolicyFamily): readonly string[] | "all" {
  const ranges = merged(blocks.flatMap((block) => rangesOf(block, family)));
  const [first] = ranges;
  if (first && ranges.length === 1 && first.first === 0n && first.last === lastOf(family)) return "all";
  return ranges.map((range) => {
    const [from, to] = [range.first, range.last].map((value) => formatIp({ family, value }));
    return from === to ? `${from}` : `${from}-${to}`;
  });
}

const lastOf = (family: PolicyFamily): bigint => (1n << BigInt(bitsOf[family])) - 1n;

function rangesOf({ cidr, except = [] }: IPBlock, family: PolicyFamily): readonly AddressRange[] {
  const whole = rangeOf(cidr, family);
  if (!whole) return [];
  return except
    .flatMap((text) => rangeOf(text, family) ?? [])
    .reduce<readonly AddressRange[]>((left, hole) => left.flatMap((range) => without(range, hole)), [whole]);
}

function rangeOf(text: string, family: PolicyFamily): AddressRange | undefined {
  const cidr = parseCidr(text);
  if (cidr?.address.family !== family) return undefined;
  return { first: cidr.network, last: cidr.network + (1n << BigInt(bitsOf[family] - cidr.length)) - 1n };
}

const without = ({ first, last }: AddressRange, hole: AddressRange): readonly AddressRange[] =>
  hole.last < first || hole.first > last
    ? [{ first, last }]
    : [
        { first, last: hole.first - 1n },
        { first: hole.last + 1n, last },
      ].filter((range) => range.first <= range.last);

/** The kernel refuses intervals of a set that overlap. */
function merged(ranges: readonly AddressRange[]): readonly AddressRange[] {
  const sorted = ranges.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const apart: AddressRange[] = [];
  for (const range of sorted) {
    const before = apart.at(-1);
    if (!before || range.first > before.last + 1n) apart.push(range);
    else if (range.last > before.last) apart[apart.length - 1] = { first: before.first, last: range.last };
  }
  return apart;
}
