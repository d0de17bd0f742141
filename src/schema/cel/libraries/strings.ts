// Functions of strings beyond those of the language. Follows cel-go's ext/strings.go, version 2. Places in strings count code points.
import { fn, global, type Library, member } from "../declarations.ts";
import { dynType, intType, listType, stringType } from "../types.ts";
import { fail } from "../values/failure.ts";
import type { Int } from "../values/int.ts";
import { elementsOf, type ListValue, listOf } from "../values/list.ts";
import { formatText } from "./string-format.ts";

/** An index that is no small number cannot be inside of any string. */
function characterIndex(index: Int): number {
  return typeof index === "number" ? index : Number(index);
}

function charAt(text: string, index: Int): string {
  const characters = [...text];
  const at = characterIndex(index);
  if (at < 0 || at > characters.length) fail(`index out of range: ${index}`);
  return characters[at] ?? "";
}

function isAt(characters: readonly string[], part: readonly string[], at: number): boolean {
  return part.every((character, i) => characters[at + i] === character);
}

function indexOf(text: string, part: string, from: Int = 0): Int {
  const start = characterIndex(from);
  const characters = [...text];
  if (start < 0 || (start > 0 && start >= characters.length && part !== "")) {
    if (start < 0 || start > characters.length) fail(`index out of range: ${from}`);
  }
  if (part === "") return start;
  const wanted = [...part];
  for (let at = start; at <= characters.length - wanted.length; at++) if (isAt(characters, wanted, at)) return at;
  return -1;
}

function lastIndexOf(text: string, part: string, from?: Int): Int {
  const characters = [...text];
  const start = from === undefined ? characters.length : characterIndex(from);
  if (start < 0 || start > characters.length) fail(`index out of range: ${from}`);
  if (part === "") return start;
  const wanted = [...part];
  for (let at = Math.min(start, characters.length - wanted.length); at >= 0; at--)
    if (isAt(characters, wanted, at)) return at;
  return -1;
}

function substring(text: string, from: Int, to?: Int): string {
  const characters = [...text];
  const start = characterIndex(from);
  const end = to === undefined ? characters.length : characterIndex(to);
  if (start > end)
    fail(to === undefined ? `index out of range: ${from}` : `invalid substring range. start: ${from}, end: ${to}`);
  if (start < 0 || start > characters.length) fail(`index out of range: ${from}`);
  if (end < 0 || end > characters.length) fail(`index out of range: ${to}`);
  return characters.slice(start, end).join("");
}

function replace(text: string, old: string, replacement: string, limit: Int = -1): string {
  if (limit < 0)
    return old === ""
      ? betweenAll(text, replacement, Number.POSITIVE_INFINITY)
      : text.replaceAll(old, () => replacement);
  if (old === "") return betweenAll(text, replacement, Number(limit));
  const parts = text.split(old);
  let result = parts[0] ?? "";
  for (const [i, part] of parts.slice(1).entries()) result += (i < limit ? replacement : old) + part;
  return result;
}

/** Go replaces nothing at all before each character, and after the last. */
function betweenAll(text: string, inserted: string, limit: number): string {
  const characters = [...text];
  let result = "";
  for (const [i, character] of characters.entries()) result += (i < limit ? inserted : "") + character;
  return characters.length < limit ? result + inserted : result;
}

function split(text: string, separator: string, limit: Int = -1): ListValue {
  const parts = separator === "" ? [...text] : text.split(separator);
  if (limit < 0 || parts.length <= limit) return listOf(parts);
  if (limit === 0) return listOf([]);
  const kept = parts.slice(0, Number(limit) - 1);
  return listOf([...kept, parts.slice(kept.length).join(separator)]);
}

function join(list: ListValue, separator = ""): string {
  const parts: string[] = [];
  for (const element of elementsOf(list)) parts.push(typeof element === "string" ? element : fail("no such overload"));
  return parts.join(separator);
}

const lower = (text: string) => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
const upper = (text: string) => text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());

const trimmed =
  /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/g;

const escapes: ReadonlyMap<string, string> = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

export function quote(text: string): string {
  let quoted = "";
  for (const character of text.toWellFormed()) quoted += escapes.get(character) ?? character;
  return `"${quoted}"`;
}

const strings2 = [stringType, stringType];

export const strings: Library = {
  functions: [
    fn("charAt", member("string_char_at_int", [stringType, intType], stringType, charAt)),
    fn(
      "indexOf",
      member("string_index_of_string", strings2, intType, indexOf),
      member("string_index_of_string_int", [...strings2, intType], intType, indexOf),
    ),
    fn(
      "lastIndexOf",
      member("string_last_index_of_string", strings2, intType, lastIndexOf),
      member("string_last_index_of_string_int", [...strings2, intType], intType, lastIndexOf),
    ),
    fn(
      "substring",
      member("string_substring_int", [stringType, intType], stringType, substring),
      member("string_substring_int_int", [stringType, intType, intType], stringType, substring),
    ),
    fn(
      "replace",
      member("string_replace_string_string", [...strings2, stringType], stringType, replace),
      member("string_replace_string_string_int", [...strings2, stringType, intType], stringType, replace),
    ),
    fn(
      "split",
      member("string_split_string", strings2, listType(stringType), split),
      member("string_split_string_int", [...strings2, intType], listType(stringType), split),
    ),
    fn(
      "join",
      member("list_join", [listType(stringType)], stringType, join),
      member("list_join_string", [listType(stringType), stringType], stringType, join),
    ),
    fn("lowerAscii", member("string_lower_ascii", [stringType], stringType, lower)),
    fn("upperAscii", member("string_upper_ascii", [stringType], stringType, upper)),
    fn(
      "trim",
      member("string_trim", [stringType], stringType, (text: string) => text.replaceAll(trimmed, "")),
    ),
    fn("strings.quote", global("strings_quote", [stringType], stringType, quote)),
    fn("format", member("string_format", [stringType, listType(dynType)], stringType, formatText)),
  ],
};
