// What is wrong with a text that is not JSON, in the words of Go's parser: clients and people know them. Slow; for when it is known
// that something is wrong.

/** Says what is wrong at the first place where something is; undefined if nothing is. */
export function jsonSyntaxProblem(text: string): string | undefined {
  try {
    const scanner = new Scanner(text);
    scanner.value();
    scanner.end();
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

class Problem extends Error {}

const literals: Readonly<Record<string, string>> = { t: "true", f: "false", n: "null" };

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Walks with a stack of its own: the text may be nested deeper than ours. */
  value(): void {
    const open: ("{" | "[")[] = [];
    this.#beginning(open);
    while (open.length > 0) {
      const next = this.#next();
      const inside = open.at(-1);
      if (next === (inside === "{" ? "}" : "]")) {
        this.#at++;
        open.pop();
      } else if (next !== ",") this.#fail(inside === "{" ? "after object key:value pair" : "after array element");
      else {
        this.#at++;
        if (inside === "{") this.#key();
        this.#beginning(open);
      }
    }
  }

  end(): void {
    if (this.#skip() < this.#text.length) this.#fail("after top-level value");
  }

  /** A value up to where the first one inside it is complete, if there is one. */
  #beginning(open: ("{" | "[")[]): void {
    for (let first = this.#next(); first === "{" || first === "["; first = this.#next()) {
      this.#at++;
      if (this.#next() === (first === "{" ? "}" : "]")) {
        this.#at++;
        return;
      }
      open.push(first);
      if (first === "{") this.#key();
    }
    this.#scalar(this.#here());
  }

  #scalar(first: string): void {
    const literal = literals[first];
    if (first === '"') this.#string();
    else if (first === "-" || isDigit(first)) this.#number();
    else if (literal !== undefined) this.#literal(literal);
    else this.#fail("looking for beginning of value");
  }

  #key(): void {
    if (this.#next() !== '"') this.#fail("looking for beginning of object key string");
    this.#string();
    if (this.#next() !== ":") this.#fail("after object key");
    this.#at++;
  }

  #string(): void {
    this.#at++;
    for (;;) {
      const character = this.#here();
      if (character < " ") this.#fail("in string literal");
      this.#at++;
      if (character === '"') return;
      if (character !== "\\") continue;
      const escaped = this.#here();
      if (!/["\\/bfnrtu]/.test(escaped)) this.#fail("in string escape code");
      this.#at++;
      if (escaped !== "u") continue;
      for (let i = 0; i < 4; i++) {
        if (!/[0-9a-fA-F]/.test(this.#here())) this.#fail("in \\u hexadecimal character escape");
        this.#at++;
      }
    }
  }

  #number(): void {
    if (this.#text[this.#at] === "-") {
      this.#at++;
      if (!isDigit(this.#here())) this.#fail("in numeric literal");
    }
    if (this.#text[this.#at] === "0") this.#at++;
    else this.#digits();
    if (this.#text[this.#at] === ".") {
      this.#at++;
      if (!isDigit(this.#here())) this.#fail("after decimal point in numeric literal");
      this.#digits();
    }
    if (this.#text[this.#at]?.toLowerCase() !== "e") return;
    this.#at++;
    if (/[+-]/.test(this.#here())) this.#at++;
    if (!isDigit(this.#here())) this.#fail("in exponent of numeric literal");
    this.#digits();
  }

  #digits(): void {
    while (isDigit(this.#text[this.#at] ?? "")) this.#at++;
  }

  #literal(literal: string): void {
    for (const expected of literal) {
      if (this.#here() !== expected) this.#fail(`in literal ${literal} (expecting '${expected}')`);
      this.#at++;
    }
  }

  #skip(): number {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at++;
    return this.#at;
  }

  /** The next character that is no blank, and the one that is next; both end the search where the text ends. */
  #next(): string {
    this.#skip();
    return this.#here();
  }

  #here(): string {
    const character = this.#text[this.#at];
    if (character === undefined) throw new Problem("unexpected end of JSON input");
    return character;
  }

  #fail(context: string): never {
    throw new Problem(`invalid character ${quoted(this.#text, this.#at)} ${context}`);
  }
}

const isDigit = (character: string): boolean => character >= "0" && character <= "9";

const escapes: Readonly<Record<string, string>> = {
  "'": "\\'",
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

const utf8 = new TextEncoder();

/** Go reads bytes: of what takes several, it shows the first as if it were a character. */
function quoted(text: string, at: number): string {
  const byte = utf8.encode(String.fromCodePoint(text.codePointAt(at) ?? 0))[0] ?? 0;
  const character = String.fromCharCode(byte);
  const hex = byte.toString(16).padStart(2, "0");
  const shown = byte < 0x20 || byte === 0x7f ? `\\x${hex}` : byte >= 0x80 && byte <= 0xa0 ? `\\u00${hex}` : character;
  return `'${escapes[character] ?? shown}'`;
}
