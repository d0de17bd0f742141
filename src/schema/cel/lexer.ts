// Text to tokens. Follows the lexer of cel-go's parser/gen/CEL.g4, also in how it goes on after a character that fits nowhere.
import type { CelProblem } from "./problems.ts";

export type TokenKind =
  | "identifier"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  /** An operator, a bracket, or one of the words `in`, `true`, `false`, `null`: what it is is its text. */
  | "symbol"
  | "end";

export interface CelToken {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

const words: ReadonlySet<string> = new Set(["in", "true", "false", "null"]);
const longSymbols = ["==", "!=", "<=", ">=", "&&", "||"];
const symbols = "<>[]{}().,-!?:+*/%";
const space = /[\t\n\f\r ]+|\/\/[^\n]*/y;
const identifier = /[A-Za-z_][A-Za-z_0-9]*/y;
const double = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y;
const integer = /(?:0x[0-9a-fA-F]+|\d+)/y;
const stringPrefix = /(?:[rR][bB]?|[bB][rR]?)?(?=["'])/y;
const escapeSequence = /\\(?:[abfnrtv"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7])/y;

/** All tokens, the last one being the end; what is no token becomes a problem and is left out. */
export function tokenize(source: string, problems: CelProblem[]): CelToken[] {
  const tokens: CelToken[] = [];
  let offset = 0;
  while (offset < source.length) {
    const blank = matchAt(space, source, offset);
    if (blank) {
      offset += blank.length;
      continue;
    }
    const token = nextToken(source, offset);
    if ("kind" in token) {
      tokens.push(token);
      offset += token.text.length;
    } else {
      // The character that did not fit is part of what is reported, and is left out as well.
      const failing = String.fromCodePoint(source.codePointAt(token.failedAt) ?? 0);
      const end = Math.min(source.length, token.failedAt + failing.length);
      const text = source.slice(offset, end).replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r");
      problems.push({ message: `Syntax error: token recognition error at: '${text}'`, offset });
      offset = Math.max(end, offset + 1);
    }
  }
  tokens.push({ kind: "end", text: "<EOF>", offset: source.length });
  return tokens;
}

function matchAt(pattern: RegExp, source: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.exec(source)?.[0];
}

type Failure = { readonly failedAt: number };

function nextToken(source: string, offset: number): CelToken | Failure {
  const prefix = matchAt(stringPrefix, source, offset);
  if (prefix !== undefined) return stringToken(source, offset, prefix);
  const word = matchAt(identifier, source, offset);
  if (word) return { kind: words.has(word) ? "symbol" : "identifier", text: word, offset };
  const fraction = matchAt(double, source, offset);
  if (fraction) return { kind: "double", text: fraction, offset };
  const whole = matchAt(integer, source, offset);
  if (whole) {
    const suffix = source[offset + whole.length];
    if (suffix === "u" || suffix === "U") return { kind: "uint", text: whole + suffix, offset };
    return { kind: "int", text: whole, offset };
  }
  const long = longSymbols.find((symbol) => source.startsWith(symbol, offset));
  if (long) return { kind: "symbol", text: long, offset };
  const character = source[offset] ?? "";
  if (symbols.includes(character)) return { kind: "symbol", text: character, offset };
  // `|`, `&` and `=` begin an operator, so it is the next character that does not fit.
  return { failedAt: "|&=".includes(character) ? offset + 1 : offset };
}

function stringToken(source: string, offset: number, prefix: string): CelToken | Failure {
  const kind = /b/i.test(prefix) ? "bytes" : "string";
  const isRaw = /r/i.test(prefix);
  const open = offset + prefix.length;
  const quote = source[open] ?? "";
  if (source.startsWith(quote.repeat(3), open)) {
    const end = endOfString(source, open + 3, quote.repeat(3), isRaw);
    if (typeof end === "number") return { kind, text: source.slice(offset, end), offset };
  }
  const end = endOfString(source, open + 1, quote, isRaw);
  if (typeof end === "number") return { kind, text: source.slice(offset, end), offset };
  // A prefix that begins no string is an identifier, and the quote is looked at again.
  return prefix === "" ? end : { kind: "identifier", text: prefix, offset };
}

/** Where the string is over, or the first character that cannot be in it. */
function endOfString(source: string, from: number, quote: string, isRaw: boolean): number | Failure {
  let at = from;
  while (at < source.length) {
    if (source.startsWith(quote, at)) return at + quote.length;
    const character = source[at];
    if (quote.length === 1 && (character === "\n" || character === "\r")) return { failedAt: at };
    if (character === "\\" && !isRaw) {
      const sequence = matchAt(escapeSequence, source, at);
      if (sequence === undefined) return { failedAt: failingCharacter(source, at) };
      at += sequence.length;
    } else at++;
  }
  return { failedAt: at };
}

/** The first character after a backslash that makes the sequence impossible. */
function failingCharacter(source: string, backslash: number): number {
  const kind = source[backslash + 1] ?? "";
  const digits = { x: 2, X: 2, u: 4, U: 8 }[kind];
  const isDigit = digits === undefined ? /[0-7]/ : /[0-9a-fA-F]/;
  let at = backslash + (digits === undefined ? 1 : 2);
  if (digits === undefined && !/[0-3]/.test(kind)) return at;
  while (at < source.length && isDigit.test(source[at] ?? "")) at++;
  return at;
}
