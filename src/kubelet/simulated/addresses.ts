// Addresses for simulated nodes and their pods.
import { formatIp, parseCidr } from "#schema/ip.ts";

interface Network {
  readonly family: 4 | 6;
  readonly base: bigint;
  readonly length: number;
}

function networkOf(text: string): Network {
  const cidr = parseCidr(text);
  if (!cidr) throw new Error(`${JSON.stringify(text)} is not a network such as 10.244.0.0/16`);
  return { family: cidr.address.family, base: cidr.network, length: cidr.length };
}

const bitsOf = (family: 4 | 6): number => (family === 4 ? 32 : 128);

/** The `index`th address of a network, its own not counted. Throws beyond its end. */
export function addressIn(network: string, index: number): string {
  const { family, base, length } = networkOf(network);
  if (BigInt(index) + 1n >= 1n << BigInt(bitsOf(family) - length))
    throw new Error(`network ${network} has no address for number ${index + 1}`);
  return formatIp({ family, value: base + BigInt(index) + 1n });
}

/** The `index`th part of a network, each with a prefix of `length` bits. Throws beyond its end. */
export function partOf(network: string, length: number, index: number): string {
  const { family, base, length: whole } = networkOf(network);
  if (length < whole || BigInt(index) >= 1n << BigInt(length - whole))
    throw new Error(`network ${network} has no part of /${length} for number ${index + 1}`);
  return `${formatIp({ family, value: base + (BigInt(index) << BigInt(bitsOf(family) - length)) })}/${length}`;
}

/** Hands out the addresses of one network in turn, so that one that was given back rests before it is used again. */
export class AddressPool {
  readonly #text: string;
  readonly #network: Network;
  readonly #size: number;
  readonly #used = new Set<number>();
  #next = 1;

  constructor(network: string) {
    this.#text = network;
    this.#network = networkOf(network);
    // The first is the bridge's, the last is for broadcasts.
    this.#size = Math.min(2 ** 20, 2 ** (bitsOf(this.#network.family) - this.#network.length)) - 1;
  }

  take(): string {
    const { family, base } = this.#network;
    for (let tries = 0; tries < this.#size; tries++) {
      this.#next = this.#next + 1 >= this.#size ? 2 : this.#next + 1;
      if (this.#used.has(this.#next)) continue;
      this.#used.add(this.#next);
      return formatIp({ family, value: base + BigInt(this.#next) });
    }
    throw new Error(`no addresses are left in ${this.#text}`);
  }

  giveBack(address: string): void {
    const cidr = parseCidr(`${address}/${bitsOf(this.#network.family)}`);
    if (cidr?.address.family === this.#network.family) this.#used.delete(Number(cidr.network - this.#network.base));
  }
}
