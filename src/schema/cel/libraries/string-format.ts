// `"%s has %d".format([x, y])`: what each clause takes, and what it writes. Follows cel-go's ext/formatting.go.
import type { Expr } from "../ast.ts";
import type { CelType } from "../types.ts";
import { Double } from "../values/double.ts";
import { formatSeconds } from "../values/duration.ts";
import { fail } from "../values/failure.ts";
import { formatDouble } from "../values/format-double.ts";
import { elementsOf, type ListValue } from "../values/list.ts";
import { formatTimestamp } from "../values/timestamp.ts";
import { type CelValue, isInt, typeOf } from "../values/value.ts";

const mostPrecision = 100;

/** What stands between clauses, or a clause. */
type Piece = { readonly text: string } | { readonly clause: string; readonly precision: number };

/** The pieces, or what is wrong with the format. */
function* pieces(format: string): Generator<Piece | { readonly problem: string }> {
  const pattern = /%%|%(\.(\d*))?(.?)|[^%]+/gsu;
  for (const [whole, precisionPart, digits, clause] of format.matchAll(pattern)) {
    if (whole === "%%") yield { text: "%" };
    else if (!whole.startsWith("%")) yield { text: whole };
    else if (clause === "" || clause === undefined)
      return yield { problem: "could not parse formatting clause: unexpected end of string" };
    else if (!"sdfebxXo".includes(clause))
      return yield { problem: `could not parse formatting clause: unrecognized formatting clause "${clause}"` };
    else {
      const precision = precisionPart === undefined ? 6 : Number(digits);
      if (precision > mostPrecision)
        return yield {
          problem: `could not parse formatting clause: error while parsing precision: precision ${precision} exceeds maximum allowed precision ${mostPrecision}`,
        };
      yield { clause, precision };
    }
  }
}

const clauseNames: Readonly<Record<string, string>> = {
  d: "decimal clause can only be used on integers",
  f: "fixed-point clause can only be used on doubles",
  e: "scientific clause can only be used on doubles",
  b: "only integers and bools can be formatted as binary",
  o: "octal clause can only be used on integers",
  x: "only integers, byte buffers, and strings can be formatted as hex",
  X: "only integers, byte buffers, and strings can be formatted as hex",
  s: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
};

/** What each clause takes, by the kind of type. */
const clauseTypes: Readonly<Record<string, readonly string[]>> = {
  d: ["int", "uint", "double"],
  f: ["double", "int", "uint"],
  e: ["double", "int", "uint"],
  b: ["int", "uint", "bool"],
  o: ["int", "uint"],
  x: ["int", "uint", "string", "bytes"],
  X: ["int", "uint", "string", "bytes"],
  s: ["list", "map", "string", "bool", "bytes", "int", "uint", "double", "duration", "timestamp", "null", "type"],
};

function refusal(clause: string, type: string): string {
  return `error during formatting: ${clauseNames[clause] ?? ""}, was given ${type}`;
}

export function formatText(format: string, list: ListValue): string {
  const args = [...elementsOf(list)];
  let at = 0;
  let text = "";
  for (const piece of pieces(format)) {
    if ("problem" in piece) fail(piece.problem);
    if ("text" in piece) {
      text += piece.text;
      continue;
    }
    const value = args[at];
    if (value === undefined) return fail(`index ${at} out of range`);
    at++;
    text += formatClause(piece.clause, piece.precision, value);
  }
  return text;
}

/** What is wrong with a format and a list of arguments that are both written out; undefined if nothing is. */
export function checkFormat(
  format: string,
  args: readonly Expr[],
  typeOfArgument: (expr: Expr) => CelType,
): { readonly message: string; readonly argument?: Expr } | undefined {
  let at = 0;
  for (const piece of pieces(format)) {
    if ("problem" in piece) return { message: piece.problem };
    if ("text" in piece) continue;
    const argument = args[at];
    if (argument === undefined) return { message: `index ${at} out of range` };
    at++;
    const type = typeOfArgument(argument);
    const isKnown = !["dyn", "parameter", "error"].includes(type.kind);
    if (isKnown && !clauseTypes[piece.clause]?.includes(type.kind))
      return { message: refusal(piece.clause, type.name), argument };
  }
  if (args.length <= at) return undefined;
  return { message: `too many arguments supplied to string.format (expected ${at}, got ${args.length})` };
}

function formatClause(clause: string, precision: number, value: CelValue): string {
  const type = typeOf(value);
  const isWord = value instanceof Double && !Number.isFinite(value.value);
  if (isWord && "dfe".includes(clause)) return infinityOrNaN(value.value);
  if (!clauseTypes[clause]?.includes(type.kind) || (clause === "d" && type.kind === "double"))
    fail(refusal(clause, type.name));
  switch (clause) {
    case "d":
      return String(wholeNumber(value));
    case "f":
      return fixedPoint(floatingNumber(value), precision);
    case "e":
      return scientific(floatingNumber(value), precision);
    case "b":
      return typeof value === "boolean" ? String(Number(value)) : wholeNumber(value).toString(2);
    case "o":
      return wholeNumber(value).toString(8);
    case "x":
      return hexadecimal(value);
    case "X":
      return hexadecimal(value).toUpperCase();
    default:
      return shown(value);
  }
}

function wholeNumber(value: CelValue): bigint {
  if (isInt(value)) return BigInt(value);
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "uint" ? value.value : 0n;
}

function floatingNumber(value: CelValue): number {
  return value instanceof Double ? value.value : Number(wholeNumber(value));
}

/** Rounds a digit that is exactly halfway to the even one, as Go does. */
function fixedPoint(value: number, precision: number): string {
  const rounded = value.toFixed(precision);
  const [, rest = ""] = value.toFixed(Math.min(100, precision + 30)).split(".");
  const isHalfway = /^50*$/.test(rest.slice(precision));
  const isOdd = /[13579]$/.test(rounded);
  if (!isHalfway || !isOdd) return rounded;
  const step = 10 ** -precision;
  return (value > 0 ? Number(rounded) - step : Number(rounded) + step).toFixed(precision);
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** `1.052033 × 10⁰³`, as the English locale of upstream's library writes it. */
function scientific(value: number, precision: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential(precision).split("e");
  const power = Number(exponent);
  const digits = String(Math.abs(power)).padStart(2, "0");
  const raised = [...digits].map((digit) => superscripts[Number(digit)]).join("");
  return `${mantissa}\u202f×\u202f10${power < 0 ? "⁻" : ""}${raised}`;
}

function infinityOrNaN(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

function hexadecimal(value: CelValue): string {
  const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
  if (!(bytes instanceof Uint8Array)) return wholeNumber(value).toString(16);
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** As `%s` writes it. */
function shown(value: CelValue): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  switch (value.kind) {
    case "uint":
      return String(value.value);
    case "double":
      return Number.isFinite(value.value) ? formatDouble(value.value) : infinityOrNaN(value.value);
    case "duration":
      return formatSeconds(value);
    case "timestamp":
      return formatTimestamp(value);
    case "type":
      return value.type.name;
    case "list":
      return `[${[...elementsOf(value)].map(nested).join(", ")}]`;
    case "map": {
      const entries = [...value.keys()].map((key) => `${nested(key)}:${nested(value.find(key) ?? null)}`);
      return `{${entries.sort().join(", ")}}`;
    }
    default:
      return fail(refusal("s", typeOf(value).name));
  }
}

/** Inside of a list or map, what is text to a person is in quotes. */
function nested(value: CelValue): string {
  const text = shown(value);
  if (typeof value === "string") return JSON.stringify(text);
  if (value instanceof Uint8Array) return `b${JSON.stringify(text)}`;
  if (value instanceof Double) return Number.isFinite(value.value) ? fixedPoint(value.value, 6) : JSON.stringify(text);
  const isTime =
    typeof value === "object" && value !== null && "kind" in value && /^(duration|timestamp)$/.test(value.kind);
  if (isTime && typeof value === "object" && value !== null && "kind" in value)
    return `${value.kind}(${JSON.stringify(text)})`;
  return text;
}
