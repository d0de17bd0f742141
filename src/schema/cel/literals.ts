// What the text of a literal stands for. Follows cel-go's parser/unescape.go.
import type { CelToken } from "./lexer.ts";
import { Double } from "./values/double.ts";
import { toInt } from "./values/int.ts";
import { Uint } from "./values/uint.ts";
import type { CelValue } from "./values/value.ts";

/** Undefined if the number is too large for its type. */
export function literalValue(token: CelToken, isNegative = false): CelValue | undefined {
  switch (token.kind) {
    case "int":
      return toInt(isNegative ? -BigInt(token.text) : BigInt(token.text));
    case "uint": {
      const value = BigInt(token.text.slice(0, -1));
      return value < 1n << 64n ? new Uint(value) : undefined;
    }
    case "double": {
      const value = Number(token.text);
      return Number.isFinite(value) ? new Double(isNegative ? -value : value) : undefined;
    }
    case "string":
      return stringLiteral(token.text);
    case "bytes":
      return bytesLiteral(token.text);
    default:
      return undefined;
  }
}

/** The words that are literals, by how they are written. */
export const literalWords: ReadonlyMap<string, CelValue> = new Map<string, CelValue>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

interface Body {
  readonly text: string;
  readonly isRaw: boolean;
}

function bodyOf(text: string): Body {
  const open = text.search(/["']/);
  const quote = text.slice(open, open + 3);
  const isTriple = /^("""|''')$/.test(quote) && text.length >= open + 6;
  const width = isTriple ? 3 : 1;
  const body = text.slice(open + width, text.length - width).replaceAll(/\r\n?/g, "\n");
  return { text: body, isRaw: /r/i.test(text.slice(0, open)) };
}

const sequences = /\\([abfnrtv"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7])/g;
const named: ReadonlyMap<string, string> = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

/** The number a sequence stands for, or the character itself. */
function sequenceValue(sequence: string): number | string {
  const kind = sequence[0] ?? "";
  if (sequence.length === 1) return named.get(kind) ?? kind;
  if (/[xXuU]/.test(kind)) return Number.parseInt(sequence.slice(1), 16);
  return Number.parseInt(sequence, 8);
}

function isCodePoint(code: number): boolean {
  return code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

/** Undefined if a sequence names no code point. */
function stringLiteral(source: string): string | undefined {
  const body = bodyOf(source);
  if (body.isRaw) return body.text;
  let isValid = true;
  const text = body.text.replaceAll(sequences, (_, sequence: string) => {
    const value = sequenceValue(sequence);
    if (typeof value === "string") return value;
    if (isCodePoint(value)) return String.fromCodePoint(value);
    isValid = false;
    return "";
  });
  return isValid ? text : undefined;
}

/** In bytes, `\x` and octal sequences are bytes, not code points; `\u` does not exist. */
function bytesLiteral(source: string): Uint8Array | undefined {
  const body = bodyOf(source);
  const encoder = new TextEncoder();
  if (body.isRaw) return encoder.encode(body.text);
  const bytes: number[] = [];
  let done = 0;
  for (const match of body.text.matchAll(sequences)) {
    bytes.push(...encoder.encode(body.text.slice(done, match.index)));
    done = match.index + match[0].length;
    if (/^[uU]/.test(match[1] ?? "")) return undefined;
    const value = sequenceValue(match[1] ?? "");
    if (typeof value === "number") bytes.push(value);
    else bytes.push(...encoder.encode(value));
  }
  bytes.push(...encoder.encode(body.text.slice(done)));
  return Uint8Array.from(bytes);
}
