// Conversions between the basic types, and functions of strings that are part of the language. Follows cel-go's common/stdlib/standard.go.
import { fn, global, type Library, member } from "../declarations.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  stringType,
  timestampType,
  uintType,
} from "../types.ts";
import { Double } from "../values/double.ts";
import { type Duration, formatSeconds, parseDuration } from "../values/duration.ts";
import { conversionFailure, fail } from "../values/failure.ts";
import { formatDouble } from "../values/format-double.ts";
import { type Int, intOfDouble, toInt } from "../values/int.ts";
import { formatTimestamp, parseTimestamp, type Timestamp, toTimestamp } from "../values/timestamp.ts";
import { toUint, type Uint } from "../values/uint.ts";
import type { CelValue } from "../values/value.ts";
import { matches } from "./regular-expressions.ts";

const same = (value: CelValue) => value;

function parseInteger(text: string): bigint | undefined {
  return /^[+-]?\d{1,30}$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}

function intOfString(text: string): Int {
  const value = parseInteger(text);
  return (value === undefined ? undefined : toInt(value)) ?? conversionFailure("string", "int");
}

function uintOfString(text: string): Uint {
  const value = parseInteger(text);
  if (value === undefined || value < 0n || value >= 1n << 64n || /^[+-]/.test(text))
    conversionFailure("string", "uint");
  return toUint(value);
}

function doubleOfString(text: string): Double {
  const word = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (word) {
    const size = /nan/i.test(word[2] ?? "") ? Number.NaN : Number.POSITIVE_INFINITY;
    return new Double(word[1] === "-" ? -size : size);
  }
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) conversionFailure("string", "double");
  return new Double(Number(text));
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((word) => [word, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((word) => [word, false] as const),
]);

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function stringOfBytes(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    // Not UTF-8: there is nothing else to know about it.
    return fail("invalid UTF-8 in bytes, cannot convert to string");
  }
}

const ints = fn(
  "int",
  global("int64_to_int64", [intType], intType, same),
  global(
    "double_to_int64",
    [doubleType],
    intType,
    (value: Double) => intOfDouble(value.value) ?? fail("integer overflow"),
  ),
  global(
    "duration_to_int64",
    [durationType],
    intType,
    (value: Duration) => toInt(value.nanoseconds) ?? fail("integer overflow"),
  ),
  global("string_to_int64", [stringType], intType, intOfString),
  global("timestamp_to_int64", [timestampType], intType, (value: Timestamp) => value.seconds),
  global("uint64_to_int64", [uintType], intType, (value: Uint) => toInt(value.value) ?? fail("integer overflow")),
);

const uints = fn(
  "uint",
  global("uint64_to_uint64", [uintType], uintType, same),
  global("double_to_uint64", [doubleType], uintType, (value: Double) =>
    value.value >= 0 && value.value < 2 ** 64
      ? toUint(BigInt(Math.trunc(value.value)))
      : fail("unsigned integer overflow"),
  ),
  global("int64_to_uint64", [intType], uintType, (value: Int) => toUint(BigInt(value))),
  global("string_to_uint64", [stringType], uintType, uintOfString),
);

const doubles = fn(
  "double",
  global("double_to_double", [doubleType], doubleType, same),
  global("int64_to_double", [intType], doubleType, (value: Int) => new Double(Number(value))),
  global("string_to_double", [stringType], doubleType, doubleOfString),
  global("uint64_to_double", [uintType], doubleType, (value: Uint) => new Double(Number(value.value))),
);

const strings = fn(
  "string",
  global("string_to_string", [stringType], stringType, same),
  global("bool_to_string", [boolType], stringType, String),
  global("bytes_to_string", [bytesType], stringType, stringOfBytes),
  global("double_to_string", [doubleType], stringType, (value: Double) => formatDouble(value.value)),
  global("duration_to_string", [durationType], stringType, formatSeconds),
  global("int64_to_string", [intType], stringType, String),
  global("timestamp_to_string", [timestampType], stringType, formatTimestamp),
  global("uint64_to_string", [uintType], stringType, (value: Uint) => String(value.value)),
);

const searches = (["contains", "endsWith", "startsWith"] as const).map((name) => {
  const method = { contains: "includes", endsWith: "endsWith", startsWith: "startsWith" } as const;
  const id = { contains: "contains_string", endsWith: "ends_with_string", startsWith: "starts_with_string" };
  return fn(
    name,
    member(id[name], [stringType, stringType], boolType, (text: string, part: string) => text[method[name]](part)),
  );
});

export const conversions: Library = {
  functions: [
    ints,
    uints,
    doubles,
    strings,
    fn(
      "bool",
      global("bool_to_bool", [boolType], boolType, same),
      global(
        "string_to_bool",
        [stringType],
        boolType,
        (text: string) => truths.get(text) ?? conversionFailure("string", "bool"),
      ),
    ),
    fn(
      "bytes",
      global("bytes_to_bytes", [bytesType], bytesType, same),
      global("string_to_bytes", [stringType], bytesType, (text: string) => new TextEncoder().encode(text)),
    ),
    fn(
      "duration",
      global("duration_to_duration", [durationType], durationType, same),
      global("int64_to_duration", [intType], durationType, () => conversionFailure("int", durationType.name)),
      global(
        "string_to_duration",
        [stringType],
        durationType,
        (text: string) => parseDuration(text) ?? conversionFailure("string", durationType.name),
      ),
    ),
    fn(
      "timestamp",
      global("timestamp_to_timestamp", [timestampType], timestampType, same),
      global("int64_to_timestamp", [intType], timestampType, (value: Int) => toTimestamp(Number(value), 0)),
      global(
        "string_to_timestamp",
        [stringType],
        timestampType,
        (text: string) => parseTimestamp(text) ?? conversionFailure("string", timestampType.name),
      ),
    ),
    ...searches,
    fn(
      "matches",
      global("matches", [stringType, stringType], boolType, matches),
      member("matches_string", [stringType, stringType], boolType, matches),
    ),
  ],
};
