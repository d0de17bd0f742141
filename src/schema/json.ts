// Reading JSON that strangers sent. V8's own parser does the work; one quick scan before it bounds the depth and counts
// the keys, so that duplicates (which the parser silently drops) show up as a difference, and only then cost anything.
//
// The V8 of Node 24 and 26 can return wrong keys: where a key is written with an escape and a key that contains a
// backslash was met before at the same place, it may take the one for the other (`{"\\n":1}` comes back as `{"\\\\":1}`).
// What it invents always contains a backslash, so texts with escaped keys are looked over after parsing, and those in
// which a backslash belongs are read by a slow parser of ours. See docs/decisions/0005-json-keys.md.
import { setOwn } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import { jsonSyntaxProblem } from "./json-syntax.ts";

/** Deeper than any object of the API, shallower than what could exhaust the stack of the functions that walk it. */
export const maxDepth = 500;

export interface TypeMismatch {
  readonly value: unknown;
  readonly type: string;
}

/** In what the bytes were to be, where they are nothing of the kind. */
type Syntax = "json" | "protobuf";

type DecodeErrorOptions = ErrorOptions & { readonly syntax?: Syntax; readonly mismatch?: TypeMismatch };

/** The text, or the value in it, is not what it should be. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /** Path of the field at fault, where there is one. */
  readonly field: string | undefined;
  /** Set if the bytes cannot be read at all. */
  readonly syntax: Syntax | undefined;
  /** The value and Go's name of the type it does not have, where that is what is wrong. */
  readonly mismatch: TypeMismatch | undefined;

  constructor(message: string, field?: string, options: DecodeErrorOptions = {}) {
    super(message, options);
    this.field = field;
    this.syntax = options.syntax;
    this.mismatch = options.mismatch;
  }
}

export interface ParsedJson {
  readonly value: unknown;
  /** How many keys the text has in all objects together, duplicates included. */
  readonly keys: number;
}

/** A body has more fields, keys and items than it may have. */
export const tooManyValues = (most: number): ApiError =>
  new ApiError({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `Request entity too large: limit is ${most} fields, keys and list items`,
  });

/** Throws ApiError 413 if a value has more fields, keys and items than a text of it might have. */
export function refuseManyValues(value: unknown, most: number): void {
  let left = most;
  const count = (inner: unknown): void => {
    if (typeof inner !== "object" || inner === null) return;
    left--;
    let members = 0;
    const surplus = Array.isArray(inner) ? 1 : 2;
    for (const key in inner) {
      left -= ++members > manyMembers ? 1 + surplus : 1;
      if (left < 0) throw tooManyValues(most);
      count((inner as Record<string, unknown>)[key]);
    }
  };
  count(value);
}

/**
 * `keepsWritten` leaves whole numbers that are not written as integers as `WrittenNumber`. Throws ApiError 413 if there are more
 * than `mostValues` fields and items.
 */
export function parseJson(
  text: string,
  { keepsWritten = false, mostValues = Number.POSITIVE_INFINITY } = {},
): ParsedJson {
  const { keys, values, escapedKeys, backslashKeys, fractions } = scan(text);
  if (values > mostValues) throw tooManyValues(mostValues);
  let value: unknown;
  try {
    value = keepsWritten && fractions ? JSON.parse(text, keepWritten) : JSON.parse(text);
  } catch {
    // V8's own words name the place; upstream's name the character and what was expected there.
    throw new DecodeError(jsonSyntaxProblem(text) ?? "invalid JSON", undefined, { syntax: "json" });
  }
  if (backslashKeys || (escapedKeys && hasBackslashKey(value))) value = readSlowly(text);
  return { value, keys };
}

/** A number that is written as a fraction or with an exponent and is whole, so no integer for Go, or is beyond all numbers. */
export class WrittenNumber extends Number {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }
}

const keepWritten = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && isWholeOrEndless(value) && context?.source !== undefined && /[.eE]/.test(context.source)
    ? new WrittenNumber(context.source)
    : value;

const isWholeOrEndless = (value: number): boolean => Number.isInteger(value) || !Number.isFinite(value);

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

interface ScanResult {
  readonly keys: number;
  /** Fields, items and collections; those of a large list count twice, those of a large map three times. */
  readonly values: number;
  /** Whether any key is written with an escape, and whether any then contains a backslash. */
  readonly escapedKeys: boolean;
  readonly backslashKeys: boolean;
  /** Whether any number has a fraction or an exponent. */
  readonly fractions: boolean;
}

/**
 * Beyond so many, an item of a list counts twice and a key of a map three times: texts that were never met before cost more than fields
 * do, at every stage. What people make large, definitions of custom resources, has many small collections.
 */
export const manyMembers = 1000;

/** Counts keys and refuses depth. Knows just enough JSON for that; what is malformed is left to the parser. */
function scan(text: string): ScanResult {
  let depth = 0;
  let keys = 0;
  let values = 0;
  let escapedKeys = false;
  let backslashKeys = false;
  let fractions = false;
  let start = 0; // of the string met last, which a ":" makes a key
  let end = 0;
  let backslashAt = nextBackslash(text, 0);
  const around: number[] = []; // members of the collections that are open
  let members = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case quote:
        start = i;
        end = endOfString(text, i);
        i = end;
        break;
      case 0x3a: // ":" outside a string always follows a key
        keys++;
        if (members >= manyMembers) values++;
        if (backslashAt < start) backslashAt = nextBackslash(text, start);
        if (backslashAt < end) {
          escapedKeys = true;
          backslashKeys ||= /\\(\\|u005c)/i.test(text.slice(start, end));
        }
        break;
      case 0x2c: // ,
        values += ++members < manyMembers ? 1 : 2;
        break;
      case 0x7b: // {
      case 0x5b: // [
        values++;
        if (++depth > maxDepth) throw new DecodeError(`nested more than ${maxDepth} levels deep at offset ${i}`);
        around.push(members);
        members = 0;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        members = around.pop() ?? 0;
        break;
      case 0x2e: // "." outside a string is in a number
        fractions = true;
        break;
      case 0x65: // e
      case 0x45: // E
        fractions ||= isDigit(text.charCodeAt(i - 1));
        break;
    }
  }
  return { keys, values, escapedKeys, backslashKeys, fractions };
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

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

/**
 * The path of each key in the order in which they stand, `spec.replicas` or `items[0].metadata`, and whether the object had it before;
 * slow, for texts in which keys stand twice.
 */
export function* keyPaths(text: string): Iterable<{ readonly path: string; readonly isRepeated: boolean }> {
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
        yield { path: here(), isRepeated: top.keys.has(top.key) };
        top.keys.add(top.key);
      }
      i = end;
    }
  }
}

function hasBackslashKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBackslashKey);
  for (const key in value)
    if (key.includes("\\") || hasBackslashKey((value as Record<string, unknown>)[key])) return true;
  return false;
}

/** Reads a text that is known to be valid, key by key; V8 sees only single strings and numbers. */
export function readSlowly(text: string, numberOf?: (value: number, written: string) => unknown): unknown {
  const token = /\s*("(?:[^"\\]|\\.)*"|[^\s[\]{},:"]+|[[\]{},:])/g;
  const next = (): string => (token.exec(text)?.[1] as string) ?? "";
  const read = (first: string): unknown => {
    if (first === "[") {
      const items: unknown[] = [];
      for (let part = next(); part !== "]"; part = next()) if (part !== ",") items.push(read(part));
      return items;
    }
    if (first !== "{") {
      const value: unknown = JSON.parse(first);
      return numberOf && typeof value === "number" ? numberOf(value, first) : value;
    }
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
