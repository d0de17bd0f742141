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
  ...randomFrom({ next: () => Math.random(), bytes: (count) => crypto.getRandomValues(new Uint8Array(count)) }),
  uuid: drawnUuids(),
};

/**
 * Uuids of good chance. Every request takes one or two; crypto.randomUUID makes each of twenty short strings that are joined when it is
 * first read, which takes three times as long (0.8 µs) and 500 bytes more. So the chance is drawn for many, and sixteen are
 * written at a time: each is a part of that text, and keeps it.
 */
function drawnUuids(): () => string {
  const batch = 16;
  const length = 36;
  const digits = new TextEncoder().encode("0123456789abcdef");
  const bytes = new Uint8Array(16 * batch * 16);
  const text = new Uint8Array(length * batch).fill(0x2d); // all dashes; those between the groups stay
  const decoder = new TextDecoder();
  let used = bytes.length;
  let written = "";
  let left = 0;
  const write = (to: number) => {
    let at = to;
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) at++;
      const byte = bytes[used++] ?? 0;
      const marked = i === 6 ? (byte & 0x0f) | 0x40 : i === 8 ? (byte & 0x3f) | 0x80 : byte;
      text[at++] = digits[marked >> 4] ?? 0;
      text[at++] = digits[marked & 0x0f] ?? 0;
    }
  };
  const writeBatch = () => {
    if (used === bytes.length) {
      crypto.getRandomValues(bytes);
      used = 0;
    }
    for (let n = 0; n < batch; n++) write(n * length);
    written = decoder.decode(text);
    left = batch;
  };
  return () => {
    if (left === 0) writeBatch();
    left--;
    return written.slice(left * length, (left + 1) * length);
  };
}

/** The same seed gives the same sequence for ever (mulberry32: 2^32 states, ample for tests and jitter, not for secrets). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
  return randomFrom({ next, bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(next() * 256)) });
}

/** All of it from a number and from bytes. */
export function randomFrom(source: Pick<Random, "next" | "bytes">): Random {
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
