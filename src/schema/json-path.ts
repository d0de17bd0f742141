// JSONPath as kubectl's `-o jsonpath` and the columns of custom resource definitions have it: text with actions in braces. Follows
// client-go/util/jsonpath, whose dialect is no standard's; error texts are those that people see.

/** A template that cannot be read, or a value that it does not fit. */
export class JsonPathError extends Error {
  override readonly name = "JsonPathError";
}

type Step =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "literal"; readonly value: number | boolean }
  | { readonly type: "field"; readonly name: string }
  | { readonly type: "wildcard" }
  | { readonly type: "recursive" }
  | { readonly type: "slice"; readonly start: number | undefined; readonly end: End; readonly step: number | undefined }
  | { readonly type: "union"; readonly parts: readonly Steps[] }
  | { readonly type: "filter"; readonly left: Steps; readonly operator: string; readonly right: Steps }
  | { readonly type: "word"; readonly name: string };
/** Where a slice ends: at an index, at the end of the list, or behind the one item that was asked for. */
type End = number | "last" | "one";
type Steps = readonly Step[];

export interface JsonPathOptions {
  /** Whether a field that is not there gives nothing, instead of an error. */
  readonly allowMissing?: boolean;
}

/** A template that was read. */
export class JsonPath {
  /** Text stands alone; each action is a list of steps. */
  readonly #blocks: readonly Steps[];
  readonly #allowMissing: boolean;

  /** Throws JsonPathError for what is no template. */
  constructor(template: string, { allowMissing = false }: JsonPathOptions = {}) {
    this.#blocks = new Parser(template).template();
    this.#allowMissing = allowMissing;
  }

  /** The steps of each action, for those who allow only some. */
  get actions(): readonly Steps[] {
    return this.#blocks.filter(([first]) => first?.type !== "text");
  }

  /** What each piece of the template finds in a value, in order. Throws JsonPathError. */
  find(value: unknown): readonly (readonly unknown[])[] {
    const found: (readonly unknown[])[] = [];
    const [at] = this.#run(0, value, 0, found);
    if (at < this.#blocks.length) throw new JsonPathError("not in range, nothing to end");
    return found;
  }

  /** The template with what was found in its place. Throws JsonPathError. */
  print(value: unknown): string {
    return this.find(value)
      .map((results) => results.map(printed).join(" "))
      .join("");
  }

  /** Evaluates blocks from `at` on, until the end of the range they are in. Answers where it stopped. */
  #run(at: number, value: unknown, depth: number, results: (readonly unknown[])[]): readonly [number] {
    for (let i = at; i < this.#blocks.length; i++) {
      const block = this.#blocks[i] as Steps;
      const [first, ...rest] = block;
      if (first?.type === "word" && first.name === "end" && depth > 0) return [i];
      if (first?.type === "word" && first.name === "range") {
        i = this.#range(i, this.#walk([value], rest), depth, results);
        continue;
      }
      results.push(this.#walk([value], block));
    }
    return [this.#blocks.length];
  }

  /** Repeats the blocks behind `range` for each value. Answers where its `end` is. */
  #range(at: number, values: readonly unknown[], depth: number, found: (readonly unknown[])[]): number {
    // Without values the blocks are passed over, so that what comes behind the end is found.
    if (values.length === 0) return this.#endOf(at);
    let end = at;
    for (const value of values) [end] = this.#run(at + 1, value, depth + 1, found);
    return end;
  }

  #endOf(range: number): number {
    let depth = 0;
    for (let i = range; i < this.#blocks.length; i++) {
      const first = this.#blocks[i]?.[0];
      if (first?.type !== "word") continue;
      if (first.name === "range") depth++;
      else if (first.name === "end" && --depth === 0) return i;
    }
    return this.#blocks.length;
  }

  #walk(values: readonly unknown[], steps: Steps): readonly unknown[] {
    return steps.reduce((present, step) => this.#step(present, step), values);
  }

  #step(values: readonly unknown[], step: Step): readonly unknown[] {
    switch (step.type) {
      case "text":
        return [step.text];
      case "literal":
        return values.map(() => step.value);
      case "field":
        return this.#field(values, step.name);
      case "wildcard":
        return values.flatMap(membersOf);
      case "recursive":
        return values.flatMap(descendants);
      case "slice":
        return values.flatMap((value) => (value === null || value === undefined ? [] : sliced(value, step)));
      case "union":
        return step.parts.flatMap((part) => this.#walk(values, part));
      case "filter":
        return values.flatMap((value) => this.#filtered(value, step));
      case "word":
        if (step.name === "end") throw new JsonPathError("not in range, nothing to end");
        throw new JsonPathError(`unrecognized identifier ${step.name}`);
    }
  }

  #field(values: readonly unknown[], name: string): readonly unknown[] {
    if (values.length === 0) return [];
    const found = values.flatMap((value) => (isMap(value) && Object.hasOwn(value, name) ? [value[name]] : []));
    if (found.length === 0 && !this.#allowMissing) throw new JsonPathError(`${name} is not found`);
    return found;
  }

  #filtered(list: unknown, { left, operator, right }: Step & { readonly type: "filter" }): readonly unknown[] {
    if (!Array.isArray(list)) throw new JsonPathError(`${printed(list)} is not array or slice and cannot be filtered`);
    return list.filter((item) => {
      if (operator === "exists") return this.#exists(item, left);
      const lefts = this.#walk([item], left);
      if (lefts.length === 0) return false;
      const rights = this.#walk([item], right);
      if (rights.length === 0) return false;
      if (lefts.length > 1 || rights.length > 1) throw new JsonPathError("can only compare one element at a time");
      return compares(lefts[0], operator, rights[0]);
    });
  }

  /** A missing field counts as not existing; all other errors are errors here, too. */
  #exists(item: unknown, steps: Steps): boolean {
    try {
      return this.#walk([item], steps).length > 0;
    } catch (error) {
      if (error instanceof JsonPathError) return false;
      throw error;
    }
  }
}

type JsonObject = Readonly<Record<string, unknown>>;
const isMap = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Go's maps have no order; that of their names is one that people can rely on. */
function membersOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isMap(value)) return [];
  return Object.keys(value)
    .toSorted()
    .map((name) => value[name]);
}

/** All values that have others in them, the outer ones first. */
function descendants(value: unknown): readonly unknown[] {
  const members = membersOf(value);
  return members.length === 0 ? [] : [value, ...members.flatMap(descendants)];
}

function sliced(value: unknown, { start, end, step = 1 }: Step & { readonly type: "slice" }): readonly unknown[] {
  if (!Array.isArray(value)) throw new JsonPathError(`${goType(value)} is not array or slice`);
  const { length } = value;
  const from = start === undefined ? 0 : start < 0 ? start + length : start;
  let to = end === "last" ? length : end === "one" ? (start ?? 0) + 1 : end;
  if (to < 0 || (to === 0 && end === "one")) to += length;
  if (from === to) return [];
  const outside = (index: number): JsonPathError =>
    new JsonPathError(`array index out of bounds: index ${index}, length ${length}`);
  if (from >= length || from < 0) throw outside(from);
  if (to > length || to < 0) throw outside(to - 1);
  if (from > to) throw new JsonPathError(`starting index ${from} is greater than ending index ${to}`);
  if (step <= 0) throw new JsonPathError("step must be > 0");
  return value.slice(from, to).filter((_, i) => i % step === 0);
}

const goType = (value: unknown): string => {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return "map[string]interface {}";
};

/** Texts are compared with texts and numbers with numbers, as Go's templates do. */
function compares(left: unknown, operator: string, right: unknown): boolean {
  const [kind, other] = [kindOf(left), kindOf(right)];
  if (kind === undefined || other === undefined) throw new JsonPathError("invalid type for comparison");
  if (kind !== other) throw new JsonPathError("incompatible types for comparison");
  const [a, b] = [left as never, right as never];
  if (operator === "==") return a === b;
  if (operator === "!=") return a !== b;
  if (kind === "bool" && /^[<>]=?$/.test(operator)) throw new JsonPathError("invalid type for comparison");
  switch (operator) {
    case "<":
      return a < b;
    case ">":
      return a > b;
    case "<=":
      return a <= b;
    case ">=":
      return a >= b;
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}

function kindOf(value: unknown): string | undefined {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return undefined;
}

/** A found value as text: lists and objects as JSON. */
export function printed(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "object") return JSON.stringify(sorted(value));
  if (typeof value === "number") return goNumber(value);
  return String(value);
}

/** Go writes maps with their keys in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((name) => [name, sorted(value[name])]),
  );
}

/** Go prints floats with an exponent from 21 digits on, and of two digits at least. */
function goNumber(value: number): string {
  const text = String(value);
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

const endOfText = "";

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  template(): readonly Steps[] {
    const blocks: Steps[] = [];
    while (this.#at < this.#text.length) {
      const brace = this.#text.indexOf("{", this.#at);
      const end = brace < 0 ? this.#text.length : brace;
      if (end > this.#at) blocks.push([{ type: "text", text: this.#text.slice(this.#at, end) }]);
      this.#at = end;
      if (brace < 0) break;
      this.#at++;
      blocks.push(this.action());
    }
    return blocks;
  }

  /** The steps up to the closing brace, which is passed. */
  action(): Steps {
    const steps: Step[] = [];
    for (;;) {
      if (this.#takes("}")) return steps;
      if (this.#takes("[?(")) steps.push(this.#filter());
      else if (this.#takes("..")) this.#recursive(steps);
      else this.#simple(steps);
    }
  }

  #simple(steps: Step[]): void {
    const char = this.#next();
    if (char === endOfText || char === "\r" || char === "\n") throw new JsonPathError("unclosed action");
    if (char === " " || char === "@" || char === "$") return;
    if (char === "[") steps.push(...this.#array());
    else if (char === '"' || char === "'") steps.push(this.#quote(char));
    else if (char === ".") steps.push(this.#field());
    else if (/[+\-\d]/.test(char)) {
      this.#at--;
      steps.push(this.#number());
    } else if (isWordChar(char)) {
      this.#at -= char.length;
      steps.push(this.#word());
    } else throw new JsonPathError(`unrecognized character in action: ${codePoint(char)}`);
  }

  #recursive(steps: Step[]): void {
    if (steps.at(-1)?.type === "recursive") throw new JsonPathError("invalid multiple recursive descent");
    steps.push({ type: "recursive" });
    if (isWordChar(this.#peek())) steps.push(this.#field());
  }

  #word(): Step {
    const start = this.#at;
    while (!isTerminator(this.#peek())) this.#next();
    const name = this.#text.slice(start, this.#at);
    return name === "true" || name === "false" ? { type: "literal", value: name === "true" } : { type: "word", name };
  }

  #number(): Step {
    const [text = ""] = /^[+-]?[.\d]*/.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += text.length;
    if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(text)) throw new JsonPathError(`cannot parse number ${text}`);
    return { type: "literal", value: Number(text) };
  }

  #field(): Step {
    const start = this.#at;
    while (!isTerminator(this.#peek())) if (this.#next() === "\\") this.#next();
    const name = this.#text.slice(start, this.#at);
    return name === "*" ? { type: "wildcard" } : { type: "field", name: name.replaceAll("\\", "") };
  }

  #array(): Steps {
    const end = this.#text.slice(this.#at).search(/[\]\n]/);
    if (end < 0 || this.#text[this.#at + end] === "\n") throw new JsonPathError("unterminated array");
    const text = this.#text.slice(this.#at, this.#at + end);
    this.#at += end + 1;
    const pieces = text.split(",");
    if (pieces.length > 1)
      return [{ type: "union", parts: pieces.map((piece) => inner(`[${piece.replace(/^ +| +$/g, "")}]`)) }];
    const key = /^'([^']*)'$/.exec(text)?.[1];
    if (key !== undefined) return inner(`.${key}`);
    const parts = /^(-?[\d]*)(:-?[\d]*)?(:-?[\d]*)?$/.exec(text === "*" ? ":" : text);
    if (!parts) throw new JsonPathError(`invalid array index ${text}`);
    const [, start = "", end1, step] = parts;
    return [
      {
        type: "slice",
        start: start === "" ? undefined : indexOf(start),
        end: end1 === undefined ? "one" : end1 === ":" ? "last" : indexOf(end1.slice(1)),
        step: step === undefined || step === ":" ? undefined : indexOf(step.slice(1)),
      },
    ];
  }

  #filter(): Step {
    const text = this.#filterText();
    if (this.#next() !== "]") throw new JsonPathError("unclosed array expect ]");
    const parts = /^([^!<>=]+)([!<>=]+)(.+?)$/.exec(text);
    if (!parts) return { type: "filter", left: inner(text), operator: "exists", right: [] };
    const [, left = "", operator = "", right = ""] = parts;
    return { type: "filter", left: inner(left), operator, right: inner(right) };
  }

  /** Up to the parenthesis that closes it, which is not inside of a quoted text. */
  #filterText(): string {
    const start = this.#at;
    let quote = "";
    let isClosed = false;
    for (;;) {
      const char = this.#next();
      if (char === endOfText || char === "\n") throw new JsonPathError("unterminated filter");
      if ((char === '"' || char === "'") && quote === "") quote = char;
      else if (char === quote && this.#text[this.#at - 2] !== "\\") isClosed = true;
      else if (char === ")" && (quote !== "") === isClosed) return this.#text.slice(start, this.#at - 1);
    }
  }

  #quote(quote: string): Step {
    const start = this.#at;
    for (;;) {
      const char = this.#next();
      if (char === endOfText || char === "\n") throw new JsonPathError("unterminated quoted string");
      if (char === quote && this.#text[this.#at - 2] !== "\\") break;
    }
    return { type: "text", text: unescaped(this.#text.slice(start, this.#at - 1)) };
  }

  #takes(prefix: string): boolean {
    if (!this.#text.startsWith(prefix, this.#at)) return false;
    this.#at += prefix.length;
    return true;
  }

  #peek(): string {
    const code = this.#text.codePointAt(this.#at);
    return code === undefined ? endOfText : String.fromCodePoint(code);
  }

  #next(): string {
    const char = this.#peek();
    this.#at += char.length;
    return char;
  }
}

/** The steps of an action without its braces. */
const inner = (text: string): Steps => new Parser(`${text}}`).action();

function indexOf(text: string): number {
  const index = Number(text);
  if (text === "" || !Number.isSafeInteger(index)) throw new JsonPathError(`array index ${text} is not a number`);
  return index;
}

const isWordChar = (char: string): boolean => char !== endOfText && /^[\p{L}\p{Nd}_]$/u.test(char);
const isTerminator = (char: string): boolean => char === endOfText || " \t\r\n.,[]$@{}".includes(char);

const codePoint = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")} '${char}'`;

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

/** What backslashes in a quoted text stand for, as in Go. */
function unescaped(text: string): string {
  return text.replace(/\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{3}|.|$)/gsu, (_, code: string) => {
    const simple = Object.hasOwn(escapes, code) ? escapes[code] : undefined;
    if (simple !== undefined) return simple;
    const value = /^[xuU]./.test(code) ? Number.parseInt(code.slice(1), 16) : Number.parseInt(code, 8);
    if (code.length < 3 || Number.isNaN(value) || value > 0x10ffff)
      throw new JsonPathError(`unquote string ${JSON.stringify(text)} error invalid syntax`);
    return String.fromCodePoint(value);
  });
}
