// Quoted text in both directions, as Go's strconv has it.
import { escapedByte, isEscapedByte, textOf } from "./value.ts";

const shortEscapes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
};

/** What `strconv.IsPrint` lets stand: letters, marks, numbers, punctuation, symbols, and the ASCII space. */
export const isPrintable = (letter: string): boolean => letter === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(letter);

export interface QuoteOptions {
  readonly ascii?: boolean;
  readonly mark?: '"' | "'";
}

export function goQuote(text: string, { ascii = false, mark = '"' }: QuoteOptions = {}): string {
  let quoted: string = mark;
  for (const letter of text) quoted += escapedLetter(letter, ascii, mark);
  return quoted + mark;
}

function escapedLetter(letter: string, ascii: boolean, mark: string): string {
  const code = letter.codePointAt(0) as number;
  if (letter === mark) return `\\${letter}`;
  if (isEscapedByte(code)) return `\\x${hex(escapedByte(code), 2)}`;
  if (code >= 0x20 && code < 0x7f && letter !== "\\") return letter;
  if (code >= 0x80 && !ascii && isPrintable(letter)) return letter;
  const short = shortEscapes[letter];
  if (short !== undefined) return short;
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

/** Whether a raw string in backquotes can hold the text: one line, no control characters but tabs, no backquote. */
export const canBackquote = (text: string): boolean =>
  text.isWellFormed() &&
  !/[`\u{7f}\ufeff]/u.test(text) &&
  [...text].every((letter) => letter >= " " || letter === "\t");

/** What a quoted or raw literal means, or undefined where Go says "invalid syntax". */
export function goUnquote(literal: string): string | undefined {
  const mark = literal[0];
  if (literal.length < 2 || mark !== literal.at(-1)) return undefined;
  const body = literal.slice(1, -1);
  if (mark === "`") return body.includes("`") ? undefined : body.replaceAll("\r", "");
  if (mark !== '"' || body.includes("\n")) return undefined;
  return unescapeAll(body, mark);
}

/** The text of a body in which `mark` must be escaped. */
export function unescapeAll(body: string, mark: string): string | undefined {
  if (!body.includes("\\") && !body.includes(mark)) return body;
  let text = "";
  let bytes: number[] = [];
  const flush = () => {
    if (bytes.length > 0) text += textOf(Uint8Array.from(bytes));
    bytes = [];
  };
  for (let at = 0; at < body.length; ) {
    const letter = unescapeLetter(body, at, mark);
    if (!letter) return undefined;
    if (letter.isByte) bytes.push(letter.code);
    else {
      flush();
      text += String.fromCodePoint(letter.code);
    }
    at = letter.end;
  }
  flush();
  return text;
}

interface UnescapedLetter {
  readonly code: number;
  readonly end: number;
  /** Written as `\x` or in octal above 0x7f: one byte, not a letter. */
  readonly isByte: boolean;
}

const simple: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, "\\": 92 };
const hexDigits: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** One letter of a literal, or undefined where Go refuses it. */
export function unescapeLetter(text: string, at: number, mark: string): UnescapedLetter | undefined {
  const letter = String.fromCodePoint(text.codePointAt(at) as number);
  if (letter === mark && (mark === "'" || mark === '"')) return undefined;
  if (letter !== "\\") return { code: letter.codePointAt(0) as number, end: at + letter.length, isByte: false };
  const kind = text[at + 1];
  if (kind === undefined) return undefined;
  const digits = hexDigits[kind];
  if (digits !== undefined) return hexLetter(text.slice(at + 2, at + 2 + digits), digits, at + 2 + digits);
  const code = Object.hasOwn(simple, kind) ? simple[kind] : undefined;
  if (code !== undefined) return { code, end: at + 2, isByte: false };
  if (kind === "'" || kind === '"')
    return kind === mark ? { code: kind.charCodeAt(0), end: at + 2, isByte: false } : undefined;
  const octal = /^[0-7]{3}/.exec(text.slice(at + 1))?.[0];
  if (octal === undefined) return undefined;
  const value = Number.parseInt(octal, 8);
  return value > 255 ? undefined : { code: value, end: at + 4, isByte: value > 0x7f };
}

function hexLetter(digits: string, count: number, end: number): UnescapedLetter | undefined {
  if (digits.length !== count || !/^[0-9a-fA-F]+$/.test(digits)) return undefined;
  const code = Number.parseInt(digits, 16);
  if (count === 2) return { code, end, isByte: code > 0x7f };
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
  return { code, end, isByte: false };
}

/** `U+0041 'A'`, as `%#U` prints a letter. */
export function unicodeName(code: number): string {
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const letter = String.fromCodePoint(code);
  return isPrintable(letter) ? `${name} '${letter}'` : name;
}
