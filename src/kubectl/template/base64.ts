// Base64 as Go's StdEncoding reads it: line breaks are skipped, padding is needed, and the error says where it went wrong.
import { textOf } from "../go/value.ts";
import { FunctionError } from "./error.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export function decodeBase64(text: string): string {
  const bytes: number[] = [];
  let bits = 0;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] as string;
    if (letter === "\n" || letter === "\r") continue;
    if (letter === "=") {
      checkPadding(text, at, count);
      if (count === 2) bytes.push(bits >> 4);
      else bytes.push(bits >> 10, (bits >> 2) & 0xff);
      return textOf(Uint8Array.from(bytes));
    }
    const value = alphabet.indexOf(letter);
    if (value < 0) throw corrupt(at);
    bits = (bits << 6) | value;
    if (++count < 4) continue;
    bytes.push(bits >> 16, (bits >> 8) & 0xff, bits & 0xff);
    bits = 0;
    count = 0;
  }
  if (count > 0) throw corrupt(text.length - count);
  return textOf(Uint8Array.from(bytes));
}

/** One `=` after three letters, or two after two, and nothing else behind them. */
function checkPadding(text: string, at: number, count: number): void {
  if (count < 2) throw corrupt(at);
  const isBreak = (letter: string | undefined) => letter === "\n" || letter === "\r";
  let next = at + 1;
  if (count === 2) {
    while (isBreak(text[next])) next++;
    if (next >= text.length) throw corrupt(text.length);
    if (text[next] !== "=") throw corrupt(next - 1);
    next++;
  }
  while (isBreak(text[next])) next++;
  if (next < text.length) throw corrupt(next);
}

const corrupt = (at: number): FunctionError =>
  new FunctionError(`base64 decode failed: illegal base64 data at input byte ${at}`);
