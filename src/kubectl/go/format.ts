// What Go's fmt prints for values: Sprint, Sprintln and Sprintf, with the texts it prints for mistakes.
// Follows fmt/print.go and fmt/format.go.

import { formatComplex, formatGoFloat } from "./float.ts";
import { canBackquote, goQuote, isPrintable } from "./quote.ts";
import { bytesOf, entryOf, floatOf, GoComplex, type GoValue, integerOf, isMap, sortedKeys, typeName } from "./value.ts";

/** Spaces stand between two values neither of which is text. */
export function sprint(values: readonly GoValue[]): string {
  let text = "";
  for (const [i, value] of values.entries()) {
    if (i > 0 && typeof value !== "string" && typeof values[i - 1] !== "string") text += " ";
    text += formatValue(value, "v", noFlags);
  }
  return text;
}

export const sprintln = (values: readonly GoValue[]): string =>
  `${values.map((value) => formatValue(value, "v", noFlags)).join(" ")}\n`;

interface FormatFlags {
  readonly plus: boolean;
  readonly minus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  /** `%#v`: values in Go's syntax. */
  readonly goSyntax: boolean;
}
const noFlags: FormatFlags = {
  plus: false,
  minus: false,
  sharp: false,
  space: false,
  zero: false,
  width: undefined,
  precision: undefined,
  goSyntax: false,
};

/** Go's own bound of widths, precisions and indexes. */
const tooLarge = 1_000_000;

export function sprintf(format: string, values: readonly GoValue[]): string {
  return new Formatter(format, values).run();
}

class Formatter {
  readonly #format: string;
  readonly #values: readonly GoValue[];
  #at = 0;
  #next = 0;
  #isGoodIndex = true;
  #isReordered = false;
  #isAfterIndex = false;
  #out = "";

  constructor(format: string, values: readonly GoValue[]) {
    this.#format = format;
    this.#values = values;
  }

  run(): string {
    for (;;) {
      const percent = this.#format.indexOf("%", this.#at);
      this.#out += this.#format.slice(this.#at, percent < 0 ? undefined : percent);
      if (percent < 0) break;
      this.#at = percent + 1;
      if (!this.#verb()) break;
    }
    if (!this.#isReordered && this.#next < this.#values.length) this.#out += this.#extra();
    return this.#out;
  }

  /** False once the format is at its end. */
  #verb(): boolean {
    this.#isGoodIndex = true;
    this.#isAfterIndex = false;
    let flags = this.#flags();
    this.#index();
    flags = this.#width(flags);
    flags = this.#precision(flags);
    if (!this.#isAfterIndex) this.#index();
    if (this.#at >= this.#format.length) {
      this.#out += "%!(NOVERB)";
      return false;
    }
    const verb = String.fromCodePoint(this.#format.codePointAt(this.#at) as number);
    this.#at += verb.length;
    if (verb === "%") this.#out += "%";
    else if (!this.#isGoodIndex) this.#out += `%!${verb}(BADINDEX)`;
    else if (this.#next >= this.#values.length) this.#out += `%!${verb}(MISSING)`;
    else this.#out += formatValue(this.#values[this.#next++], verb, verb === "v" ? withGoSyntax(flags) : flags);
    return true;
  }

  #flags(): FormatFlags {
    const from = this.#at;
    while ("#0+- ".includes(this.#format[this.#at] ?? "\0")) this.#at++;
    const letters = this.#format.slice(from, this.#at);
    const has = (letter: string) => letters.includes(letter);
    return { ...noFlags, sharp: has("#"), zero: has("0"), plus: has("+"), minus: has("-"), space: has(" ") };
  }

  #width(flags: FormatFlags): FormatFlags {
    if (this.#format[this.#at] === "*") {
      this.#at++;
      const width = this.#integer();
      if (width === undefined) this.#out += "%!(BADWIDTH)";
      this.#isAfterIndex = false;
      if (width === undefined || width >= 0) return { ...flags, width };
      return { ...flags, width: -width, minus: true, zero: false };
    }
    const width = this.#number();
    if (this.#isAfterIndex && width !== undefined) this.#isGoodIndex = false;
    return { ...flags, width };
  }

  #precision(flags: FormatFlags): FormatFlags {
    if (this.#format[this.#at] !== "." || this.#at + 1 >= this.#format.length) return flags;
    this.#at++;
    if (this.#isAfterIndex) this.#isGoodIndex = false;
    this.#index();
    if (this.#format[this.#at] !== "*") return { ...flags, precision: this.#number() ?? 0 };
    this.#at++;
    const precision = this.#integer();
    this.#isAfterIndex = false;
    if (precision !== undefined && precision >= 0) return { ...flags, precision };
    this.#out += "%!(BADPREC)";
    return flags;
  }

  /** Digits of the format; a number that is too large is none, and takes the rest of the format with it. */
  #number(): number | undefined {
    const digits = /^\d+/.exec(this.#format.slice(this.#at, this.#at + 8))?.[0];
    if (digits === undefined) return undefined;
    if (Number(digits) > tooLarge) {
      this.#at = this.#format.length;
      return undefined;
    }
    this.#at += digits.length;
    return Number(digits);
  }

  /** A width or a precision that is an argument. */
  #integer(): number | undefined {
    if (this.#next >= this.#values.length) return undefined;
    const value = integerOf(this.#values[this.#next++]);
    if (value === undefined || value > tooLarge || value < -tooLarge) return undefined;
    return Number(value);
  }

  /** `[3]`: the argument to go on with. */
  #index(): void {
    this.#isAfterIndex = false;
    if (this.#format[this.#at] !== "[") return;
    this.#isReordered = true;
    const close = this.#format.indexOf("]", this.#at);
    if (close < 0) {
      this.#isGoodIndex = false;
      this.#at++;
      return;
    }
    const inside = this.#format.slice(this.#at + 1, close);
    const index = /^\d{1,7}$/.test(inside) && Number(inside) <= tooLarge ? Number(inside) : undefined;
    this.#at = close + 1;
    if (index !== undefined && index >= 1 && index <= this.#values.length) {
      this.#next = index - 1;
      this.#isAfterIndex = true;
      return;
    }
    this.#isAfterIndex = index !== undefined;
    this.#isGoodIndex = false;
  }

  #extra(): string {
    const rest = this.#values
      .slice(this.#next)
      .map((value) => (isNil(value) ? "<nil>" : `${typeName(value)}=${formatValue(value, "v", noFlags)}`));
    return `%!(EXTRA ${rest.join(", ")})`;
  }
}

const isNil = (value: GoValue): value is undefined | null => value === undefined || value === null;
const withGoSyntax = (flags: FormatFlags): FormatFlags =>
  flags.sharp ? { ...flags, goSyntax: true, sharp: false } : { ...flags, plus: false };

function formatValue(value: GoValue, verb: string, flags: FormatFlags, isInside = false): string {
  if (isNil(value)) return nilText(verb, flags, isInside);
  if (verb === "T" && !isInside) return pad(typeName(value), flags);
  if (verb === "p") return badVerb(value, verb, flags);
  if (Array.isArray(value)) return listText(value, verb, flags);
  if (isMap(value)) return mapText(value, verb, flags);
  if (value instanceof GoComplex) return complexText(value, verb, flags);
  if (typeof value === "boolean")
    return verb === "t" || verb === "v" ? pad(String(value), flags) : badVerb(value, verb, flags);
  if (typeof value === "string") return stringText(value, verb, flags) ?? badVerb(value, verb, flags);
  const float = floatOf(value);
  if (float !== undefined) return floatText(float, verb, flags) ?? badVerb(value, verb, flags);
  return integerText(integerOf(value) ?? 0n, verb, flags) ?? badVerb(value, verb, flags);
}

function nilText(verb: string, flags: FormatFlags, isInside: boolean): string {
  if (isInside) return flags.goSyntax ? "interface {}(nil)" : "<nil>";
  return verb === "v" || verb === "T" ? pad("<nil>", flags) : `%!${verb}(<nil>)`;
}

/** Width and precision are for the value that is shown instead. */
const badVerb = (value: GoValue, verb: string, flags: FormatFlags): string =>
  `%!${verb}(${typeName(value)}=${formatValue(value, "v", flags)})`;

function listText(items: readonly GoValue[], verb: string, flags: FormatFlags): string {
  const texts = items.map((item) => formatValue(item, verb, flags, true));
  return flags.goSyntax ? `[]interface {}{${texts.join(", ")}}` : `[${texts.join(" ")}]`;
}

function mapText(map: GoValue & object, verb: string, flags: FormatFlags): string {
  if (!isMap(map)) return "";
  const texts = sortedKeys(map).map(
    (key) => `${formatValue(key, verb, flags, true)}:${formatValue(entryOf(map, key), verb, flags, true)}`,
  );
  return flags.goSyntax ? `map[string]interface {}{${texts.join(", ")}}` : `map[${texts.join(" ")}]`;
}

function stringText(text: string, verb: string, flags: FormatFlags): string | undefined {
  switch (verb) {
    case "v":
      return flags.goSyntax ? quotedText(text, flags) : pad(truncated(text, flags), flags);
    case "s":
      return pad(truncated(text, flags), flags);
    case "q":
      return quotedText(text, flags);
    case "x":
    case "X":
      return hexText(bytesOf(text), verb, flags);
    default:
      return undefined;
  }
}

const truncated = (text: string, { precision }: FormatFlags): string =>
  precision === undefined ? text : [...text].slice(0, precision).join("");

function quotedText(text: string, flags: FormatFlags): string {
  const shown = truncated(text, flags);
  const isRaw = flags.sharp && canBackquote(shown);
  return pad(isRaw ? `\`${shown}\`` : goQuote(shown, { ascii: flags.plus }), flags);
}

function hexText(bytes: Uint8Array, verb: string, flags: FormatFlags): string {
  const isUpper = verb === "X";
  const shown = bytes.subarray(0, flags.precision ?? bytes.length);
  if (shown.length === 0) return padding(flags.width ?? 0, flags);
  const digits = [...shown]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .map((d) => (isUpper ? d.toUpperCase() : d));
  const prefix = flags.sharp ? `0${verb}` : "";
  const text = flags.space ? digits.map((pair) => prefix + pair).join(" ") : prefix + digits.join("");
  return pad(text, flags);
}

const bases: Readonly<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 };

function integerText(value: bigint, verb: string, flags: FormatFlags): string | undefined {
  if (verb === "c") return pad(letterOf(value), flags);
  if (verb === "q") return pad(goQuote(letterOf(value), { ascii: flags.plus, mark: "'" }), flags);
  if (verb === "U") return unicodeText(value, flags);
  const base = bases[verb];
  if (base === undefined) return undefined;
  const size = value < 0n ? -value : value;
  if (flags.precision === 0 && size === 0n) return padding(flags.width ?? 0, { ...flags, zero: false });
  let digits = size.toString(base);
  if (verb === "X") digits = digits.toUpperCase();
  const hasSign = value < 0n || flags.plus || flags.space;
  const isZeroPadded = flags.precision === undefined && flags.zero && !flags.minus && flags.width !== undefined;
  const least = isZeroPadded ? (flags.width ?? 0) - (hasSign ? 1 : 0) : (flags.precision ?? 0);
  digits = digits.padStart(least, "0");
  if (flags.sharp) digits = withPrefix(digits, base, verb);
  if (verb === "O") digits = `0o${digits}`;
  const sign = value < 0n ? "-" : flags.plus ? "+" : flags.space ? " " : "";
  return pad(sign + digits, { ...flags, zero: false });
}

function withPrefix(digits: string, base: number, verb: string): string {
  if (base === 2) return `0b${digits}`;
  if (base === 8) return digits.startsWith("0") ? digits : `0${digits}`;
  return base === 16 ? `0${verb}${digits}` : digits;
}

const letterOf = (code: bigint): string =>
  code < 0n || code > 0x10ffffn || (code >= 0xd800n && code <= 0xdfffn) ? "\ufffd" : String.fromCodePoint(Number(code));

function unicodeText(value: bigint, flags: FormatFlags): string {
  const digits = BigInt.asUintN(64, value).toString(16).toUpperCase();
  const letter = letterOf(value);
  const shown = flags.sharp && value >= 0n && value <= 0x10ffffn && isPrintable(letter) ? ` '${letter}'` : "";
  return pad(`U+${digits.padStart(Math.max(4, flags.precision ?? 0), "0")}${shown}`, { ...flags, zero: false });
}

function floatText(value: number, verb: string, flags: FormatFlags): string | undefined {
  const kind = floatKinds[verb];
  if (kind === undefined) return undefined;
  const text = formatGoFloat(value, kind.verb, flags.precision ?? kind.precision);
  return signedFloat(kind.isUpper ? text.toUpperCase() : text, kind, flags);
}

interface FloatKind {
  readonly verb: string;
  readonly precision: number;
  readonly isUpper?: boolean;
}
const floatKinds: Readonly<Record<string, FloatKind>> = {
  v: { verb: "g", precision: -1 },
  g: { verb: "g", precision: -1 },
  G: { verb: "g", precision: -1, isUpper: true },
  e: { verb: "e", precision: 6 },
  E: { verb: "e", precision: 6, isUpper: true },
  f: { verb: "f", precision: 6 },
  F: { verb: "f", precision: 6 },
  b: { verb: "b", precision: -1 },
  x: { verb: "x", precision: -1 },
  X: { verb: "x", precision: -1, isUpper: true },
};

function signedFloat(number: string, kind: FloatKind, flags: FormatFlags): string {
  const body = number.replace(/^[+-]/, "");
  const isNumber = /\d/.test(body);
  const shown = number.startsWith("-") ? "-" : flags.plus ? "+" : flags.space ? " " : "";
  // Infinity has its sign always, and neither it nor NaN is filled up with zeros.
  const sign = shown === "" && number.startsWith("+") ? "+" : shown;
  if (!isNumber) return pad(sign + body, { ...flags, zero: false });
  const full = flags.sharp && kind.verb !== "b" ? withPoint(body, kind, flags) : body;
  if (flags.zero && !flags.minus && flags.width !== undefined && sign !== "")
    return sign + full.padStart(flags.width - 1, "0");
  return pad(sign + full, flags);
}

/** `%#g` keeps the point, and zeros up to the precision. */
function withPoint(body: string, kind: FloatKind, flags: FormatFlags): string {
  const tailAt = body.search(kind.verb === "x" ? /[pP]/ : /[eE]/);
  const digits = tailAt < 0 ? body : body.slice(0, tailAt);
  const wanted = "gx".includes(kind.verb) ? (flags.precision ?? 6) : 0;
  const significant = digits.replace(".", "").replace(/^0+/, "").length;
  const pointed = digits.includes(".") ? digits : `${digits}.`;
  const isZero = digits === "0";
  const zeros = "0".repeat(Math.max(0, wanted - significant - (isZero ? 1 : 0)));
  return pointed + zeros + (tailAt < 0 ? "" : body.slice(tailAt));
}

function complexText(value: GoComplex, verb: string, flags: FormatFlags): string {
  if (!Object.hasOwn(floatKinds, verb)) return badVerb(value, verb, flags);
  return formatComplex(value, (part) => floatText(part, verb, flags) ?? "");
}

function pad(text: string, flags: FormatFlags): string {
  if (flags.width === undefined) return text;
  const space = padding(flags.width - [...text].length, flags);
  return flags.minus ? text + space : space + text;
}

const padding = (count: number, { zero, minus }: FormatFlags): string =>
  (zero && !minus ? "0" : " ").repeat(Math.max(0, count));
