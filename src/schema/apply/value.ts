// Plain JSON values as upstream's merge library sees them: how they are compared, ordered and printed.
import { own, setOwn } from "#base/collections.ts";

export type JsonMap = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isEmptyMap = (value: unknown): boolean => isMap(value) && Object.keys(value).length === 0;

/** The order of the bytes in UTF-8. It is that of UTF-16, but for what lies beyond the basic plane. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    if (isSurrogate(left) === isSurrogate(right)) return left - right;
    return isSurrogate(left) ? 1 : -1;
  }
  return a.length - b.length;
}
/** Half of a code point that lies above all that have a unit of their own. */
const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/** A total order of JSON values: numbers, strings, booleans, lists, maps, null. */
export function compareValues(a: unknown, b: unknown): number {
  const kind = rank(a);
  if (kind !== rank(b)) return kind - rank(b);
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (isMap(a) && isMap(b)) return compareMaps(a, b);
  return 0;
}

const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint";

function rank(value: unknown): number {
  if (isNumber(value)) return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  if (Array.isArray(value)) return 3;
  return isMap(value) ? 4 : 5;
}

function compareLists(a: readonly unknown[], b: readonly unknown[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareValues(a[i], b[i]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareMaps(a: JsonMap, b: JsonMap): number {
  const left = Object.keys(a).sort(compareText);
  const right = Object.keys(b).sort(compareText);
  for (let i = 0; i < left.length && i < right.length; i++) {
    const key = left[i] as string;
    const order = compareText(key, right[i] as string) || compareValues(a[key], own(b, key));
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Maps are written in the order of their keys, and what would end a script in HTML is escaped: so Go's encoders do it. */
export function goJson(value: unknown): string {
  if (typeof value === "string") return escaped(JSON.stringify(value));
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`;
  if (!isMap(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys
    .sort(compareText)
    .map((key) => `${goJson(key)}:${goJson(value[key])}`)
    .join(",")}}`;
}

const special = /[<>&\u2028\u2029]|\\[bf]/;
const escaped = (text: string): string =>
  special.test(text) ? text.replace(/\\(?:[bf]|.)|[<>&\u2028\u2029]/g, goEscape) : text;
function goEscape(part: string): string {
  if (part === "\\b") return "\\u0008";
  if (part === "\\f") return "\\u000c";
  return part[0] === "\\" ? part : `\\u${part.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** Go's `%q`. */
export function goQuote(text: string): string {
  const body = text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (one) => {
    const code = one.codePointAt(0) ?? 0;
    if (shortEscapes[one] !== undefined) return shortEscapes[one];
    if (code < 0x80) return `\\x${hex(code, 2)}`;
    return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
  });
  return `"${body}"`;
}
const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

/** Go's `%v` of a decoded JSON value. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (!isMap(value)) return String(value);
  const keys = Object.keys(value).sort(compareText);
  return `map[${keys.map((key) => `${key}:${goText(value[key])}`).join(" ")}]`;
}

/** Go's `%#v` of a decoded JSON value. */
export function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return "interface {}(nil)";
  if (typeof value === "string") return goQuote(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (!isMap(value)) return String(value);
  const keys = Object.keys(value).sort(compareText);
  return `map[string]interface {}{${keys.map((key) => `${goQuote(key)}:${goSyntax(value[key])}`).join(", ")}}`;
}

/** Go's `%T` of a decoded JSON value. */
export function goType(value: unknown): string {
  if (isNumber(value)) return typeof value === "bigint" || Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (Array.isArray(value)) return "[]interface {}";
  return isMap(value) ? "map[string]interface {}" : "<nil>";
}

/** A copy that shares nothing, so that whoever gets it may change it. */
export function copyJson<T>(value: T): T;
export function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  if (!isMap(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (value[key] !== undefined) setOwn(copy, key, copyJson(value[key]));
  return copy;
}
