// SHA-256 without Node's modules, for names that must be equal everywhere: hashes of versions and of documents.

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const roundConstants = constants(64, 1 / 3);
const initial = constants(8, 1 / 2);

export function sha256(text: string | Uint8Array): Uint8Array {
  const message = padded(typeof text === "string" ? new TextEncoder().encode(text) : text);
  const view = new DataView(message.buffer);
  const state = Uint32Array.from(initial);
  const schedule = new Uint32Array(64);
  for (let at = 0; at < message.length; at += 64) {
    for (let i = 0; i < 16; i++) schedule[i] = view.getUint32(at + 4 * i);
    extend(schedule);
    compress(state, schedule);
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => {
    digest.setUint32(4 * i, word);
  });
  return new Uint8Array(digest.buffer);
}

function padded(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const blocks = Math.ceil((message.length + 9) / 64);
  const all = new Uint8Array(blocks * 64);
  all.set(message);
  all[message.length] = 0x80;
  new DataView(all.buffer).setBigUint64(all.length - 8, BigInt(message.length) * 8n);
  return all;
}

function extend(w: Uint32Array): void {
  for (let i = 16; i < 64; i++) {
    const a = word(w, i - 15);
    const b = word(w, i - 2);
    const s0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
    const s1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
    w[i] = word(w, i - 16) + s0 + word(w, i - 7) + s1;
  }
}

function compress(state: Uint32Array, w: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + word(roundConstants, i) + word(w, i)) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => {
    state[i] = word(state, i) + value;
  });
}

const word = (words: Uint32Array, i: number): number => words[i] as number;
const rotate = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

function constants(count: number, power: number): Uint32Array {
  const words: number[] = [];
  for (let n = 2; words.length < count; n++) if (isPrime(n)) words.push(Math.floor((n ** power % 1) * 2 ** 32));
  return Uint32Array.from(words);
}

function isPrime(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}
