// Tokens to a syntax tree. Follows the grammar in cel-go's parser/gen/CEL.g4 and, as far as users meet them, the messages of
// the parser that ANTLR makes of it: it leaves out one token that does not fit if the next one does, and otherwise gives up.
import type { Expr, MapEntry, StructField } from "./ast.ts";
import { type CelToken, tokenize } from "./lexer.ts";
import { literalValue, literalWords } from "./literals.ts";
import { expandMacro, type Macro, MacroError } from "./macros.ts";
import type { CelProblem } from "./problems.ts";

const mostCodePoints = 100_000;
const mostDepth = 250;

const reserved: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);
const relations: ReadonlySet<string> = new Set(["<", "<=", ">=", ">", "==", "!=", "in"]);

/** What may begin an expression, in the order in which messages list it. */
const expressionStart =
  "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";
const listStart =
  "'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";
const mapStart =
  "'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";
const argumentStart =
  "'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";
const fieldStart = "'}', ',', '?', IDENTIFIER";

export interface Parsed {
  /** Undefined if there are problems. */
  readonly expr: Expr | undefined;
  readonly problems: readonly CelProblem[];
  /** How many ids the tree uses. */
  readonly size: number;
}

export function parse(source: string, macros: ReadonlyMap<string, Macro>): Parsed {
  const codePoints = source.length <= mostCodePoints ? source.length : [...source].length;
  if (codePoints > mostCodePoints) {
    const message = `expression code point size exceeds limit: size: ${codePoints}, limit ${mostCodePoints}`;
    return { expr: undefined, problems: [{ message, offset: -1 }], size: 0 };
  }
  const problems: CelProblem[] = [];
  const parser = new Parser(tokenize(source, problems), macros, problems);
  const expr = parser.parse();
  return { expr: problems.length === 0 ? expr : undefined, problems, size: parser.size };
}

/** Ends the parsing: its problem is noted already. */
class ParsingEnd extends Error {
  override readonly name = "ParsingEnd";
}

/** An operator between two expressions, and the rule of the grammar that counts towards the greatest depth. */
type Rule = "expr" | "relation" | "calc" | "member";

class Parser {
  readonly #tokens: readonly CelToken[];
  readonly #macros: ReadonlyMap<string, Macro>;
  readonly #problems: CelProblem[];
  readonly #depth: Record<Rule, number> = { expr: 0, relation: 0, calc: 0, member: 0 };
  #at = 0;
  size = 0;

  constructor(tokens: readonly CelToken[], macros: ReadonlyMap<string, Macro>, problems: CelProblem[]) {
    this.#tokens = tokens;
    this.#macros = macros;
    this.#problems = problems;
  }

  parse(): Expr | undefined {
    try {
      const expr = this.#expression();
      this.#expectEnd();
      return expr;
    } catch (error) {
      if (error instanceof ParsingEnd) return undefined;
      throw error;
    }
  }

  // — tokens —

  get #token(): CelToken {
    return this.#peek(0);
  }

  #peek(ahead: number): CelToken {
    const token = this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)];
    if (token === undefined) throw new Error("a list of tokens has an end");
    return token;
  }

  #is(symbol: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return token.kind === "symbol" && token.text === symbol;
  }

  #take(): CelToken {
    const token = this.#token;
    this.#at++;
    return token;
  }

  #takeIf(symbol: string): CelToken | undefined {
    return this.#is(symbol) ? this.#take() : undefined;
  }

  #report(message: string, offset: number): void {
    this.#problems.push({ message, offset });
  }

  #fail(message: string): never {
    this.#report(`Syntax error: ${message}`, this.#token.offset);
    throw new ParsingEnd(message);
  }

  /** Makes sure that the next token is one of those wanted: leaves out one other, or gives up. */
  #sync(isWanted: (ahead: number) => boolean, wanted: string): void {
    if (isWanted(0)) return;
    if (isWanted(1) && this.#token.kind !== "end") {
      this.#report(`Syntax error: extraneous input '${this.#token.text}' expecting ${wanted}`, this.#token.offset);
      this.#at++;
    } else this.#fail(`mismatched input '${this.#token.text}' expecting ${wanted}`);
  }

  #expectEnd(): void {
    this.#sync((ahead) => this.#peek(ahead).kind === "end", "<EOF>");
  }

  #expect(symbol: string): CelToken {
    // A closing bracket that is missing at the end of all is what the message says, not what is there instead.
    if (this.#token.kind === "end" && ")]".includes(symbol)) this.#fail(`missing '${symbol}' at '<EOF>'`);
    this.#sync((ahead) => this.#is(symbol, ahead), `'${symbol}'`);
    return this.#take();
  }

  #beginsExpression(ahead: number): boolean {
    const token = this.#peek(ahead);
    if (token.kind !== "symbol") return token.kind !== "end";
    return "[{(.-!".includes(token.text) || literalWords.has(token.text);
  }

  #deeper(rule: Rule): void {
    if (++this.#depth[rule] > mostDepth) {
      this.#report(`expression recursion limit exceeded: ${mostDepth}`, -1);
      throw new ParsingEnd("too deep");
    }
  }

  #id(): number {
    return ++this.size;
  }

  #call(name: string, offset: number, ...args: readonly Expr[]): Expr {
    return { kind: "call", id: this.#id(), offset, target: undefined, name, args };
  }

  // — rules —

  #expression(): Expr {
    this.#deeper("expr");
    const condition = this.#logical("||");
    let expr = condition;
    const question = this.#takeIf("?");
    if (question) {
      const yes = this.#logical("||");
      this.#expect(":");
      const no = this.#expression();
      expr = this.#call("_?_:_", question.offset, condition, yes, no);
    }
    this.#depth.expr--;
    return expr;
  }

  /** A chain of `||` or `&&` becomes a balanced tree, so that long ones are not deep. */
  #logical(operator: "||" | "&&"): Expr {
    const next = operator === "||" ? () => this.#logical("&&") : () => this.#relation();
    const terms = [next()];
    const offsets: number[] = [];
    for (let token = this.#takeIf(operator); token; token = this.#takeIf(operator)) {
      offsets.push(token.offset);
      terms.push(next());
    }
    return this.#balanced(`_${operator}_`, terms, offsets);
  }

  #balanced(name: string, terms: readonly Expr[], offsets: readonly number[]): Expr {
    const [first, ...rest] = terms;
    if (first === undefined) throw new Error("a chain has a term");
    if (rest.length === 0) return first;
    const middle = offsets.length >> 1;
    const left = this.#balanced(name, terms.slice(0, middle + 1), offsets.slice(0, middle));
    const right = this.#balanced(name, terms.slice(middle + 1), offsets.slice(middle + 1));
    return this.#call(name, offsets[middle] ?? 0, left, right);
  }

  #relation(): Expr {
    return this.#leftToRight("relation", relations, () => this.#sum());
  }

  #sum(): Expr {
    return this.#leftToRight("calc", new Set(["+", "-"]), () => this.#product());
  }

  #product(): Expr {
    return this.#leftToRight("calc", new Set(["*", "/", "%"]), () => this.#unary());
  }

  #leftToRight(rule: Rule, operators: ReadonlySet<string>, next: () => Expr): Expr {
    const before = this.#depth[rule];
    this.#deeper(rule);
    let expr = next();
    while (this.#token.kind === "symbol" && operators.has(this.#token.text)) {
      this.#deeper(rule);
      const token = this.#take();
      const name = token.text === "in" ? "@in" : `_${token.text}_`;
      expr = this.#call(name, token.offset, expr, next());
    }
    this.#depth[rule] = before;
    return expr;
  }

  #unary(): Expr {
    this.#sync((ahead) => this.#beginsExpression(ahead), `{${expressionStart}}`);
    const operator = ["!", "-"].find((symbol) => this.#is(symbol));
    if (operator === undefined) return this.#member(this.#primary());
    const first = this.#token;
    let count = 0;
    // A single minus before a number belongs to the number.
    const isNumber = /^(int|double)$/.test(this.#peek(1).kind);
    if (operator === "-" && isNumber) {
      this.#at++;
      return this.#member(this.#number(first));
    }
    while (this.#takeIf(operator)) count++;
    if (!this.#beginsExpression(0) || this.#is("!") || this.#is("-"))
      this.#fail(`no viable alternative at input '${operator}${this.#token.kind === "end" ? "" : this.#token.text}'`);
    const operand = this.#member(this.#primary());
    return count % 2 === 0 ? operand : this.#call(`${operator}_`, first.offset, operand);
  }

  #number(sign: CelToken | undefined): Expr {
    const token = this.#take();
    const offset = (sign ?? token).offset;
    const value = literalValue(token, sign !== undefined);
    if (value === undefined) {
      const unreadable = token.kind === "string" || token.kind === "bytes";
      this.#report(unreadable ? `invalid ${token.kind} literal` : `invalid ${token.kind} literal`, offset);
    }
    return { kind: "literal", id: this.#id(), offset, value: value ?? null };
  }

  #member(primary: Expr): Expr {
    const before = this.#depth.member;
    this.#deeper("member");
    let expr = primary;
    for (;;) {
      const dot = this.#takeIf(".");
      const bracket = dot ? undefined : this.#takeIf("[");
      if (!dot && !bracket) break;
      this.#deeper("member");
      expr = dot ? this.#selection(expr, dot) : this.#index(expr, bracket ?? this.#token);
    }
    this.#depth.member = before;
    return expr;
  }

  #selection(operand: Expr, dot: CelToken): Expr {
    const isOptional = this.#takeIf("?") !== undefined;
    const name = this.#token;
    if (name.kind !== "identifier")
      this.#fail(`no viable alternative at input '.${isOptional ? "?" : ""}${name.kind === "end" ? "" : name.text}'`);
    this.#at++;
    if (isOptional) {
      const field: Expr = { kind: "literal", id: this.#id(), offset: name.offset, value: name.text };
      return this.#call("_?._", dot.offset, operand, field);
    }
    const open = this.#takeIf("(");
    if (open) return this.#callOf(name.text, operand, open);
    return { kind: "select", id: this.#id(), offset: dot.offset, operand, field: name.text, isTest: false };
  }

  #index(operand: Expr, bracket: CelToken): Expr {
    const isOptional = this.#takeIf("?") !== undefined;
    const index = this.#expression();
    this.#expect("]");
    return this.#call(isOptional ? "_[?_]" : "_[_]", bracket.offset, operand, index);
  }

  #callOf(name: string, target: Expr | undefined, open: CelToken): Expr {
    const args: Expr[] = [];
    if (!this.#takeIf(")")) {
      this.#sync((ahead) => this.#beginsExpression(ahead) || this.#is(")", ahead), `{${argumentStart}}`);
      do args.push(this.#expression());
      while (this.#takeIf(","));
      this.#expect(")");
    }
    const id = this.#id();
    const macro = this.#macros.get(`${name}:${args.length}:${target !== undefined}`);
    try {
      const context = { offset: open.offset, nextId: () => this.#id() };
      const expanded = macro && expandMacro(macro, context, target, args);
      return expanded ?? { kind: "call", id, offset: open.offset, target, name, args };
    } catch (error) {
      if (!(error instanceof MacroError)) throw error;
      this.#report(error.message, error.offset);
      return { kind: "literal", id, offset: open.offset, value: null };
    }
  }

  #primary(): Expr {
    const token = this.#token;
    if (token.kind === "identifier" || this.#is(".")) return this.#name();
    if (token.kind !== "symbol") return this.#number(undefined);
    const word = literalWords.get(token.text);
    if (word !== undefined) {
      this.#at++;
      return { kind: "literal", id: this.#id(), offset: token.offset, value: word };
    }
    switch (token.text) {
      case "(": {
        this.#at++;
        const expr = this.#expression();
        this.#expect(")");
        return expr;
      }
      case "[":
        return this.#list();
      case "{":
        return this.#map();
      default:
        return this.#fail(`no viable alternative at input '${token.text}'`);
    }
  }

  #name(): Expr {
    const dot = this.#takeIf(".");
    const token = this.#token;
    if (token.kind !== "identifier")
      this.#fail(`no viable alternative at input '.${token.kind === "end" ? "" : token.text}'`);
    const structName = this.#structName();
    const prefix = dot ? "." : "";
    if (structName !== undefined) return this.#struct(prefix + structName);
    this.#at++;
    if (reserved.has(token.text)) this.#report(`reserved identifier: ${token.text}`, token.offset);
    const open = this.#takeIf("(");
    if (open) return this.#callOf(prefix + token.text, undefined, open);
    return { kind: "ident", id: this.#id(), offset: (dot ?? token).offset, name: prefix + token.text };
  }

  /** `a.b.C` if a brace follows, which makes it the name of a struct. */
  #structName(): string | undefined {
    let ahead = 0;
    let name = this.#token.text;
    while (this.#is(".", ahead + 1) && this.#peek(ahead + 2).kind === "identifier") {
      ahead += 2;
      name += `.${this.#peek(ahead).text}`;
    }
    if (!this.#is("{", ahead + 1)) return undefined;
    this.#at += ahead + 1;
    return name;
  }

  #struct(name: string): Expr {
    const open = this.#take();
    const fields: StructField[] = [];
    this.#items(
      "}",
      fieldStart,
      (ahead) => this.#is("?", ahead) || this.#peek(ahead).kind === "identifier",
      () => {
        const isOptional = this.#takeIf("?") !== undefined;
        if (this.#token.kind !== "identifier")
          this.#fail(`mismatched input '${this.#token.text}' expecting {IDENTIFIER}`);
        const field = this.#take().text;
        const colon = this.#expect(":");
        const id = this.#id();
        fields.push({ id, offset: colon.offset, name: field, value: this.#expression(), isOptional });
      },
    );
    return { kind: "struct", id: this.#id(), offset: open.offset, name, fields };
  }

  #list(): Expr {
    const open = this.#take();
    const elements: Expr[] = [];
    const optional = new Set<number>();
    this.#items(
      "]",
      listStart,
      (ahead) => this.#is("?", ahead) || this.#beginsExpression(ahead),
      () => {
        if (this.#takeIf("?")) optional.add(elements.length);
        elements.push(this.#expression());
      },
    );
    return { kind: "list", id: this.#id(), offset: open.offset, elements, optional };
  }

  #map(): Expr {
    const open = this.#take();
    const entries: MapEntry[] = [];
    this.#items(
      "}",
      mapStart,
      (ahead) => this.#is("?", ahead) || this.#beginsExpression(ahead),
      () => {
        const isOptional = this.#takeIf("?") !== undefined;
        const key = this.#expression();
        const colon = this.#expect(":");
        const id = this.#id();
        entries.push({ id, offset: colon.offset, key, value: this.#expression(), isOptional });
      },
    );
    return { kind: "map", id: this.#id(), offset: open.offset, entries };
  }

  /** What stands between brackets, with commas between and perhaps one after the last. */
  #items(close: string, start: string, begins: (ahead: number) => boolean, item: () => void): void {
    this.#sync((ahead) => this.#is(close, ahead) || this.#is(",", ahead) || begins(ahead), `{${start}}`);
    if (begins(0)) {
      item();
      while (this.#is(",") && !this.#is(close, 1)) {
        this.#at++;
        item();
      }
    }
    this.#takeIf(",");
    this.#sync((ahead) => this.#is(close, ahead), `{'${close}', ','}`);
    this.#at++;
  }
}
