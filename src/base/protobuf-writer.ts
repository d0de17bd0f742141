// Writes protobuf from the last byte to the first. The length of a message stands before its content, so writing backwards
// makes it known when it is needed: one pass, one buffer, nothing to patch and nothing to measure beforehand.

/** How many messages may lie inside each other. Real objects stay far below; the stack ends far above. */
export const maxDepth = 256;

const firstSize = 2048;
/** A plain loop beats a call into the encoder for short strings; measured on Node 24. */
const shortString = 24;
const encoder = new TextEncoder();

/** For all messages of this process: those of API objects, of gRPC and of OpenAPI. */
export class ProtobufWriter {
  #bytes = new Uint8Array(firstSize);
  /** Where the last write began. */
  #at = firstSize;
  #depth = 0;

  /** Bytes written so far; the difference of two calls is the length of what was written between them. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(this.#at);
  }

  enter(): void {
    if (++this.#depth > maxDepth) throw new RangeError(`more than ${maxDepth} messages lie inside each other`);
  }

  leave(): void {
    this.#depth--;
  }

  byte(value: number): void {
    if (this.#at === 0) this.#grow(1);
    this.#bytes[--this.#at] = value;
  }

  /** Of a number from 0 to 2^32 - 1, such as a tag or a length. */
  uint32(value: number): void {
    if (value < 0x80) {
      this.byte(value);
      return;
    }
    const size = value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    if (this.#at < size) this.#grow(size);
    const bytes = this.#bytes;
    this.#at -= size;
    let at = this.#at;
    for (let rest = value; ; rest >>>= 7) {
      if (rest < 0x80) {
        bytes[at] = rest;
        return;
      }
      bytes[at++] = (rest & 0x7f) | 0x80;
    }
  }

  /** Of a whole number that JavaScript can hold exactly. Negative ones take ten bytes, as they do in Go. */
  int64(value: number): void {
    if (value >= 0 && value <= 0xffffffff) {
      this.uint32(value);
      return;
    }
    if (this.#at < 10) this.#grow(10);
    let low = value >>> 0;
    let high = Math.floor(value / 0x100000000) >>> 0;
    let size = 1;
    for (let l = low, h = high; h !== 0 || l >= 0x80; size++) {
      l = ((l >>> 7) | (h << 25)) >>> 0;
      h >>>= 7;
    }
    this.#at -= size;
    let at = this.#at;
    for (; size > 1; size--) {
      this.#bytes[at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    this.#bytes[at] = low;
  }

  /** Of a number of 64 bits of which each counts; a negative one in two's complement. */
  uint64(value: bigint): void {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, value);
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.raw(Uint8Array.from(bytes));
  }

  /** The tag of the field whose value was just written. */
  tag(number: number, wireType: 0 | 1 | 2): void {
    this.uint32(number * 8 + wireType);
  }

  /** Makes what was written since the length was `before` a field: a message, or bytes. */
  delimited(number: number, before: number): void {
    this.uint32(this.length - before);
    this.tag(number, 2);
  }

  double(value: number): void {
    if (this.#at < 8) this.#grow(8);
    this.#at -= 8;
    new DataView(this.#bytes.buffer).setFloat64(this.#at, value, true);
  }

  raw(content: Uint8Array): void {
    if (this.#at < content.length) this.#grow(content.length);
    this.#at -= content.length;
    this.#bytes.set(content, this.#at);
  }

  /** The string and, before it, its length. Halves of surrogate pairs become U+FFFD, as in Go. */
  string(value: string): void {
    const { length } = value;
    if (length > shortString || !this.#ascii(value)) this.#utf8(value);
    else this.uint32(length);
  }

  #ascii(value: string): boolean {
    const { length } = value;
    if (this.#at < length) this.#grow(length);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let i = length - 1; i >= 0; i--) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      bytes[--at] = code;
    }
    this.#at = at;
    return true;
  }

  #utf8(value: string): void {
    const most = value.length * 3;
    if (this.#at < most) this.#grow(most);
    const start = this.#at - most;
    const { written } = encoder.encodeInto(value, this.#bytes.subarray(start, this.#at));
    this.#bytes.copyWithin(this.#at - written, start, start + written);
    this.#at -= written;
    this.uint32(written);
  }

  #grow(atLeast: number): void {
    const old = this.#bytes;
    const size = Math.max(old.length * 2, old.length + atLeast);
    this.#bytes = new Uint8Array(size);
    this.#bytes.set(old, size - old.length);
    this.#at += size - old.length;
  }
}
