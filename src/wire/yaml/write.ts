// JSON values to YAML, letter for letter as kubectl prints it: two spaces, lists not indented under their key, keys in Go's order, lines
// folded after 80 columns, and quotes exactly where Go's yaml.v2 puts them.
import { atOnce, type StepwiseWork } from "#base/breathe.ts";
import { formatFloat } from "./float.ts";
import { compareKeys } from "./key-order.ts";
import { isSexagesimal, isTimestamp, resolvePlain } from "./resolve.ts";

const bestWidth = 80;
const step = 2;
/** Longer keys, in bytes, do not fit on a line with their value. */
const longestKey = 128;

export const printYaml = (value: unknown): string => atOnce(printYamlSteps(value));

/** The same, to be interrupted between the items of lists and maps. */
export function* printYamlSteps(value: unknown): StepwiseWork<string> {
  const printer = new Printer();
  yield* printer.node(value, { indent: -step, isKey: false, inMapping: false });
  yield;
  return printer.finish();
}

/** It can be interrupted after this many items. A yield passes through all generators around it, so one per item would be slow. */
const itemsPerStep = 128;

interface WritePosition {
  /** Indentation of the collection around. */
  readonly indent: number;
  readonly isKey: boolean;
  /** Directly the value of a key: a list is then not indented. */
  readonly inMapping: boolean;
}

class Printer {
  #out = "";
  #column = 0;
  /** A block of text ended its last line itself. */
  #isOnNewLine = false;
  #items = 0;

  finish(): string {
    return this.#out.endsWith("\n") ? this.#out : `${this.#out}\n`;
  }

  *node(value: unknown, place: WritePosition): StepwiseWork<void> {
    if (Array.isArray(value)) yield* this.#list(value, place);
    else if (isObject(value)) yield* this.#map(value, place);
    else this.#scalar(value, place);
  }

  *#list(items: readonly unknown[], { indent, inMapping }: WritePosition): StepwiseWork<void> {
    if (items.length === 0) {
      this.#write("[]");
      return;
    }
    const inner = inMapping ? indent : indent + step;
    for (const [i, item] of items.entries()) {
      this.#begin(inner, i === 0 && !inMapping);
      this.#write("- ");
      const place = { indent: inner, isKey: false, inMapping: false };
      if (isObject(item)) yield* this.node(item, place);
      else this.#scalar(item, place);
      if (++this.#items % itemsPerStep === 0) yield;
    }
  }

  *#map(object: Readonly<Record<string, unknown>>, { indent, inMapping }: WritePosition): StepwiseWork<void> {
    const keys = Object.keys(object).filter((key) => object[key] !== undefined);
    if (keys.length === 0) {
      this.#write("{}");
      return;
    }
    const inner = indent + step;
    for (const [i, key] of keys.sort(compareKeys).entries()) {
      this.#begin(inner, i === 0 && !inMapping);
      const place = this.#key(key, object[key], inner);
      if (isObject(object[key])) yield* this.node(object[key], place);
      else this.#scalar(object[key], place);
      if (++this.#items % itemsPerStep === 0) yield;
    }
  }

  /** All up to the value, and the place of that. */
  #key(key: string, value: unknown, indent: number): WritePosition {
    const isSimple = !/[\n\r\x85\u2028\u2029]/.test(key) && utf8Length(key) <= longestKey;
    if (isSimple) {
      this.#scalar(key, { indent, isKey: true, inMapping: true });
      this.#write(":");
    } else {
      this.#write("? ");
      this.#scalar(key, { indent, isKey: false, inMapping: true });
      this.#begin(indent, false);
      this.#write(":");
    }
    if (!isSimple || !isObject(value) || isEmpty(value)) this.#write(" ");
    return { indent, isKey: false, inMapping: isSimple };
  }

  #scalar(value: unknown, { indent, isKey }: WritePosition): void {
    if (typeof value === "string") this.#string(value, Math.max(indent + step, step), isKey);
    else if (typeof value === "number") this.#write(numberText(value));
    else if (typeof value === "bigint") this.#write(String(value));
    else this.#write(value === undefined ? "null" : String(value));
  }

  #string(text: string, indent: number, isKey: boolean): void {
    const style = styleOf(text, isKey);
    if (style === "literal") this.#literal(text, indent);
    else if (style === "double") this.#double(text, indent, isKey);
    else {
      const quote = style === "single" ? "'" : "";
      this.#write(quote);
      this.#folded(text, { indent, isKey, isQuoted: style === "single" });
      this.#write(quote);
    }
  }

  /** Text as it is; a line that is too long goes on below at the next single space. */
  #folded(text: string, { indent, isKey, isQuoted }: { indent: number; isKey: boolean; isQuoted: boolean }): void {
    const shown = isQuoted ? text.replaceAll("'", "''") : text;
    if (isKey) this.#write(shown);
    else this.#fold(shown, indent, (at) => shown[at + 1] !== " " && (!isQuoted || isInside(shown, at)));
  }

  /** Here a line may also go on below at the first of many spaces: the second is then escaped. */
  #double(text: string, indent: number, isKey: boolean): void {
    const shown = text.replaceAll(escapable, escaped);
    this.#write('"');
    if (isKey) this.#write(shown);
    else this.#fold(shown, indent, (at) => isInside(shown, at));
    this.#write('"');
  }

  /** Goes on below instead of writing a space, where the line is too long already. */
  #fold(text: string, indent: number, mayFold: (at: number) => boolean): void {
    let start = 0;
    for (;;) {
      let space = text.indexOf(" ", start + Math.max(0, bestWidth + 1 - this.#column));
      while (space >= 0 && (text[space - 1] === " " || !mayFold(space))) space = text.indexOf(" ", space + 1);
      if (space < 0) break;
      this.#write(text.slice(start, space));
      this.#begin(indent, false);
      start = space + 1;
      if (text[start] === " ") this.#write("\\");
    }
    this.#write(text.slice(start));
  }

  #literal(text: string, indent: number): void {
    const hint = /^[ \n]/.test(text) ? String(step) : "";
    const chomp = !text.endsWith("\n") ? "-" : text === "\n" || text.endsWith("\n\n") ? "+" : "";
    const lines = text.split("\n").map((line) => (line === "" ? "" : " ".repeat(indent) + line));
    this.#out += `|${hint}${chomp}\n${lines.join("\n")}`;
    this.#isOnNewLine = text.endsWith("\n");
  }

  /** Goes to the start of a line, unless what was written stands exactly there. */
  #begin(indent: number, mayContinue: boolean): void {
    if (this.#out === "" || (mayContinue && this.#column === indent && !this.#isOnNewLine)) return;
    this.#out += (this.#isOnNewLine ? "" : "\n") + " ".repeat(indent);
    this.#column = indent;
    this.#isOnNewLine = false;
  }

  /** Letters of two units are always escaped, so that each unit takes a column. */
  #write(text: string): void {
    this.#out += text;
    this.#column += text.length;
  }
}

type Style = "plain" | "single" | "double" | "literal";

function styleOf(text: string, isKey: boolean): Style {
  const { isPlainSafe, isSingleSafe, isBlockSafe } = analyze(text);
  if (text.includes("\n")) return isBlockSafe && !isKey ? "literal" : "double";
  if (typeof resolvePlain(text) !== "string" || isTimestamp(text) || isSexagesimal(text)) return "double";
  if (isKey && text === "<<") return "double";
  if (isPlainSafe) return "plain";
  return isSingleSafe ? "single" : "double";
}

/**
 * Which styles can carry a text, by what stands in it. Line breaks other than \n, which readers of YAML 1.1 and 1.2 disagree
 * about, are always escaped; that, and a quoted key "<<", is where this differs from Go.
 */
function analyze(text: string): { isPlainSafe: boolean; isSingleSafe: boolean; isBlockSafe: boolean } {
  const isOdd = text.includes(" \n") || unprintable.test(text);
  const hasIndicator =
    /^(?:---|\.\.\.)/.test(text) ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) ||
    /^[?:-](?: |\n|$)/.test(text) ||
    /:(?: |$)/.test(text.slice(1)) ||
    /[ \n]#/.test(text);
  return {
    isPlainSafe: !isOdd && !hasIndicator && !text.includes("\n") && !/^ | $/.test(text),
    isSingleSafe: !isOdd && !text.includes("\n "),
    isBlockSafe: !isOdd && !text.endsWith(" "),
  };
}

/** What Go's YAML takes for printable: no tab, and nothing beyond the basic plane. */
const printable = "\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd";
const unprintable = new RegExp(`[^\\n${printable}]`);
const escapable = new RegExp(`["\\\\]|[^${printable}]`, "gu");
const isInside = (text: string, at: number): boolean => at > 0 && at < text.length - 1;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}

const shortEscapes: Readonly<Record<string, string>> = {
  "\0": "0",
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\x1b": "e",
  '"': '"',
  "\\": "\\",
  "\x85": "N",
  "\xa0": "_",
  "\u2028": "L",
  "\u2029": "P",
};

const known = new Map<string, string>();
const mostKnown = 1000;

function escaped(letter: string): string {
  const before = known.get(letter);
  if (before !== undefined) return before;
  const text = escapeOf(letter);
  if (known.size < mostKnown) known.set(letter, text);
  return text;
}

function escapeOf(letter: string): string {
  const short = shortEscapes[letter];
  if (short !== undefined) return `\\${short}`;
  const code = (letter.codePointAt(0) as number).toString(16).toUpperCase();
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}

/** As in JSON's text, where whole numbers are integers as far as Go's have room for them. */
const numberText = (value: number): string =>
  Number.isInteger(value) && value > -(2 ** 63) && value < 2 ** 64 ? String(value) : formatFloat(value);

const utf8Length = (text: string): number => {
  let length = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0) as number;
    length += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return length;
};
