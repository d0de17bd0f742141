// Reading JSON that strangers sent. V8's own parser does the work; one quick scan before it bounds the depth and counts
// the keys, so that duplicates (which the parser silently drops) show up as a difference, and only then cost anything.
//
// The V8 of Node 24 and 26 can return wrong keys: where a key is written with an escape and a key that contains a
// backslash was met before at the same place, it may take the one for the other (`{"\\n":1}` comes back as `{"\\\\":1}`).
// What it invents always contains a backslash, so texts with escaped keys are looked over after parsing, and those in
// which a backslash belongs are read by a slow parser of ours. See docs/decisions/0005-json-keys.md.
import { setOwn } from "#base/collections.ts";
import { jsonSyntaxProblem } from "./json-syntax.ts";

/** Deeper than any object of the API, shallower than what could exhaust the stack of the functions that walk it. */
export const maxDepth = 500;

/** The text, or the value in it, is not what it should be. The message names the place and the reason. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /** Path of the field at fault, where there is one. */
  readonly field: string | undefined;
  /** Whether the text is no JSON at all. */
  readonly isSyntax: boolean;

  constructor(message: string, field?: string, options?: ErrorOptions & { readonly isSyntax?: boolean }) {
    super(message, options);
    this.field = field;
    this.isSyntax = options?.isSyntax ?? false;
  }
}

export interface ParsedJson {
  readonly value: unknown;
  /** How many keys the text has in all objects together, duplicates included. */
  readonly keys: number;
}

export function parseJson(text: string): ParsedJson {
  const { keys, escapedKeys, backslashKeys } = scan(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // V8's own words name the place; upstream's name the character and what was expected there.
    throw new DecodeError(jsonSyntaxProblem(text) ?? "invalid JSON", undefined, { isSyntax: true });
  }
  if (backslashKeys || (escapedKeys && hasBackslashKey(value))) value = readSlowly(text);
  return { value, keys };
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The text of a body; a byte order mark is dropped. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new DecodeError("the body is not valid UTF-8"); // the decoder's own error says no more than that
  }
}

const quote = 0x22;
const backslash = 0x5c;

interface Scanned {
  readonly keys: number;
  /** Whether any key is written with an escape, and whether any then contains a backslash. */
  readonly escapedKeys: boolean;
  readonly backslashKeys: boolean;
}

/** Counts keys and refuses depth. Knows just enough JSON for that; what is malformed is left to the parser. */
function scan(text: string): Scanned {
  let depth = 0;
  let keys = 0;
  let escapedKeys = false;
  let backslashKeys = false;
  let start = 0; // of the string met last, which a ":" makes a key
  let end = 0;
  let backslashAt = nextBackslash(text, 0);
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case quote:
        start = i;
        end = endOfString(text, i);
        i = end;
        break;
      case 0x3a: // ":" outside a string always follows a key
        keys++;
        if (backslashAt < start) backslashAt = nextBackslash(text, start);
        if (backslashAt < end) {
          escapedKeys = true;
          backslashKeys ||= /\\(\\|u005c)/i.test(text.slice(start, end));
        }
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxDepth) throw new DecodeError(`nested more than ${maxDepth} levels deep at offset ${i}`);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
    }
  }
  return { keys, escapedKeys, backslashKeys };
}

function nextBackslash(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at < 0 ? text.length : at;
}

/** Index of the quote that ends the string starting at `start`; the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before--;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

/** Paths of all keys that stand twice in one object, `spec.replicas` or `items[0].metadata`; slow, for when there are some. */
export function duplicateKeys(text: string): readonly string[] {
  const found: string[] = [];
  const open: { readonly path: string; readonly keys: Set<string> | undefined; index: number; key: string }[] = [];
  const here = () => {
    const top = open.at(-1);
    if (!top) return "";
    return top.keys ? (top.path === "" ? top.key : `${top.path}.${top.key}`) : `${top.path}[${top.index}]`;
  };
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    const top = open.at(-1);
    if (character === "{" || character === "[")
      open.push({ path: here(), keys: character === "{" ? new Set() : undefined, index: 0, key: "" });
    else if (character === "}" || character === "]") open.pop();
    else if (character === "," && top) top.index++;
    else if (character === '"') {
      const end = endOfString(text, i);
      if (top?.keys && /^\s*:/.test(text.slice(end + 1, end + 64))) {
        top.key = JSON.parse(text.slice(i, end + 1));
        if (top.keys.has(top.key)) found.push(here());
        top.keys.add(top.key);
      }
      i = end;
    }
  }
  return found;
}

function hasBackslashKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBackslashKey);
  for (const key in value)
    if (key.includes("\\") || hasBackslashKey((value as Record<string, unknown>)[key])) return true;
  return false;
}

/** Reads a text that is known to be valid, key by key; V8 sees only single strings and numbers. */
function readSlowly(text: string): unknown {
  const token = /\s*("(?:[^"\\]|\\.)*"|[^\s[\]{},:"]+|[[\]{},:])/g;
  const next = (): string => (token.exec(text)?.[1] as string) ?? "";
  const read = (first: string): unknown => {
    if (first === "[") {
      const items: unknown[] = [];
      for (let part = next(); part !== "]"; part = next()) if (part !== ",") items.push(read(part));
      return items;
    }
    if (first !== "{") return JSON.parse(first);
    const object: Record<string, unknown> = {};
    for (let part = next(); part !== "}"; part = next()) {
      if (part === ",") continue;
      next();
      setOwn(object, JSON.parse(part), read(next()));
    }
    return object;
  };
  return read(next());
}
