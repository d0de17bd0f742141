// The addresses that load balancers may get.
import { formatIp, type Ip, parseCidr, parseIp } from "#schema/ip.ts";

interface Range {
  readonly family: Ip["family"];
  readonly first: bigint;
  readonly last: bigint;
}

export class LoadBalancerPool {
  readonly #ranges: readonly Range[];
  readonly #text: string;

  /** Networks, `172.31.255.0/24`, or ranges, `172.31.255.10-172.31.255.20`. Throws for anything else. */
  constructor(texts: readonly string[]) {
    this.#ranges = texts.map(rangeOf);
    this.#text = texts.join(", ");
  }

  has(address: string): boolean {
    const ip = parseIp(address);
    return (
      ip !== undefined &&
      this.#ranges.some(({ family, first, last }) => family === ip.family && first <= ip.value && ip.value <= last)
    );
  }

  hasFamily(family: Ip["family"]): boolean {
    return this.#ranges.some((range) => range.family === family);
  }

  /** The first address that is free. */
  find(family: Ip["family"], isFree: (address: string) => boolean): string | undefined {
    for (const range of this.#ranges) {
      if (range.family !== family) continue;
      for (let value = range.first; value <= range.last; value++) {
        const address = formatIp({ family, value });
        if (isFree(address)) return address;
      }
    }
    return undefined;
  }

  toString(): string {
    return this.#text;
  }
}

/** Of a network all but its own address, and IPv4's broadcast address, are given out. */
function rangeOf(text: string): Range {
  const [from = "", to] = text.split("-").map((part) => part.trim());
  const refusal = () => new Error(`load balancer addresses: ${JSON.stringify(text)} is neither a network nor a range`);
  if (to !== undefined) {
    const [first, last] = [parseIp(from), parseIp(to)];
    if (!first || !last || first.family !== last.family || first.value > last.value) throw refusal();
    return { family: first.family, first: first.value, last: last.value };
  }
  const cidr = parseCidr(from);
  if (!cidr) throw refusal();
  const { family } = cidr.address;
  const size = 1n << BigInt((family === 4 ? 32 : 128) - cidr.length);
  if (size <= 2n) return { family, first: cidr.network, last: cidr.network + size - 1n };
  return { family, first: cidr.network + 1n, last: cidr.network + size - (family === 4 ? 2n : 1n) };
}
