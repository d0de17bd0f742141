// What a plain scalar means to Go's YAML, and so to Kubernetes: YAML 1.1's booleans and octals, no sexagesimals, and times that are text.

const words: ReadonlyMap<string, boolean | null> = new Map([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
]);
const numbers: ReadonlyMap<string, number> = new Map([
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);

/** A number as Go holds it: an integer differs from a float that happens to be whole. */
export interface YamlNumber {
  readonly value: number;
  readonly isInteger: boolean;
  /** Digits of an integer that JavaScript cannot hold exactly. */
  readonly digits?: string;
}

/** A string resolves to itself. */
export type YamlScalar = string | boolean | null | YamlNumber;

export function resolvePlain(text: string): YamlScalar {
  const word = words.get(text);
  if (word !== undefined) return word;
  const special = numbers.get(text);
  if (special !== undefined) return { value: special, isInteger: false };
  if (text.startsWith(".")) return float(text) ?? text;
  if (!/^[-+0-9]/.test(text) || isTimestamp(text)) return text;
  const digits = text.replaceAll("_", "");
  return integer(digits) ?? float(digits) ?? text;
}

const integerForm = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))$/;
const least = -(2n ** 63n);
const most = 2n ** 64n - 1n;

function integer(text: string): YamlNumber | undefined {
  const match = integerForm.exec(text);
  if (!match) return undefined;
  const [, sign, hexadecimal, octal, binary, decimal] = match;
  const digits = decimal ?? (hexadecimal ? `0x${hexadecimal}` : octal ? `0o${octal}` : `0b${binary}`);
  if (digits.length > 80) return undefined;
  const exact = sign === "-" ? -BigInt(digits) : BigInt(digits);
  if (exact < least || exact > most || (sign === "+" && exact > 2n ** 63n - 1n)) return undefined;
  const value = Number(exact);
  return Number.isSafeInteger(value) ? { value, isInteger: true } : { value, isInteger: true, digits: String(exact) };
}

function float(text: string): YamlNumber | undefined {
  if (!/^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? { value, isInteger: false } : undefined;
}

const timestampForm =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d))|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?$/;

/** Read as text, but quoted when written: other readers of YAML make dates of it. */
export function isTimestamp(text: string): boolean {
  const match = timestampForm.exec(text);
  if (!match) return false;
  const part = (...at: number[]): number => Number(at.map((i) => match[i]).find((one) => one !== undefined) ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  if (month < 1 || month > 12 || day < 1 || day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate())
    return false;
  return part(4, 7) < 24 && part(5, 8) < 60 && part(6, 9) < 60;
}

/** Numbers to the base of 60, which YAML 1.1 had and Go does not read, but quotes for those who do. */
export const isSexagesimal = (text: string): boolean => /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/.test(text);
