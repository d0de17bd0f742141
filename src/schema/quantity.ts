// Amounts of resources: "100m" of a CPU, "1.5Gi" of memory. Exact decimals that remember how they were written.
//
// Text is changed on the way in as little as upstream changes it: what upstream takes for canonical it returns letter
// for letter, "1.500" and "+1" included, because clients compare what they sent with what they get.
//
// Two departures, both where upstream does harm. It drops the suffix of amounts beyond the largest one ("1000E" comes
// back as "1"); here the mantissa grows instead. And it computes with any exponent it is given, for hours if need be;
// here an exponent or a number of digits that no resource can need is refused.

/** How a quantity was written, and will be: 12M, 12Mi, 12e6. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

/** The exact number `unscaled × 10^scale`. */
export interface Quantity {
  readonly unscaled: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
  /** What was parsed, where that is also how it is written. */
  readonly text?: string;
}

export class QuantityError extends Error {
  override readonly name = "QuantityError";
}

const formatWrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixWrong = "unable to parse quantity's suffix";
const numberWrong = "unable to parse numeric part of quantity";

const nano = -9;
const mostExponent = 1000;
const mostDigits = 1000;
/** Up to here upstream computes in 64 bits, and only there does it keep text or take no digits at all for zero. */
const int64Digits = 18;
const binaryDigits = 14;
const mostBinary = 2n ** 63n - 1n;

const decimalSuffixes = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const decimalSuffixOf = new Map([...decimalSuffixes].map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

export const zeroQuantity: Quantity = { unscaled: 0n, scale: 0, format: "DecimalSI", text: "0" };

export const quantityOf = (value: bigint | number, format: QuantityFormat = "DecimalSI"): Quantity => ({
  unscaled: BigInt(value),
  scale: 0,
  format,
});
export const milliQuantityOf = (value: bigint | number, format: QuantityFormat = "DecimalSI"): Quantity => ({
  unscaled: BigInt(value),
  scale: -3,
  format,
});

/** Reads a quantity. Precision beyond nano is rounded away from zero, and binary amounts end at 2^63-1. Throws QuantityError. */
export function parseQuantity(input: string | number): Quantity {
  const text = typeof input === "number" ? String(input) : input;
  const known = recent.get(text);
  if (known) return known;
  const quantity = parse(text);
  if (recent.size >= mostRecent) recent.clear();
  recent.set(text, quantity);
  return quantity;
}

/** A cluster asks for the same few amounts over and over: a pod names each of its own about four times on its way in. */
const recent = new Map<string, Quantity>();
const mostRecent = 1024;

function parse(text: string): Quantity {
  if (text === "0") return zeroQuantity;
  const { negative, whole, fraction, suffix, empty } = split(text);
  const digits = whole + fraction;
  if (digits.length > mostDigits) throw new QuantityError(numberWrong);

  const binary = suffix === "" ? -1 : binarySuffixes.indexOf(suffix);
  if (binary > 0) {
    const value = BigInt(digits) * 1024n ** BigInt(binary);
    const amount = bounded(value, -fraction.length);
    const fits = fraction === "" && whole.length + 3 * binary <= binaryDigits;
    if (empty && !fits) throw new QuantityError(numberWrong);
    const isSmall = amount.unscaled > 0n && amount.unscaled < 10n ** BigInt(-amount.scale);
    const kept = fits && (BigInt(digits) & 7n) !== 0n;
    return written(negative, amount, isSmall ? "DecimalSI" : "BinarySI", kept ? text : undefined);
  }

  const known = decimalSuffixes.get(suffix);
  const scale = (known ?? exponentOf(suffix)) - fraction.length;
  const fits = digits.length <= int64Digits && scale >= nano;
  if (empty && !fits) throw new QuantityError(numberWrong);
  const kept = fits && scale % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0");
  const amount = roundAway(BigInt(digits), scale, nano);
  return written(negative, amount, known === undefined ? "DecimalExponent" : "DecimalSI", kept ? text : undefined);
}

/** The text as it is stored and shown. Surrounding space is forgiven here, as in upstream's JSON. Throws QuantityError. */
export function canonicalQuantity(input: string | number): string {
  if (typeof input === "string" && isPlainlyCanonical(input)) return input;
  const once = formatQuantity(parseQuantity(typeof input === "string" ? input.trim() : input));
  // "62.5Ki" is written "64000", which on its own is written "64k". Upstream stores the one and turns it into the other at the next
  // write; here an object that is read and written back must stay as it is.
  return isPlainlyCanonical(once) ? once : formatQuantity(parseQuantity(once));
}

/** The largest suffix that leaves a whole number. Binary amounts below 1Ki, and those with a fraction, are written in decimal. */
export function formatQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  const { unscaled, scale, format } = quantity;
  if (unscaled === 0n) return "0";
  if (format === "BinarySI") {
    const whole = roundAway(unscaled, scale, 0);
    const value = whole.unscaled * 10n ** BigInt(whole.scale);
    if (whole.exact && (value <= -1024n || value >= 1024n)) return formatBinary(value);
  }
  return formatDecimal(unscaled, scale, format === "DecimalExponent");
}

/** The sum, in the format of `a`, or of `b` when `a` is zero. */
export const addQuantity = (a: Quantity, b: Quantity): Quantity => {
  const scale = Math.min(a.scale, b.scale);
  return { unscaled: at(a, scale) + at(b, scale), scale, format: a.unscaled === 0n ? b.format : a.format };
};
export const subtractQuantity = (a: Quantity, b: Quantity): Quantity => addQuantity(a, negateQuantity(b));
export const negateQuantity = ({ unscaled, scale, format }: Quantity): Quantity => ({
  unscaled: -unscaled,
  scale,
  format,
});
export const multiplyQuantity = (a: Quantity, times: bigint | number): Quantity => ({
  unscaled: a.unscaled * BigInt(times),
  scale: a.scale,
  format: a.format,
});

/** Negative, zero or positive, as for sorting. */
export function compareQuantity(a: Quantity, b: Quantity): number {
  const scale = Math.min(a.scale, b.scale);
  const left = at(a, scale);
  const right = at(b, scale);
  return left < right ? -1 : left > right ? 1 : 0;
}
export const isZeroQuantity = (a: Quantity): boolean => a.unscaled === 0n;

/** A multiple of 10^scale, rounded away from zero. */
export function roundQuantityUp(quantity: Quantity, scale: number): Quantity {
  if (quantity.scale >= scale) return quantity;
  const rounded = roundAway(quantity.unscaled, quantity.scale, scale);
  return { unscaled: rounded.unscaled, scale: rounded.scale, format: quantity.format };
}

/** How many times 10^scale it is, rounded away from zero: of "1.5" at scale -3, 1500. */
export function scaledValue(quantity: Quantity, scale: number): bigint {
  const rounded = roundAway(quantity.unscaled, quantity.scale, scale);
  return rounded.unscaled * 10n ** BigInt(rounded.scale - scale);
}
export const quantityValue = (quantity: Quantity): bigint => scaledValue(quantity, 0);
export const quantityMilliValue = (quantity: Quantity): bigint => scaledValue(quantity, -3);
/** The nearest floating-point number. */
export const quantityToNumber = ({ unscaled, scale }: Quantity): number => Number(`${unscaled}e${scale}`);

interface Amount {
  readonly unscaled: bigint;
  readonly scale: number;
  /** Whether nothing was lost. */
  readonly exact: boolean;
}

function written(negative: boolean, amount: Amount, format: QuantityFormat, text: string | undefined): Quantity {
  const { unscaled, scale } = amount;
  return { unscaled: negative ? -unscaled : unscaled, scale, format, ...(text === undefined ? {} : { text }) };
}

/** The unscaled number at a scale that is not above the quantity's own. */
const at = (quantity: Quantity, scale: number): bigint => quantity.unscaled * 10n ** BigInt(quantity.scale - scale);

function roundAway(unscaled: bigint, scale: number, least: number): Amount {
  if (scale >= least) return { unscaled, scale, exact: true };
  const divisor = 10n ** BigInt(least - scale);
  const rest = unscaled % divisor;
  const away = rest === 0n ? 0n : rest > 0n ? 1n : -1n;
  return { unscaled: unscaled / divisor + away, scale: least, exact: rest === 0n };
}

function bounded(unscaled: bigint, scale: number): Amount {
  const amount = roundAway(unscaled, scale, nano);
  return amount.unscaled > mostBinary * 10n ** BigInt(-amount.scale)
    ? { unscaled: mostBinary, scale: 0, exact: false }
    : amount;
}

function formatBinary(value: bigint): string {
  let mantissa = value;
  let power = 0;
  while (power < binarySuffixes.length - 1 && mantissa % 1024n === 0n) {
    mantissa /= 1024n;
    power++;
  }
  return `${mantissa}${binarySuffixes[power]}`;
}

function formatDecimal(unscaled: bigint, scale: number, asExponent: boolean): string {
  const digits = String(unscaled);
  let zeros = digits.length;
  while (digits[zeros - 1] === "0") zeros--;
  let exponent = scale + digits.length - zeros;
  if (!asExponent) exponent = Math.min(exponent, 18);
  exponent = Math.floor(exponent / 3) * 3;
  const mantissa =
    exponent < scale ? digits + "0".repeat(scale - exponent) : digits.slice(0, digits.length - (exponent - scale));
  if (asExponent) return exponent === 0 ? mantissa : `${mantissa}e${exponent}`;
  return mantissa + (decimalSuffixOf.get(exponent) ?? "");
}

function exponentOf(suffix: string): number {
  const exponent = /^[eE][-+]?[0-9]+$/.test(suffix) ? Number(suffix.slice(1)) : Number.NaN;
  if (!(Math.abs(exponent) <= mostExponent)) throw new QuantityError(suffixWrong);
  return exponent;
}

interface Parts {
  readonly negative: boolean;
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: string;
  /** Whether there is no digit in front of the suffix. */
  readonly empty: boolean;
}

/** Scanned by hand: an expression that allows digits at both ends backtracks without bound. */
function split(text: string): Parts {
  if (text === "") throw new QuantityError(formatWrong);
  const sign = text[0] === "-" || text[0] === "+" ? 1 : 0;
  const start = skip(text, sign, (code) => code === 48);
  const wholeEnd = skip(text, start, isDigit);
  const hasPoint = text[wholeEnd] === ".";
  const suffixStart = hasPoint ? skip(text, wholeEnd + 1, isDigit) : wholeEnd;
  const lettersEnd = skip(text, suffixStart, isSuffixLetter);
  const exponent = text[lettersEnd] === "-" || text[lettersEnd] === "+" ? lettersEnd + 1 : lettersEnd;
  if (skip(text, exponent, isDigit) !== text.length) throw new QuantityError(formatWrong);
  return {
    negative: text[0] === "-",
    whole: text.slice(start, wholeEnd) || "0",
    fraction: hasPoint ? text.slice(wholeEnd + 1, suffixStart) : "",
    suffix: text.slice(suffixStart),
    empty: suffixStart - sign === (hasPoint ? 1 : 0),
  };
}

function skip(text: string, from: number, accepts: (code: number) => boolean): number {
  let at = from;
  while (at < text.length && accepts(text.charCodeAt(at))) at++;
  return at;
}
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isSuffixLetter = (code: number): boolean => "eEinumkKMGTP".includes(String.fromCharCode(code));

/** Decides for nearly all the text there is, without making anything: every pod that is read comes through here. */
function isPlainlyCanonical(text: string): boolean {
  const length = text.length;
  if (length === 0 || length > 8) return false;
  let digits = 0;
  let value = 0;
  while (digits < length && isDigit(text.charCodeAt(digits))) value = value * 10 + text.charCodeAt(digits++) - 48;
  if (digits === 0 || digits > 6) return false;
  if (text.charCodeAt(0) === 48) return length === 1;
  if (digits === length) return value % 1000 !== 0;
  const prefix = text[digits];
  if (digits === length - 2)
    return text[digits + 1] === "i" && (prefix === "K" || prefix === "M" || prefix === "G" || prefix === "T")
      ? value % 1024 !== 0
      : false;
  return digits === length - 1 && "numkMGTPE".includes(prefix ?? "-") && value % 1000 !== 0;
}
