// JSON values to YAML, letter for letter as kubectl prints it: two spaces, lists not indented under their key, keys in Go's order, lines
// folded after 80 columns, and quotes exactly where Go's yaml.v2 puts them.
import { formatFloat } from "./float.ts";
import { compareKeys } from "./key-order.ts";
import { isSexagesimal, isTimestamp, resolvePlain } from "./resolve.ts";

const bestWidth = 80;
const step = 2;
/** Longer keys, in bytes, do not fit on a line with their value. */
const longestKey = 128;

export function printYaml(value: unknown): string {
  const printer = new Printer();
  printer.node(value, { indent: -step, isKey: false, inMapping: false });
  return printer.finish();
}

interface Place {
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

  finish(): string {
    return this.#out.endsWith("\n") ? this.#out : `${this.#out}\n`;
  }

  node(value: unknown, place: Place): void {
    if (Array.isArray(value)) this.#list(value, place);
    else if (typeof value === "object" && value !== null) this.#map(value as Record<string, unknown>, place);
    else this.#scalar(value, place);
  }

  #list(items: readonly unknown[], { indent, inMapping }: Place): void {
    if (items.length === 0) {
      this.#write("[]");
      return;
    }
    const inner = inMapping ? indent : indent + step;
    for (const [i, item] of items.entries()) {
      this.#begin(inner, i === 0 && !inMapping);
      this.#write("- ");
      this.node(item, { indent: inner, isKey: false, inMapping: false });
    }
  }

  #map(object: Readonly<Record<string, unknown>>, { indent, inMapping }: Place): void {
    const keys = Object.keys(object).filter((key) => object[key] !== undefined);
    if (keys.length === 0) {
      this.#write("{}");
      return;
    }
    const inner = indent + step;
    for (const [i, key] of keys.sort(compareKeys).entries()) {
      this.#begin(inner, i === 0 && !inMapping);
      this.#entry(key, object[key], inner);
    }
  }

  #entry(key: string, value: unknown, indent: number): void {
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
    const opensBlock = typeof value === "object" && value !== null && Object.keys(value).length > 0;
    if (!opensBlock || !isSimple) this.#write(" ");
    this.node(value, { indent, isKey: false, inMapping: isSimple });
  }

  #scalar(value: unknown, { indent, isKey }: Place): void {
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
    if (!text.includes(" ")) {
      this.#write(isQuoted ? text.replaceAll("'", "''") : text); // as certificates are, and long
      return;
    }
    const letters = [...text];
    let isAfterSpace = false;
    for (const [i, letter] of letters.entries()) {
      const isInside = !isQuoted || (i > 0 && i < letters.length - 1);
      const folds = letter === " " && !isKey && !isAfterSpace && this.#column > bestWidth && isInside;
      if (folds && letters[i + 1] !== " ") this.#begin(indent, false);
      else this.#write(isQuoted && letter === "'" ? "''" : letter);
      isAfterSpace = letter === " ";
    }
  }

  #double(text: string, indent: number, isKey: boolean): void {
    const letters = [...text];
    let isAfterSpace = false;
    this.#write('"');
    for (const [i, letter] of letters.entries()) {
      if (letter !== " ") {
        this.#write(needsEscape(letter) ? escaped(letter) : letter);
        isAfterSpace = false;
        continue;
      }
      const isInside = i > 0 && i < letters.length - 1;
      if (!isKey && !isAfterSpace && this.#column > bestWidth && isInside) {
        this.#begin(indent, false);
        if (letters[i + 1] === " ") this.#write("\\");
      } else this.#write(letter);
      isAfterSpace = true;
    }
    this.#write('"');
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

  #write(text: string): void {
    this.#out += text;
    this.#column += text.length === 1 ? 1 : [...text].length;
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
  const isOdd = text.includes(" \n") || [...text].some((letter) => !isPrintable(letter));
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
const isPrintable = (letter: string): boolean => {
  const code = letter.codePointAt(0) as number;
  if (code < 0xa0) return code === 0x0a || (code >= 0x20 && code <= 0x7e);
  if (code === 0x2028 || code === 0x2029 || code === 0xfeff) return false;
  return code < 0xd800 || (code >= 0xe000 && code < 0xfffe);
};

const needsEscape = (letter: string): boolean =>
  letter === '"' || letter === "\\" || letter === "\n" || !isPrintable(letter);

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

function escaped(letter: string): string {
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
