// The functions of templates: Go's own, and kubectl's two. Follows text/template/funcs.go and cli-runtime's printers/template.go.
import { sprint, sprintf, sprintln } from "../go/format.ts";
import { isPrintable } from "../go/quote.ts";
import {
  byteLength,
  bytesOf,
  compareText,
  entryOf,
  floatOf,
  GoComplex,
  type GoValue,
  integerOf,
  isMap,
  textOf,
  typeName,
} from "../go/value.ts";
import { decodeBase64 } from "./base64.ts";
import { FunctionError } from "./error.ts";

/** What a function takes: any value, or text that Go would not convert anything to. */
type Parameter = "any" | "string";

export interface TemplateFunction {
  readonly parameters: readonly Parameter[];
  /** The parameter that may come any number of times after the others. */
  readonly rest?: Parameter;
  /** Throws FunctionError. */
  call(args: readonly GoValue[]): GoValue;
}

const isNil = (value: GoValue): value is undefined | null => value === undefined || value === null;

/** Whether a value counts as true: not the zero of its type. */
export function isTrue(value: GoValue): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof GoComplex) return value.real !== 0 || value.imaginary !== 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  const number = floatOf(value) ?? integerOf(value);
  // NaN is not zero.
  return number === undefined ? Boolean(value) : Number(number) !== 0;
}

function indexOf(index: GoValue, length: number): number {
  if (isNil(index)) throw new FunctionError("cannot index slice/array with nil");
  const at = integerOf(index);
  if (at === undefined) throw new FunctionError(`cannot index slice/array with type ${typeName(index)}`);
  if (at < 0n || at > BigInt(length)) throw new FunctionError(`index out of range: ${at}`);
  return Number(at);
}

function indexInto(item: GoValue, indexes: readonly GoValue[]): GoValue {
  if (isNil(item)) throw new FunctionError("index of untyped nil");
  let value: GoValue = item;
  for (const index of indexes) {
    if (isNil(value)) throw new FunctionError("index of nil pointer");
    if (isMap(value)) value = entryOf(value, keyOf(index)) ?? null;
    else if (Array.isArray(value) || typeof value === "string") value = elementOf(value, index);
    else throw new FunctionError(`can't index item of type ${typeName(value)}`);
  }
  return value;
}

function keyOf(index: GoValue): string {
  if (isNil(index)) throw new FunctionError("value is nil; should be of type string");
  if (typeof index !== "string") throw new FunctionError(`value has type ${typeName(index)}; should be string`);
  return index;
}

function elementOf(list: readonly GoValue[] | string, index: GoValue): GoValue {
  const items = typeof list === "string" ? bytesOf(list) : list;
  const at = indexOf(index, items.length);
  // Go's own check lets the length itself through, and reflect panics on it.
  if (at === items.length)
    throw new FunctionError(`reflect: ${typeof list === "string" ? "string" : "slice"} index out of range`);
  const item = items[at];
  return typeof list === "string" ? BigInt(item as number) : (item as GoValue);
}

function sliceOf(item: GoValue, indexes: readonly GoValue[]): GoValue {
  if (isNil(item)) throw new FunctionError("slice of untyped nil");
  if (indexes.length > 3) throw new FunctionError(`too many slice indexes: ${indexes.length}`);
  if (typeof item !== "string" && !Array.isArray(item))
    throw new FunctionError(`can't slice item of type ${typeName(item)}`);
  if (typeof item === "string" && indexes.length === 3) throw new FunctionError("cannot 3-index slice a string");
  const whole = typeof item === "string" ? bytesOf(item) : item;
  const [from = 0, to = whole.length, most = to] = indexes.map((index) => indexOf(index, whole.length));
  if (from > to) throw new FunctionError(`invalid slice index: ${from} > ${to}`);
  if (to > most) throw new FunctionError(`invalid slice index: ${to} > ${most}`);
  return whole instanceof Uint8Array ? textOf(whole.slice(from, to)) : whole.slice(from, to);
}

function lengthOf(item: GoValue): bigint {
  if (item === undefined) throw new FunctionError("reflect: call of reflect.Value.Type on zero Value");
  if (item === null) throw new FunctionError("len of nil pointer");
  if (typeof item === "string") return BigInt(byteLength(item));
  if (Array.isArray(item)) return BigInt(item.length);
  if (isMap(item)) return BigInt(Object.keys(item).length);
  throw new FunctionError(`len of type ${typeName(item)}`);
}

/** What Go compares with each other: an int with an int64, but no integer with a float. */
function kindOf(value: GoValue): string | undefined {
  if (isNil(value) || Array.isArray(value) || isMap(value)) return undefined;
  return integerOf(value) === undefined ? typeName(value) : "integer";
}

function isEqual(left: GoValue, rights: readonly GoValue[]): boolean {
  if (rights.length === 0) throw new FunctionError("missing argument for comparison");
  return rights.some((right) => isEqualTo(left, right));
}

function isEqualTo(left: GoValue, right: GoValue): boolean {
  if (isNil(left) || isNil(right)) return isNil(left) && isNil(right);
  const kind = kindOf(left);
  if (kind !== kindOf(right))
    throw new FunctionError(`incompatible types for comparison: ${typeName(left)} and ${typeName(right)}`);
  if (left instanceof GoComplex && right instanceof GoComplex)
    return left.real === right.real && left.imaginary === right.imaginary;
  if (kind === "integer") return integerOf(left) === integerOf(right);
  if (kind === "float64") return floatOf(left) === floatOf(right);
  if (kind !== undefined) return left === right;
  if (Array.isArray(left) !== Array.isArray(right))
    throw new FunctionError(
      `non-comparable types ${sprintf("%s", [left])}: ${typeName(left)}, ${typeName(right)}: ${sprint([right])}`,
    );
  throw new FunctionError(`non-comparable type ${sprintf("%s", [right])}: ${typeName(right)}`);
}

function isLess(left: GoValue, right: GoValue): boolean {
  const kind = kindOf(left);
  const other = kindOf(right);
  if (kind === undefined || other === undefined) throw new FunctionError("invalid type for comparison");
  if (kind !== other)
    throw new FunctionError(`incompatible types for comparison: ${typeName(left)} and ${typeName(right)}`);
  if (typeof left === "string" && typeof right === "string") return compareText(left, right) < 0;
  if (kind === "integer") return (integerOf(left) ?? 0n) < (integerOf(right) ?? 0n);
  if (kind === "float64") return (floatOf(left) ?? 0) < (floatOf(right) ?? 0);
  throw new FunctionError("invalid type for comparison");
}

const isLessOrEqual = (left: GoValue, right: GoValue): boolean => isLess(left, right) || isEqualTo(left, right);

/** The text of arguments that an escaper takes. */
const argumentsText = (args: readonly GoValue[]): string =>
  sprint(args.map((arg) => (args.length === 1 && typeof arg === "string" ? arg : isNil(arg) ? "<no value>" : arg)));

const htmlEscapes: Readonly<Record<string, string>> = {
  "\0": "\ufffd",
  '"': "&#34;",
  "'": "&#39;",
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
};

function jsEscape(letter: string): string {
  if (/[\\'"]/.test(letter)) return `\\${letter}`;
  const code = letter.codePointAt(0) as number;
  if (code >= 0x80 ? isPrintable(letter) : code >= 0x20 && !/[<>&=]/.test(letter)) return letter;
  return `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

const queryEscape = (text: string): string =>
  [...bytesOf(text)]
    .map((byte) => {
      const letter = String.fromCharCode(byte);
      if (/[A-Za-z0-9_.~-]/.test(letter)) return letter;
      return letter === " " ? "+" : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");

/** Whether `index` could be called with these. Without indexes it could, whatever the item. */
function exists(item: GoValue, indexes: readonly GoValue[]): boolean {
  if (indexes.length === 0) return true;
  let value: GoValue = item;
  for (const index of indexes) {
    if (isNil(value)) return false;
    if (isMap(value)) {
      if (!isNil(index) && typeof index !== "string") return false;
      value = entryOf(value, index ?? "") ?? null;
    } else if (Array.isArray(value) || typeof value === "string") {
      const length = typeof value === "string" ? byteLength(value) : value.length;
      const at = integerOf(index);
      if (at === undefined || at < 0n || at >= BigInt(length)) return false;
      value = elementOf(value, index);
    } else return false;
  }
  return !isNil(value);
}

const comparison = (call: (left: GoValue, right: GoValue) => boolean): TemplateFunction => ({
  parameters: ["any", "any"],
  call: ([left, right]) => call(left, right),
});
const anyNumber = (call: (args: readonly GoValue[]) => GoValue): TemplateFunction => ({
  parameters: [],
  rest: "any",
  call,
});
const oneOrMore = (call: (first: GoValue, rest: readonly GoValue[]) => GoValue): TemplateFunction => ({
  parameters: ["any"],
  rest: "any",
  call: ([first, ...rest]) => call(first, rest),
});

/** `and` and `or` stop at the first argument that decides; the evaluation knows them. */
export const shortCircuits: ReadonlySet<string> = new Set(["and", "or"]);

export const templateFunctions: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ["and", oneOrMore((first) => first)],
  ["or", oneOrMore((first) => first)],
  ["not", { parameters: ["any"], call: ([value]) => !isTrue(value) }],
  ["len", { parameters: ["any"], call: ([value]) => lengthOf(value) }],
  ["index", oneOrMore(indexInto)],
  ["slice", oneOrMore(sliceOf)],
  ["print", anyNumber(sprint)],
  ["println", anyNumber(sprintln)],
  ["printf", { parameters: ["string"], rest: "any", call: ([format, ...values]) => sprintf(String(format), values) }],
  ["html", anyNumber((args) => argumentsText(args).replace(/["'&<>\0]/g, (letter) => htmlEscapes[letter] ?? letter))],
  ["js", anyNumber((args) => [...argumentsText(args)].map(jsEscape).join(""))],
  ["urlquery", anyNumber((args) => queryEscape(argumentsText(args)))],
  ["eq", oneOrMore(isEqual)],
  ["ne", comparison((left, right) => !isEqualTo(left, right))],
  ["lt", comparison(isLess)],
  ["le", comparison(isLessOrEqual)],
  ["gt", comparison((left, right) => !isLessOrEqual(left, right))],
  ["ge", comparison((left, right) => !isLess(left, right))],
  ["call", oneOrMore(refuseCall)],
  ["exists", oneOrMore(exists)],
  ["base64decode", { parameters: ["string"], call: ([text]) => decodeBase64(String(text)) }],
]);

/** Nothing that a template can reach in an object is a function. */
function refuseCall(value: GoValue): never {
  throw new FunctionError(isNil(value) ? "call of nil" : `non-function of type ${typeName(value)}`);
}
