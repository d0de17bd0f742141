// The networks of equal size that one large network is cut into, and which of them are in use.
// Upstream: pkg/controller/nodeipam/ipam/cidrset/cidr_set.go.
import { type Cidr, formatIp } from "#schema/ip.ts";

/** A bit for each network is kept in memory: with IPv6 there could be very many. */
const mostIpv6Bits = 16;

export class OutOfRange extends Error {
  override readonly name = "OutOfRange";
}

interface Range {
  readonly first: number;
  readonly last: number;
}

export class Networks {
  readonly #whole: Cidr;
  readonly #length: number;
  readonly #count: number;
  /** How many have each network. */
  readonly #used = new Map<number, number>();
  /** Those that are for something else, however many. */
  readonly #reserved: Range[] = [];
  #next = 0;

  /** Cuts the network into such with prefixes of `length` bits. Throws RangeError. */
  constructor(whole: Cidr, length: number) {
    if (length < whole.length || length > bitsOf(whole))
      throw new RangeError("mask size of cluster CIDR must be less than or equal to --node-cidr-mask-size");
    if (whole.address.family === 6 && length - whole.length > mostIpv6Bits)
      throw new RangeError("New CIDR set failed; the node CIDR size is too big");
    this.#whole = whole;
    this.#length = length;
    this.#count = 2 ** (length - whole.length);
  }

  /** Allocates a free network; undefined if there is none. Networks are taken in turn, so that a freed one is not reused soon. */
  allocate(): string | undefined {
    for (let tried = 0, at = this.#next; tried < this.#count; ) {
      const reserved = this.#reserved.find(({ first, last }) => first <= at && at <= last);
      if (!reserved && !this.#used.has(at)) {
        this.#used.set(at, 1);
        this.#next = (at + 1) % this.#count;
        return this.#textOf(at);
      }
      const step = reserved ? reserved.last - at + 1 : 1;
      tried += step;
      at = (at + step) % this.#count;
    }
    return undefined;
  }

  /** Marks the network as used, once more if it is used already. Throws OutOfRange. */
  occupy(cidr: Cidr): void {
    const { first, last } = this.#rangeOf(cidr);
    for (let at = first; at <= last; at++) this.#used.set(at, (this.#used.get(at) ?? 0) + 1);
  }

  release(cidr: Cidr): void {
    const { first, last } = this.#rangeOf(cidr);
    for (let at = first; at <= last; at++) {
      const holders = this.#used.get(at) ?? 0;
      if (holders > 1) this.#used.set(at, holders - 1);
      else this.#used.delete(at);
    }
  }

  /** Reserves all networks that overlap with the given one. */
  reserve(cidr: Cidr): void {
    if (this.#overlaps(cidr)) this.#reserved.push(this.#rangeOf(cidr));
  }

  #overlaps(cidr: Cidr): boolean {
    if (cidr.address.family !== this.#whole.address.family) return false;
    const shift = BigInt(bitsOf(cidr) - Math.min(cidr.length, this.#whole.length));
    return cidr.network >> shift === this.#whole.network >> shift;
  }

  #rangeOf(cidr: Cidr): Range {
    if (!this.#overlaps(cidr))
      throw new OutOfRange(`cidr ${textOf(cidr)} is out the range of cluster cidr ${textOf(this.#whole)}`);
    if (cidr.length <= this.#whole.length) return { first: 0, last: this.#count - 1 };
    const hostBits = BigInt(bitsOf(cidr) - this.#length);
    const first = Number((cidr.network - this.#whole.network) >> hostBits);
    return { first, last: first + (cidr.length < this.#length ? 2 ** (this.#length - cidr.length) - 1 : 0) };
  }

  #textOf(index: number): string {
    const { family } = this.#whole.address;
    const value = this.#whole.network + (BigInt(index) << BigInt(bitsOf(this.#whole) - this.#length));
    return `${formatIp({ family, value })}/${this.#length}`;
  }
}

const bitsOf = ({ address }: Cidr): number => (address.family === 4 ? 32 : 128);
const textOf = ({ address: { family }, network, length }: Cidr): string =>
  `${formatIp({ family, value: network })}/${length}`;
