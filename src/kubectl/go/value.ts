// Values as a Go program holds them. Those of an object are JSON as it was parsed: there, a whole number is an int64 and any other a
// float64, as Kubernetes reads them. What a template itself makes is an `int`, held as a bigint, or a float64 that may be whole.
// Go prints, compares and refuses these differently.
export type GoValue =
  | undefined
  | null
  | boolean
  | number
  | bigint
  | string
  | GoFloat
  | GoComplex
  | readonly GoValue[]
  | GoMap;
export interface GoMap {
  readonly [key: string]: GoValue;
}

/** A float64 that is whole, as the constant `1.0`. */
export class GoFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

export const goFloat = (value: number): GoValue => (isInt64(value) ? new GoFloat(value) : value);

const isInt64 = (value: number): boolean => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;

/** The value of an int or int64, and undefined of anything else. */
export function integerOf(value: GoValue): bigint | undefined {
  if (typeof value === "bigint") return value;
  return typeof value === "number" && isInt64(value) ? BigInt(value) : undefined;
}

/** The value of a float64, and undefined of anything else. */
export function floatOf(value: GoValue): number | undefined {
  if (value instanceof GoFloat) return value.value;
  return typeof value === "number" && !isInt64(value) ? value : undefined;
}

/** complex128: only constants of templates make one. */
export class GoComplex {
  readonly real: number;
  readonly imaginary: number;

  constructor(real: number, imaginary: number) {
    this.real = real;
    this.imaginary = imaginary;
  }
}

export const isMap = (value: GoValue): value is GoMap =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof GoComplex) &&
  !(value instanceof GoFloat);

/** Keys that objects inherit in JavaScript are no keys of the map. */
export const entryOf = (map: GoMap, key: string): GoValue => (Object.hasOwn(map, key) ? map[key] : undefined);

/** The keys in the order in which Go's fmt and templates visit them: by their bytes. */
export const sortedKeys = (map: GoMap): readonly string[] => Object.keys(map).sort(compareText);

/** As `reflect.Type` names it. */
export function typeName(value: GoValue): string {
  if (value === undefined || value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (value instanceof GoComplex) return "complex128";
  if (value instanceof GoFloat) return "float64";
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "number":
      return isInt64(value) ? "int64" : "float64";
    case "bigint":
      return "int";
    case "string":
      return "string";
    default:
      return "map[string]interface {}";
  }
}

/** Compares by the bytes of UTF-8, as Go does; UTF-16 sorts letters outside of the basic plane differently. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others; an escaped byte (see `textOf`) sorts with them. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

// Go's strings are bytes, and a Secret decoded by a template need not be UTF-8. A byte that is not valid there is held as a lone
// surrogate, U+DC80 to U+DCFF, which well-formed text cannot contain, and becomes that byte again on the way out.
const escapeBase = 0xdc00;
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** The text that stands for these bytes. */
export function textOf(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    // Not UTF-8 as a whole: letter by letter below.
  }
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const size = letterSize(bytes, at);
    text +=
      size === 0
        ? String.fromCharCode(escapeBase + (bytes[at] as number))
        : strict.decode(bytes.subarray(at, at + size));
    at += Math.max(1, size);
  }
  return text;
}

function letterSize(bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number;
  const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  try {
    return strict.decode(bytes.subarray(at, at + size)).length > 0 ? size : 0;
  } catch {
    return 0;
  }
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function bytesOf(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text);
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const match of text.matchAll(loneSurrogate)) {
    parts.push(encoder.encode(text.slice(from, match.index)));
    const unit = match[0].charCodeAt(0);
    parts.push(isEscapedByte(unit) ? Uint8Array.of(unit - escapeBase) : encoder.encode("\ufffd"));
    from = match.index + 1;
  }
  parts.push(encoder.encode(text.slice(from)));
  return concatenated(parts);
}

export const isEscapedByte = (unit: number): boolean => unit >= escapeBase + 0x80 && unit <= escapeBase + 0xff;
export const escapedByte = (unit: number): number => unit - escapeBase;

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** How many bytes a text takes in Go. */
export function byteLength(text: string): number {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80 || isEscapedByte(unit)) length += 1;
    else if (unit < 0x800) length += 2;
    else if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length) {
      length += 4;
      i++;
    } else length += 3;
  }
  return length;
}
