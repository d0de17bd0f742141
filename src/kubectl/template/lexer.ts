// The tokens of a template. Follows text/template/parse/lex.go.
import { goQuote, unicodeName } from "../go/quote.ts";

export type TokenType =
  | "error"
  | "bool"
  | "char"
  | "charConstant"
  | "complex"
  | "assign"
  | "declare"
  | "eof"
  | "field"
  | "identifier"
  | "leftDelim"
  | "leftParen"
  | "number"
  | "pipe"
  | "rawString"
  | "rightDelim"
  | "rightParen"
  | "space"
  | "string"
  | "text"
  | "variable"
  | Keyword;

const keywords = [
  "block",
  "break",
  "continue",
  "define",
  "else",
  "end",
  "if",
  "range",
  "nil",
  "template",
  "with",
  "dot",
] as const;
type Keyword = (typeof keywords)[number];
const isKeyword = (word: string): word is Keyword => word !== "dot" && (keywords as readonly string[]).includes(word);

export interface Token {
  readonly type: TokenType;
  readonly at: number;
  readonly text: string;
  readonly line: number;
}

/** A token as Go shows it in errors. */
export function tokenText({ type, text }: Token): string {
  if (type === "eof") return "EOF";
  if (type === "error") return text;
  if ((keywords as readonly string[]).includes(type)) return `<${text}>`;
  const letters = [...text];
  return letters.length > 10 || text.length > 10 ? `${goQuote(letters.slice(0, 10).join(""))}...` : goQuote(text);
}

const isSpace = (letter: string | undefined): boolean =>
  letter !== undefined && " \t\r\n".includes(letter) && letter !== "";
const wordLetter = /[_\p{L}\p{Nd}]/u;

export class Lexer {
  #input: string;
  #at = 0;
  #start = 0;
  #line = 1;
  #startLine = 1;
  #depth = 0;
  #isInsideAction = false;

  constructor(input: string) {
    this.#input = input;
  }

  next(): Token {
    for (;;) {
      const token = this.#isInsideAction ? this.#inAction() : this.#inText();
      if (token) return token;
    }
  }

  #token(type: TokenType): Token {
    const text = this.#input.slice(this.#start, this.#at);
    const token = { type, at: this.#start, text, line: this.#startLine };
    this.#ignore();
    return token;
  }

  /** Drops what was passed, and counts its lines. */
  #ignore(): void {
    for (let at = this.#start; at < this.#at; at++) if (this.#input[at] === "\n") this.#line++;
    this.#start = this.#at;
    this.#startLine = this.#line;
  }

  #error(message: string): Token {
    const token = { type: "error", at: this.#start, text: message, line: this.#startLine } as const;
    this.#input = "";
    this.#at = 0;
    this.#start = 0;
    return token;
  }

  /** Undefined where a comment or trimmed space was passed. */
  #inText(): Token | undefined {
    const open = this.#input.indexOf("{{", this.#at);
    if (open < 0) {
      this.#at = this.#input.length;
      return this.#token(this.#at > this.#start ? "text" : "eof");
    }
    if (open > this.#at) {
      const trims = this.#isLeftTrim(open + 2);
      this.#at = open;
      if (trims) while (this.#at > this.#start && isSpace(this.#input[this.#at - 1])) this.#at--;
      const text = this.#at > this.#start ? this.#token("text") : undefined;
      this.#at = open;
      this.#ignore();
      if (text) return text;
    }
    return this.#leftDelim();
  }

  #isLeftTrim(at: number): boolean {
    return this.#input[at] === "-" && isSpace(this.#input[at + 1]);
  }

  #leftDelim(): Token | undefined {
    this.#at += 2;
    const marker = this.#isLeftTrim(this.#at) ? 2 : 0;
    if (this.#input.startsWith("/*", this.#at + marker)) {
      this.#at += marker;
      this.#ignore();
      return this.#comment();
    }
    const token = this.#token("leftDelim");
    this.#isInsideAction = true;
    this.#at += marker;
    this.#ignore();
    this.#depth = 0;
    return token;
  }

  #comment(): Token | undefined {
    const close = this.#input.indexOf("*/", this.#at + 2);
    if (close < 0) return this.#error("unclosed comment");
    this.#at = close + 2;
    const delim = this.#rightDelimAt();
    if (!delim) return this.#error("comment ends before closing delimiter");
    this.#at += delim === "trim" ? 4 : 2;
    if (delim === "trim") this.#skipSpace();
    this.#ignore();
    return undefined;
  }

  #skipSpace(): void {
    while (isSpace(this.#input[this.#at])) this.#at++;
  }

  #rightDelimAt(at = this.#at): "trim" | "plain" | undefined {
    if (isSpace(this.#input[at]) && this.#input.startsWith("-}}", at + 1)) return "trim";
    return this.#input.startsWith("}}", at) ? "plain" : undefined;
  }

  #rightDelim(): Token {
    const trims = this.#rightDelimAt() === "trim";
    if (trims) {
      this.#at += 2;
      this.#ignore();
    }
    this.#at += 2;
    const token = this.#token("rightDelim");
    if (trims) {
      this.#skipSpace();
      this.#ignore();
    }
    this.#isInsideAction = false;
    return token;
  }

  #inAction(): Token {
    if (this.#rightDelimAt()) return this.#depth === 0 ? this.#rightDelim() : this.#error("unclosed left paren");
    const code = this.#input.codePointAt(this.#at);
    if (code === undefined) return this.#error("unclosed action");
    const letter = String.fromCodePoint(code);
    if (isSpace(letter)) return this.#space();
    this.#at += letter.length;
    const ahead = this.#input[this.#at];
    if (letter === "." && ahead !== undefined && !/[0-9]/.test(ahead)) return this.#fieldOrVariable("field");
    if (/[.+\-0-9]/.test(letter)) {
      this.#at -= 1;
      return this.#number();
    }
    return this.#sign(letter) ?? this.#word(letter, code);
  }

  #sign(letter: string): Token | undefined {
    switch (letter) {
      case "=":
        return this.#token("assign");
      case ":":
        if (this.#input[this.#at] !== "=") return this.#error("expected :=");
        this.#at++;
        return this.#token("declare");
      case "|":
        return this.#token("pipe");
      case '"':
        return this.#quoted('"', "string", "unterminated quoted string");
      case "'":
        return this.#quoted("'", "charConstant", "unterminated character constant");
      case "`":
        return this.#rawString();
      case "$":
        return this.#fieldOrVariable("variable");
      case "(":
        this.#depth++;
        return this.#token("leftParen");
      case ")":
        this.#depth--;
        return this.#depth < 0 ? this.#error("unexpected right paren") : this.#token("rightParen");
      default:
        return undefined;
    }
  }

  #word(letter: string, code: number): Token {
    if (!wordLetter.test(letter)) {
      if (code > 0x20 && code < 0x7f) return this.#token("char");
      return this.#error(`unrecognized character in action: ${unicodeName(code)}`);
    }
    this.#passWord();
    const bad = this.#badCharacter();
    if (bad) return bad;
    const word = this.#input.slice(this.#start, this.#at);
    if (isKeyword(word)) return this.#token(word);
    return this.#token(word === "true" || word === "false" ? "bool" : "identifier");
  }

  #passWord(): void {
    for (;;) {
      const code = this.#input.codePointAt(this.#at);
      if (code === undefined || !wordLetter.test(String.fromCodePoint(code))) return;
      this.#at += code > 0xffff ? 2 : 1;
    }
  }

  #badCharacter(): Token | undefined {
    if (this.#isAtTerminator()) return undefined;
    return this.#error(`bad character ${unicodeName(this.#input.codePointAt(this.#at) ?? 0)}`);
  }

  #isAtTerminator(): boolean {
    const letter = this.#input[this.#at];
    return (
      letter === undefined || isSpace(letter) || ".,|:)(".includes(letter) || this.#input.startsWith("}}", this.#at)
    );
  }

  #fieldOrVariable(type: "field" | "variable"): Token {
    if (this.#isAtTerminator()) return this.#token(type === "variable" ? "variable" : "dot");
    this.#passWord();
    return this.#badCharacter() ?? this.#token(type);
  }

  /** A run of spaces; the last of them belongs to the delimiter when that trims. */
  #space(): Token {
    let count = 0;
    for (; isSpace(this.#input[this.#at]); count++) this.#at++;
    if (this.#rightDelimAt(this.#at - 1) === "trim") {
      this.#at--;
      if (count === 1) return this.#rightDelim();
    }
    return this.#token("space");
  }

  #quoted(mark: string, type: TokenType, unterminated: string): Token {
    for (;;) {
      let letter = this.#input[this.#at++];
      if (letter === "\\") {
        letter = this.#input[this.#at++];
        if (letter !== undefined && letter !== "\n") continue;
      }
      if (letter === undefined || letter === "\n") return this.#error(unterminated);
      if (letter === mark) return this.#token(type);
    }
  }

  #rawString(): Token {
    const close = this.#input.indexOf("`", this.#at);
    if (close < 0) return this.#error("unterminated raw quoted string");
    this.#at = close + 1;
    return this.#token("rawString");
  }

  #number(): Token {
    if (!this.#passNumber()) return this.#badNumber();
    if (!/[+-]/.test(this.#input[this.#at] ?? "")) return this.#token("number");
    if (!this.#passNumber() || this.#input[this.#at - 1] !== "i") return this.#badNumber();
    return this.#token("complex");
  }

  #badNumber(): Token {
    return this.#error(`bad number syntax: ${goQuote(this.#input.slice(this.#start, this.#at))}`);
  }

  #passNumber(): boolean {
    numberSyntax.lastIndex = this.#at;
    this.#at += numberSyntax.exec(this.#input)?.[0].length ?? 0;
    const code = this.#input.codePointAt(this.#at);
    if (code === undefined || !wordLetter.test(String.fromCodePoint(code))) return true;
    this.#at += code > 0xffff ? 2 : 1;
    return false;
  }
}

const numberSyntax =
  /[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?|0[oO][0-7_]*(?:\.[0-7_]*)?|0[bB][01_]*(?:\.[01_]*)?|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?/y;
