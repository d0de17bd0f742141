// Protocol buffers, as far as gRPC servers beside us need them: etcd, container runtimes. A message is declared once, as a table of its fields;
// the types of what is read and written derive from it.
import { ProtobufWriter } from "../protobuf-writer.ts";

/** A field: `T` is what reading gives, `D` what writing takes. An absent field reads as its zero value. */
export interface ProtobufField<T, D = T> {
  readonly number: number;
  readonly wireType: 0 | 2;
  readonly zero: () => T;
  /** What the field holds after one more occurrence of it on the wire. */
  read(reader: Reader, before: T): T;
  /** Writes all occurrences, tags included; the writer wants the last one first. */
  write(writer: ProtobufWriter, value: D): void;
}

type Fields = Readonly<Record<string, ProtobufField<unknown, unknown>>>;
type MessageFields<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends ProtobufField<infer T, infer _D> ? T : never;
};
type Draft<F extends Fields> = { readonly [K in keyof F]?: F[K] extends ProtobufField<infer _T, infer D> ? D : never };

export interface ProtobufMessage<T, D> {
  readonly name: string;
  encode(draft: D): Uint8Array;
  /** The same into a message around it. */
  write(writer: ProtobufWriter, draft: D): void;
  /** Throws if the bytes are not such a message. What is returned shares no memory with the bytes. */
  decode(bytes: Uint8Array): T;
}

/** What decoding gives for a message declared with `message`. */
export type DecodedMessage<M> = M extends ProtobufMessage<infer T, infer _D> ? T : never;

export function message<F extends Fields>(name: string, fields: F): ProtobufMessage<MessageFields<F>, Draft<F>> {
  const declared = Object.entries(fields);
  const backwards = declared.toReversed();
  const byNumber = new Map(declared.map(([key, field]) => [field.number, { key, field }]));

  const decode = (bytes: Uint8Array) => {
    const reader = new Reader(bytes);
    const value: Record<string, unknown> = {};
    for (const [key, field] of declared) value[key] = field.zero();
    try {
      while (!reader.atEnd) {
        const tag = reader.uint32();
        const wireType = tag & 7;
        const known = byNumber.get(tag >>> 3);
        if (!known) reader.skip(tag >>> 3, wireType);
        else if (known.field.wireType !== wireType)
          throw new Error(`field ${known.key} has wire type ${wireType}, not ${known.field.wireType}`);
        else value[known.key] = known.field.read(reader, value[known.key]);
      }
    } catch (cause) {
      throw new Error(`decode ${name} of ${bytes.length} bytes, at ${reader.at}`, { cause });
    }
    return value as MessageFields<F>;
  };
  const write = (writer: ProtobufWriter, draft: Draft<F>) => {
    for (const [key, field] of backwards) {
      const value = draft[key];
      if (value !== undefined) field.write(writer, value);
    }
  };
  const encode = (draft: Draft<F>) => {
    const writer = new ProtobufWriter();
    write(writer, draft);
    return writer.finish();
  };
  return { name, encode, write, decode };
}

/** An int64 that is a count or a revision: a number, refused beyond 2^53. With `oneof`, zero is written too. */
export const int = (number: number, { oneof = false } = {}): ProtobufField<number> => ({
  number,
  wireType: 0,
  zero: () => 0,
  read: (reader) => reader.int64(),
  write(writer, value) {
    if (value === 0 && !oneof) return;
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a count or a revision`);
    writer.int64(value);
    writer.tag(number, 0);
  },
});

/** An int32 or int64 that may be negative; refused beyond 2^53. */
export const signed = (number: number): ProtobufField<number> => ({
  number,
  wireType: 0,
  zero: () => 0,
  read(reader) {
    const value = Number(BigInt.asIntN(64, reader.uint64()));
    if (!Number.isSafeInteger(value)) throw new Error("a number is beyond 2^53");
    return value;
  },
  write(writer, value) {
    if (value === 0) return;
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number`);
    writer.int64(value);
    writer.tag(number, 0);
  },
});

/** A uint64, or an int64 that is never negative, that names something: all 64 bits count. */
export const id = (number: number): ProtobufField<bigint> => ({
  number,
  wireType: 0,
  zero: () => 0n,
  read: (reader) => reader.uint64(),
  write(writer, value) {
    if (value === 0n) return;
    writer.uint64(value);
    writer.tag(number, 0);
  },
});

export const bool = (number: number): ProtobufField<boolean> => ({
  number,
  wireType: 0,
  zero: () => false,
  read: (reader) => reader.uint64() !== 0n,
  write(writer, value) {
    if (!value) return;
    writer.byte(1);
    writer.tag(number, 0);
  },
});

export const bytes = (number: number): ProtobufField<Uint8Array> => ({
  number,
  wireType: 2,
  zero: () => empty,
  read: (reader) => reader.copy(),
  write(writer, value) {
    if (value.length === 0) return;
    const before = writer.length;
    writer.raw(value);
    writer.delimited(number, before);
  },
});

/** A string, or a field of bytes that holds UTF-8, as etcd's keys do with us. */
export const text = (number: number): ProtobufField<string> => ({
  number,
  wireType: 2,
  zero: () => "",
  read: (reader) => reader.text(),
  write(writer, value) {
    if (value !== "") writeText(writer, number, value);
  },
});

export const one = <T, D>(number: number, type: ProtobufMessage<T, D>): ProtobufField<T | undefined, D> => ({
  number,
  wireType: 2,
  zero: () => undefined,
  read: (reader) => type.decode(reader.view()),
  write: (writer, value) => writeMessage(writer, number, type, value),
});

export const many = <T, D>(number: number, type: ProtobufMessage<T, D>): ProtobufField<readonly T[], readonly D[]> => ({
  number,
  wireType: 2,
  zero: () => [],
  read: (reader, before) => push(before, type.decode(reader.view())),
  write(writer, values) {
    for (const value of values.toReversed()) writeMessage(writer, number, type, value);
  },
});

/** Counts, one behind the other in one field, as the third version of the format has it. */
export const ints = (number: number): ProtobufField<readonly number[]> => ({
  number,
  wireType: 2,
  zero: () => [],
  read(reader, before) {
    const packed = new Reader(reader.view());
    while (!packed.atEnd) push(before, packed.int64());
    return before;
  },
  write(writer, values) {
    if (values.length === 0) return;
    const before = writer.length;
    for (const value of values.toReversed()) writer.int64(value);
    writer.delimited(number, before);
  },
});

export const texts = (number: number): ProtobufField<readonly string[]> => ({
  number,
  wireType: 2,
  zero: () => [],
  read: (reader, before) => push(before, reader.text()),
  write(writer, values) {
    for (const value of values.toReversed()) writeText(writer, number, value);
  },
});

/** Texts by text. Of a key that comes twice the last counts. */
export const pairs = (number: number): ProtobufField<Readonly<Record<string, string>>> => ({
  number,
  wireType: 2,
  zero: () => Object.create(null),
  read(reader, before) {
    const { key, value } = Pair.decode(reader.view());
    (before as Record<string, string>)[key] = value; // made by `zero`, as lists are
    return before;
  },
  write(writer, values) {
    for (const [key, value] of Object.entries(values).toReversed()) writeMessage(writer, number, Pair, { key, value });
  },
});

function writeText(writer: ProtobufWriter, number: number, value: string): void {
  writer.string(value);
  writer.tag(number, 2);
}

function writeMessage<D>(writer: ProtobufWriter, number: number, type: ProtobufMessage<unknown, D>, value: D): void {
  const before = writer.length;
  type.write(writer, value);
  writer.delimited(number, before);
}

/** The list was made by `zero` for the message being read, and nobody else has seen it yet. */
function push<T>(list: readonly T[], item: T): readonly T[] {
  (list as T[]).push(item);
  return list;
}

const Pair = message("Pair", { key: text(1), value: text(2) });

const empty = new Uint8Array();

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(source: Uint8Array) {
    this.#bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  }

  get at(): number {
    return this.#at;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (shift === 28 && byte > 0x0f) break;
        return value >>> 0;
      }
    }
    throw new Error("a 32-bit number is too long");
  }

  int64(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
    }
    throw new Error("a number is negative or beyond 2^53");
  }

  uint64(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new Error("a 64-bit number is too long");
  }

  /** The next length-delimited field, still within the message. */
  view(): Uint8Array {
    const [start, end] = this.#delimited();
    return this.#bytes.subarray(start, end);
  }

  /** A copy: a small value must not keep a message of megabytes alive. */
  copy(): Uint8Array {
    return new Uint8Array(this.view());
  }

  text(): string {
    const [start, end] = this.#delimited();
    return this.#bytes.toString("utf8", start, end);
  }

  skip(number: number, wireType: number): void {
    if (number === 0) throw new Error("field number 0");
    if (wireType === 0) this.#skipVarint();
    else if (wireType === 1) this.#forward(8);
    else if (wireType === 2) this.#delimited();
    else if (wireType === 5) this.#forward(4);
    else throw new Error(`field ${number} has unknown wire type ${wireType}`);
  }

  #skipVarint(): void {
    for (let length = 1; this.#byte() >= 0x80; length++)
      if (length === 10) throw new Error("a 64-bit number is too long");
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new Error("the message ends within a number");
    this.#at++;
    return byte;
  }

  #delimited(): [start: number, end: number] {
    const length = this.uint32();
    const start = this.#at;
    this.#forward(length);
    return [start, this.#at];
  }

  #forward(count: number): void {
    const left = this.#bytes.length - this.#at;
    if (count > left) throw new Error(`a field of ${count} bytes, but only ${left} are left`);
    this.#at += count;
  }
}
