// How one value is encoded, in any field, list or map. Scalars here; what is made of structs is in message.ts.
import { fromBase64, toBase64 } from "#base/base64.ts";
import { formatDuration, parseDuration } from "#base/duration.ts";
import type { ProtobufWriter } from "#base/protobuf-writer.ts";
import type { Scalar } from "../field.ts";
import { htmlSafe } from "../go-json.ts";
import { DecodeError, parseJson } from "../json.ts";
import { canonicalQuantity, QuantityError } from "../quantity.ts";
import { formatMicroTime, formatTime, type Instant, parseTime } from "../time.ts";
import { Malformed } from "./malformed.ts";
import type { Reader } from "./reader.ts";

export const varint = 0;
export const fixed64 = 1;
export const lengthDelimited = 2;

export interface Value {
  readonly wire: typeof varint | typeof fixed64 | typeof lengthDelimited;
  /** Writes the value with its length, if it has one. The value is as its type says: nothing that was not decoded is encoded. */
  write(writer: ProtobufWriter, value: any): void;
  /** What Go writes for a value that was never set. */
  writeZero(writer: ProtobufWriter): void;
  /** A slice in Go: as a field, what was never set is not written at all. */
  readonly nilable?: true;
  /** Undefined for a value that JSON has no word for, such as Go's zero time. `before` is what an earlier occurrence left. */
  read(reader: Reader, limit: number, before?: any): unknown;
  /** The value that is the same as none, where JSON has a word for it. */
  readonly zero?: unknown;
  /** What stands in a map for a value that was not sent, where that is no scalar. */
  empty?(): unknown;
}

const writeZeroByte = (writer: ProtobufWriter): void => writer.byte(0);

const string: Value = {
  wire: lengthDelimited,
  write: (writer, value: string) => writer.string(value),
  writeZero: writeZeroByte,
  read: (reader, limit) => reader.string(limit),
  zero: "",
};

const bool: Value = {
  wire: varint,
  write: (writer, value: boolean) => writer.byte(value ? 1 : 0),
  writeZero: writeZeroByte,
  read: (reader) => reader.varint32() !== 0,
  zero: false,
};

const int32: Value = {
  wire: varint,
  write: (writer, value: number) => writer.int64(value),
  writeZero: writeZeroByte,
  read: (reader) => reader.varint32() | 0,
  zero: 0,
};

const int64: Value = {
  wire: varint,
  write: (writer, value: number) => writer.int64(value),
  writeZero: writeZeroByte,
  read: (reader) => reader.int64(),
  zero: 0,
};

const double: Value = {
  wire: fixed64,
  write: (writer, value: number) => writer.double(value),
  writeZero: (writer) => writer.double(0),
  read: (reader) => reader.double(),
  zero: 0,
};

const bytes: Value = {
  wire: lengthDelimited,
  write(writer, value: string) {
    const content = fromBase64(value);
    if (content === undefined) throw new TypeError("bytes are not base64 in memory");
    writer.raw(content);
    writer.uint32(content.length);
  },
  writeZero: writeZeroByte,
  nilable: true,
  read: (reader, limit) => toBase64(reader.raw(limit)),
  zero: "",
};

/** From the first second of year 1, which is Go's zero time, to the last of year 9999. */
const firstSecond = -62135596800;
const lastSecond = 253402300799;

/** Seconds and nanoseconds, both always written; Go's zero time is a message without either. */
const instant = (unitNanos: number, format: (instant: Instant) => string): Value => ({
  wire: lengthDelimited,
  write(writer, value: string) {
    const { seconds, nanos } = instantOf(value);
    const kept = nanos - (nanos % unitNanos);
    if (seconds === firstSecond && kept === 0) {
      writer.byte(0);
      return;
    }
    const before = writer.length;
    writer.uint32(kept);
    writer.byte(0x10);
    writer.int64(seconds);
    writer.byte(0x08);
    writer.uint32(writer.length - before);
  },
  writeZero: writeZeroByte,
  read(reader, limit) {
    const end = reader.end(limit);
    if (reader.at === end) return undefined;
    let seconds = 0;
    let nanos = 0;
    for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
      if (tag === 0x08) seconds = reader.int64();
      else if (tag === 0x10) nanos = reader.varint32() | 0;
      else reader.skip(tag, end, 2);
    }
    if (nanos < 0 || nanos > 999_999_999) throw new Malformed(`a second does not have ${nanos} nanoseconds`);
    if (seconds < firstSecond || seconds > lastSecond)
      throw new Malformed(`second ${seconds} is not within the years 1 to 9999`);
    return seconds === firstSecond && nanos < unitNanos ? undefined : format({ seconds, nanos });
  },
});

/** Lists have many times, nearly all of them as the server writes them: those are read without looking for anything else. */
function instantOf(text: string): Instant {
  const { length } = text;
  const year = number(text, 0, 4);
  if ((length !== 20 && length !== 27) || text[length - 1] !== "Z" || !(year >= 100)) return parseTime(text);
  const seconds =
    Date.UTC(year, number(text, 5, 7) - 1, number(text, 8, 10), number(text, 11, 13), number(text, 14, 16)) / 1000 +
    number(text, 17, 19);
  return { seconds, nanos: length === 20 ? 0 : number(text, 20, 26) * 1000 };
}

function number(text: string, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end; i++) value = value * 10 + text.charCodeAt(i) - 48;
  return value;
}

/** Nanoseconds in field 1 of a message. */
const duration: Value = {
  wire: lengthDelimited,
  write(writer, value: string) {
    const before = writer.length;
    writer.int64(Number(parseDuration(value)));
    writer.byte(0x08);
    writer.uint32(writer.length - before);
  },
  writeZero: (writer) => duration.write(writer, "0s"),
  read(reader, limit) {
    const end = reader.end(limit);
    let nanos = 0;
    for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
      if (tag === 0x08) nanos = reader.int64();
      else reader.skip(tag, end, 1);
    }
    return formatDuration(BigInt(nanos));
  },
  empty: () => "0s",
};

/** Quantities that are surely in the form upstream answers with. Most are, and parsing takes its time. */
const plainQuantity = /^(?:0|[1-9]\d{0,2}(?:[mkMGTP]|[KMGTP]i)?)$/;

const quantity: Value = {
  wire: lengthDelimited,
  write(writer, value: string) {
    const before = writer.length;
    writer.string(value);
    writer.byte(0x0a);
    writer.uint32(writer.length - before);
  },
  writeZero: (writer) => quantity.write(writer, "0"),
  read(reader, limit) {
    const text = readContent(reader, limit);
    if (text === undefined || text === "") return "0";
    return plainQuantity.test(text) ? text : canonical(text);
  },
  empty: () => "0",
};

function canonical(text: string): string {
  try {
    return canonicalQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) throw new Malformed(error.message);
    throw error;
  }
}

/** A type (0 number, 1 text), the number and the text, all always written. */
const intOrString: Value = {
  wire: lengthDelimited,
  write(writer, value: number | string) {
    const before = writer.length;
    const isText = typeof value === "string";
    writer.string(isText ? value : "");
    writer.byte(0x1a);
    writer.int64(isText ? 0 : value);
    writer.byte(0x10);
    writer.byte(isText ? 1 : 0);
    writer.byte(0x08);
    writer.uint32(writer.length - before);
  },
  writeZero: (writer) => intOrString.write(writer, 0),
  read(reader, limit) {
    const end = reader.end(limit);
    let type = 0;
    let number = 0;
    let text = "";
    for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
      if (tag === 0x08) type = reader.int64();
      else if (tag === 0x10) number = reader.varint32() | 0;
      else if (tag === 0x1a) text = reader.string(end);
      else reader.skip(tag, end, 3);
    }
    if (type !== 0 && type !== 1) throw new Malformed(`a number or a text was expected, not type ${type}`);
    return type === 0 ? number : text;
  },
  zero: 0,
};

/** JSON text in field 1 of a message. Nothing in it is JSON's null. */
const jsonText = (isObject: boolean, textOf: (value: unknown) => string = JSON.stringify): Value => ({
  wire: lengthDelimited,
  write(writer, value: unknown) {
    const before = writer.length;
    if (value !== null && value !== undefined) {
      writer.string(textOf(value));
      writer.byte(0x0a);
    }
    writer.uint32(writer.length - before);
  },
  writeZero: writeZeroByte,
  read(reader, limit) {
    const text = readContent(reader, limit);
    if (text === undefined || text === "") return isObject ? undefined : null;
    const value = parsed(text);
    if (isObject && (typeof value !== "object" || value === null || Array.isArray(value)))
      throw new Malformed("a JSON object was expected");
    return value;
  },
});

function parsed(text: string): unknown {
  try {
    return parseJson(text).value;
  } catch (error) {
    throw error instanceof DecodeError ? new Malformed(error.message) : error;
  }
}

/** Field 1 of a message that has no other, as text; undefined if it is not there. */
function readContent(reader: Reader, limit: number): string | undefined {
  const end = reader.end(limit);
  let text: string | undefined;
  for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
    if (tag === 0x0a) text = reader.string(end);
    else reader.skip(tag, end, 1);
  }
  return text;
}

export const scalarValues: Readonly<Record<Scalar, Value>> = {
  string,
  bool,
  int32,
  int64,
  double,
  bytes,
  time: instant(1_000_000_000, formatTime),
  microTime: instant(1000, formatMicroTime),
  duration,
  quantity,
  intOrString,
  // Clients compare its bytes with what Go's encoder makes.
  rawExtension: jsonText(true, (value) => htmlSafe(JSON.stringify(value))),
  json: jsonText(false),
  fieldsV1: jsonText(true),
};
