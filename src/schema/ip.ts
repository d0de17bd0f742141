// IP addresses and networks as Go reads and writes them.

export interface Ip {
  readonly family: 4 | 6;
  /** The address as a number of 32 or 128 bits. */
  readonly value: bigint;
  /** Written with leading zeros, which some readers take for octal. */
  readonly leadingZeros: boolean;
  /** An IPv4 address written inside IPv6, `::ffff:1.2.3.4`; Go treats it as IPv4, and so `family` is 4. */
  readonly mapped: boolean;
}

export interface Cidr {
  readonly address: Ip;
  readonly length: number;
  /** The address with the bits beyond the prefix cleared. */
  readonly network: bigint;
  readonly leadingZeros: boolean;
}

export function parseIp(text: string): Ip | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): Ip | undefined {
  let value = 0;
  let leadingZeros = false;
  let parts = 1;
  let part = 0;
  let digits = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === dot) {
      if (digits === 0 || ++parts > 4) return undefined;
      value = value * 256 + part;
      part = 0;
      digits = 0;
      continue;
    }
    if (code < zero || code > zero + 9 || digits === mostDigits) return undefined;
    if (digits === 1 && part === 0) leadingZeros = true;
    part = part * 10 + code - zero;
    if (part > 255) return undefined;
    digits++;
  }
  if (parts !== 4 || digits === 0) return undefined;
  return { family: 4, value: BigInt(value * 256 + part), leadingZeros, mapped: false };
}
const dot = 0x2e;
const zero = 0x30;
/** Of one part, zeros before it included. */
const mostDigits = 15;

function parseIpv6(text: string): Ip | undefined {
  if (text.length > 64 || !/^[0-9a-fA-F:.]+$/.test(text)) return undefined;
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  let leadingZeros = false;
  const groups = (half: string | undefined, last: boolean): number[] | undefined => {
    if (half === undefined || half === "") return [];
    const result: number[] = [];
    const parts = half.split(":");
    for (const [i, part] of parts.entries()) {
      if (part.includes(".") && last && i === parts.length - 1) {
        const v4 = parseIpv4(part);
        if (!v4) return undefined;
        leadingZeros ||= v4.leadingZeros;
        result.push(Number(v4.value >> 16n), Number(v4.value & 0xffffn));
      } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) result.push(Number.parseInt(part, 16));
      else return undefined;
    }
    return result;
  };
  const head = groups(halves[0], halves.length === 1);
  const tail = groups(halves[1], true);
  if (!head || !tail) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const value = [...head, ...Array<number>(missing).fill(0), ...tail].reduce(
    (all, group) => (all << 16n) | BigInt(group),
    0n,
  );
  const mapped = value >> 32n === 0xffffn;
  return mapped
    ? { family: 4, value: value & 0xffffffffn, leadingZeros, mapped }
    : { family: 6, value, leadingZeros, mapped };
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = parseIp(text.slice(0, slash));
  const digits = text.slice(slash + 1);
  if (!address || !/^\d{1,3}$/.test(digits)) return undefined;
  const wide = address.mapped ? Number(digits) - 96 : Number(digits);
  const bits = address.family === 4 ? 32 : 128;
  if (wide < 0 || wide > bits) return undefined;
  const host = BigInt(bits - wide);
  return {
    address,
    length: wide,
    network: (address.value >> host) << host,
    leadingZeros: address.leadingZeros || (digits.length > 1 && digits.startsWith("0")),
  };
}

/** The canonical text: RFC 5952 for IPv6 (lower case, the longest run of two or more zero groups shortened). */
export function formatIp({ family, value }: Pick<Ip, "family" | "value">): string {
  if (family === 4) {
    const bits = Number(value);
    return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
  }
  const groups = Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(112 - 16 * i)) & 0xffffn));
  let best = { start: 0, length: 1 };
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (best.length < 2) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}
