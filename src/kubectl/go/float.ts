// Floats as Go's strconv.FormatFloat writes them.
import type { GoComplex } from "./value.ts";

/** A verb of `%b %e %f %g %x` in lower case; a negative precision is the shortest that reads back as the same number. */
export function formatGoFloat(value: number, verb: string, precision: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  return sign + unsigned(Math.abs(value), verb, precision);
}

function unsigned(size: number, verb: string, precision: number): string {
  switch (verb) {
    case "e":
      return exponential(precision < 0 ? size.toExponential() : toExponential(size, precision));
    case "f":
      return precision < 0 ? plain(size.toExponential()) : toFixed(size, precision);
    case "b":
      return binary(size);
    case "x":
      return hexadecimal(size, precision);
    default:
      return general(size, precision);
  }
}

/** The sign aside, a float64 is this many times a power of two. */
function partsOf(size: number): { mantissa: bigint; power: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, size);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  return { mantissa: exponent === 0 ? fraction : fraction | (1n << 52n), power: Math.max(1, exponent) - 1023 - 52 };
}

/** size × 10^digits as a whole number. JavaScript rounds ties up, Go to even. */
function scaled(size: number, digits: number): bigint {
  const { mantissa, power } = partsOf(size);
  const over = mantissa * 10n ** BigInt(Math.max(0, digits)) * 2n ** BigInt(Math.max(0, power));
  const under = 10n ** BigInt(Math.max(0, -digits)) * 2n ** BigInt(Math.max(0, -power));
  return roundedQuotient(over, under);
}

function roundedQuotient(over: bigint, under: bigint): bigint {
  const quotient = over / under;
  const twice = (over % under) * 2n;
  return twice > under || (twice === under && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

/** No float64 has more digits behind the point; all that follow are zeros. */
const mostDigits = 1100;

function toFixed(size: number, precision: number): string {
  const exact = Math.min(precision, mostDigits);
  const digits = scaled(size, exact)
    .toString()
    .padStart(exact + 1, "0");
  const fraction = digits.slice(digits.length - exact).padEnd(precision, "0");
  const whole = digits.slice(0, digits.length - exact);
  return precision === 0 ? digits : `${whole}.${fraction}`;
}

function toExponential(size: number, precision: number): string {
  if (size === 0) return `0${precision > 0 ? `.${"0".repeat(precision)}` : ""}e+0`;
  const exact = Math.min(precision, mostDigits);
  let exponent = Number(size.toExponential().split("e")[1]);
  let digits = scaled(size, exact - exponent).toString();
  if (digits.length > exact + 1) {
    exponent++;
    digits = digits.slice(0, -1);
  }
  const fraction = digits.slice(1).padEnd(precision, "0");
  return `${digits[0]}${fraction === "" ? "" : `.${fraction}`}e${exponent < 0 ? "" : "+"}${exponent}`;
}

/** `1.5e+07`: at least two digits of exponent. */
function exponential(text: string): string {
  const [digits, exponent = "+0"] = text.split("e");
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/** The digits of `1.25e+3` without an exponent. */
function plain(text: string): string {
  const [mantissa = "", exponentText] = text.split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(exponentText);
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return digits.padEnd(exponent + 1, "0");
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

/** An exponent from this on is written, where the precision does not say otherwise. */
const usualLimit = 6;

function general(size: number, precision: number): string {
  const digits = precision === 0 ? 1 : precision;
  const text = precision < 0 ? size.toExponential() : trimmed(toExponential(size, digits - 1));
  const [mantissa = "", exponentText] = text.split("e");
  const exponent = Number(exponentText);
  const shown = mantissa.replace(".", "").length;
  let limit = digits;
  if (limit > shown && shown >= exponent + 1) limit = shown;
  if (precision < 0) limit = usualLimit;
  // The precision is a bound of what is written without an exponent, even where all its digits are zeros.
  if (precision >= 0 && limit === shown) limit = Math.max(limit, exponent + 1 <= digits ? exponent + 1 : limit);
  return exponent < -4 || exponent >= limit ? exponential(text) : plain(text);
}

/** Without the zeros at the end of the fraction. */
const trimmed = (text: string): string =>
  text.replace(/(\.\d*?)0+e/, (_, kept: string) => (kept === "." ? "e" : `${kept}e`));

/** `4503599627370496p-52`. */
function binary(size: number): string {
  const { mantissa, power } = partsOf(size);
  return `${mantissa}p${power < 0 ? "" : "+"}${power}`;
}

/** `0x1.8p+00`. */
function hexadecimal(size: number, precision: number): string {
  if (size === 0) return `0x0${precision > 0 ? `.${"0".repeat(precision)}` : ""}p+00`;
  let { mantissa, power } = partsOf(size);
  const shift = 53 - mantissa.toString(2).length;
  mantissa <<= BigInt(shift);
  let exponent = power - shift + 52;
  if (precision >= 0 && precision < 13) {
    const dropped = BigInt(4 * (13 - precision));
    mantissa = roundedQuotient(mantissa, 1n << dropped) << dropped;
    if (mantissa >= 1n << 53n) {
      mantissa >>= 1n;
      exponent++;
    }
  }
  const digits = (mantissa & 0xfffffffffffffn).toString(16).padStart(13, "0");
  const fraction = precision < 0 ? digits.replace(/0+$/, "") : digits.slice(0, precision).padEnd(precision, "0");
  const sign = exponent < 0 ? "-" : "+";
  return `0x1${fraction === "" ? "" : `.${fraction}`}p${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

export const formatComplex = ({ real, imaginary }: GoComplex, part: (value: number) => string): string => {
  const second = part(imaginary);
  return `(${part(real)}${/^[+-]/.test(second) ? "" : "+"}${second}i)`;
};
