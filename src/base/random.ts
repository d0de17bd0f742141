// Chance as an argument, so that a run can be repeated exactly from its seed.

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, below). */
  below(below: number): number;
  bytes(count: number): Uint8Array;
  uuid(): string;
}

export const systemRandom: Random = {
  ...from({ next: () => Math.random(), bytes: (count) => crypto.getRandomValues(new Uint8Array(count)) }),
  uuid: () => crypto.randomUUID(), // draws for many at once; by our own bytes one takes 20 µs
};

/** The same seed gives the same sequence for ever (mulberry32: 2^32 states, ample for tests and jitter, not for secrets). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
  return from({ next, bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(next() * 256)) });
}

function from(source: Pick<Random, "next" | "bytes">): Random {
  return {
    ...source,
    below: (below) => Math.floor(source.next() * below),
    uuid() {
      const b = source.bytes(16);
      b[6] = ((b[6] ?? 0) & 0x0f) | 0x40;
      b[8] = ((b[8] ?? 0) & 0x3f) | 0x80;
      const hex = Array.from(b, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  };
}
