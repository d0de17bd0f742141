// Reads protobuf, trusting nothing: every length is checked against what is there before it is used.
import { maxDepth } from "#base/protobuf-writer.ts";
import { tooManyValues } from "../json.ts";
import { Malformed } from "./malformed.ts";

/** Up to here a string is put together from its codes, which beats a call into the decoder; measured on Node 24. */
const shortString = 48;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export class Reader {
  readonly #bytes: Uint8Array;
  /** Codes of a short string, one array for each length: `fromCharCode` takes them all at once. */
  readonly #codes: number[][] = [];
  /** Strings read before, by hash. Lists say the same things again and again: found here, they cost no memory. */
  readonly #known: (string | undefined)[];
  readonly #mostValues: number;
  #values = 0;
  #depth = 0;
  /** Where the next read begins. */
  at = 0;

  constructor(bytes: Uint8Array, mostValues = Number.POSITIVE_INFINITY) {
    this.#bytes = bytes;
    this.#mostValues = mostValues;
    this.#known = new Array<undefined>(bytes.length > 65536 ? 4096 : 64).fill(undefined);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** The low 32 bits of a varint, which is all that tags, booleans and int32 are made of. */
  varint32(): number {
    const first = this.#bytes[this.at];
    if (first !== undefined && first < 0x80) {
      this.at++;
      return first;
    }
    let low = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#next();
      if (shift < 32) low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return low >>> 0;
    }
    throw tooLong();
  }

  /** The next field before `end`: its number, times eight, and its wire type. 0 when there is none. */
  tag(end: number): number {
    if (this.at >= end) {
      if (this.at > end) throw new Malformed("a field reaches beyond its message");
      return 0;
    }
    this.count();
    const tag = this.varint32();
    if (tag < 8) throw new Malformed("there is no field 0");
    return tag;
  }

  /** To be called for each value. Throws ApiError 413 if there are too many. */
  count(): void {
    if (++this.#values > this.#mostValues) throw tooManyValues(this.#mostValues);
  }

  int64(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#next();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else high |= bits << 31;
      if (byte >= 0x80) continue;
      const value = (high | 0) * 0x100000000 + (low >>> 0);
      if (Number.isSafeInteger(value)) return value;
      throw new Malformed(`the integer ${(BigInt(high | 0) << 32n) | BigInt(low >>> 0)} is beyond 2^53`);
    }
    throw tooLong();
  }

  double(): number {
    if (this.length - this.at < 8) throw ended();
    const { buffer, byteOffset } = this.#bytes;
    const value = new DataView(buffer, byteOffset).getFloat64(this.at, true);
    this.at += 8;
    if (!Number.isFinite(value)) throw new Malformed(`${value} is no JSON number`);
    return value;
  }

  /** Reads a length and says where what it measures ends, which is never beyond `limit`. */
  end(limit: number): number {
    let length = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#next();
      if (shift === 63 && (byte & 1) !== 0) throw new Malformed("a length is negative");
      length += (byte & 0x7f) * 2 ** shift;
      if (byte >= 0x80) continue;
      if (length > limit - this.at) throw new Malformed(`${length} bytes are announced, ${limit - this.at} are left`);
      return this.at + length;
    }
    throw tooLong();
  }

  string(limit: number): string {
    const end = this.end(limit);
    const start = this.at;
    this.at = end;
    const length = end - start;
    if (length === 0) return "";
    if (length <= shortString) {
      const bytes = this.#bytes;
      let all = 0;
      let hash = length;
      for (let i = start; i < end; i++) {
        const byte = bytes[i] as number;
        all |= byte;
        hash = (Math.imul(hash, 31) + byte) | 0;
      }
      if (all < 0x80) return this.#ascii(start, length, hash & (this.#known.length - 1));
    }
    return decoder.decode(this.#bytes.subarray(start, end));
  }

  #ascii(start: number, length: number, slot: number): string {
    const bytes = this.#bytes;
    const known = this.#known[slot];
    if (known !== undefined && known.length === length) {
      let i = 0;
      while (i < length && known.charCodeAt(i) === bytes[start + i]) i++;
      if (i === length) return known;
    }
    this.#codes[length] ??= new Array<number>(length).fill(0);
    const codes = this.#codes[length];
    for (let i = 0; i < length; i++) codes[i] = bytes[start + i] as number;
    const text = String.fromCharCode.apply(null, codes);
    this.#known[slot] = text;
    return text;
  }

  raw(limit: number): Uint8Array {
    const end = this.end(limit);
    const content = this.#bytes.subarray(this.at, end);
    this.at = end;
    return content;
  }

  /** Steps over a field that is not known here; those up to `known` are, so it must be their wire type that is not. Groups are as old as protobuf and may nest; only their count is kept. */
  skip(tag: number, limit: number, known = 0): void {
    if (tag >>> 3 <= known) throw wrongWire(tag);
    let groups = 0;
    for (let wire = tag & 7; ; wire = this.varint32() & 7) {
      if (wire === 0) this.varint32();
      else if (wire === 1) this.#step(8, limit);
      else if (wire === 2) this.at = this.end(limit);
      else if (wire === 3) groups++;
      else if (wire === 4 && groups > 0) groups--;
      else if (wire === 5) this.#step(4, limit);
      else throw new Malformed(wire === 4 ? "a group ends that did not begin" : `there is no wire type ${wire}`);
      if (groups === 0) return;
      if (this.at >= limit) throw ended();
    }
  }

  enter(): void {
    if (++this.#depth > maxDepth) throw new Malformed(`more than ${maxDepth} messages lie inside each other`);
  }

  leave(): void {
    this.#depth--;
  }

  #step(count: number, limit: number): void {
    if (limit - this.at < count) throw ended();
    this.at += count;
  }

  #next(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw ended();
    return byte;
  }
}

export const wrongWire = (tag: number) => new Malformed(`wire type ${tag & 7} is not that of field ${tag >>> 3}`);
const ended = () => new Malformed("the message ends too early");
const tooLong = () => new Malformed("an integer takes more than ten bytes");
