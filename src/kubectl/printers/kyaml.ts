// -o kyaml: YAML that reads like JSON, so that indentation and bare words cannot mislead (upstream: sigs.k8s.io/yaml/kyaml).
import { isObject } from "#base/is-object.ts";
import { isSexagesimal, isTimestamp } from "#wire/yaml/resolve.ts";
import { isPrintable } from "../go/quote.ts";
import { compareText } from "../go/value.ts";
import type { ObjectPrinter } from "./printer.ts";

/** Every object begins with a line of dashes. */
export const kyamlPrinter = (): ObjectPrinter => ({ print: (object, write) => write(`---\n${kyaml(object, 0)}\n`) });

const indent = (level: number): string => "  ".repeat(level);

export function kyaml(value: unknown, level: number): string {
  if (typeof value === "string") return quoted(value, level + 1);
  if (Array.isArray(value)) return sequence(value, level);
  if (!isObject(value)) return String(value ?? null);
  const keys = Object.keys(value).toSorted(compareText);
  if (keys.length === 0) return "{}";
  const lines = keys.map((key) => `${indent(level + 1)}${keyText(key)}: ${kyaml(value[key], level + 1)},\n`);
  return `{\n${lines.join("")}${indent(level)}}`;
}

/** Brackets of objects and lists stand together if there is nothing else in the list. */
function sequence(items: readonly unknown[], level: number): string {
  if (items.length === 0) return "[]";
  if (items.every((item) => typeof item === "object" && item !== null))
    return `[${items.map((item) => kyaml(item, level)).join(", ")}]`;
  return `[\n${items.map((item) => `${indent(level + 1)}${kyaml(item, level + 1)},\n`).join("")}${indent(level)}]`;
}

const keyText = (key: string): string => (needsQuotes(key) ? quoted(key, 1) : key);

function needsQuotes(text: string): boolean {
  if (!/^[\p{L}\p{N}_]([\p{L}\p{N}_./-]*[\p{L}\p{N}_])?$/u.test(text)) return true;
  if (/^(null|~|true|false|[tfyn]|yes|no|on|off|[+-]?\.inf|\.nan)$/i.test(text)) return true;
  const plain = text.replaceAll("_", "");
  const isNumber = /^[+-]?(\d+|0x[\da-f]+|0o?[0-7]+|0b[01]+|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)$/i.test(
    plain,
  );
  return isNumber || isSexagesimal(text) || isTimestamp(text);
}

/** A text of several lines is folded, one line of it on each. */
function quoted(text: string, level: number): string {
  if (!text.includes("\n")) return `"${[...text].map(escaped).join("")}"`;
  let written = '"\\\n';
  for (const letter of text) {
    if (written.endsWith("\n")) written += indent(level) + (letter !== "\n" && /\s/.test(letter) ? "\\" : " ");
    written += letter === "\n" ? "\\n\\\n" : escaped(letter);
  }
  return `${written}${written.endsWith("\n") ? "" : "\\\n"}${indent(level)}"`;
}

const named: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\v": "\\v",
  "\0": "\\0",
  "\u001b": "\\e",
  "\u0085": "\\N",
  "\u00a0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function escaped(letter: string): string {
  if (letter === '"' || letter === "\\") return `\\${letter}`;
  if (letter === "\t" || isPrintable(letter)) return letter;
  const known = named[letter];
  if (known !== undefined) return known;
  const code = letter.codePointAt(0) ?? 0;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}
