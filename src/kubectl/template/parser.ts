// Templates to trees. Follows text/template/parse/parse.go.
import { goQuote, goUnquote } from "../go/quote.ts";
import { TemplateError } from "./error.ts";
import { Lexer, type Token, type TokenType, tokenText } from "./lexer.ts";
import {
  type ArgumentNode,
  type BranchNode,
  type CommandNode,
  type ListNode,
  nodeText,
  type PipeNode,
  type TemplateNode,
  type VariableNode,
} from "./nodes.ts";
import { readNumber } from "./number.ts";

export interface ParsedTemplate {
  readonly name: string;
  readonly text: string;
  readonly templates: ReadonlyMap<string, ListNode>;
}

/** How deep blocks and parentheses may stand in each other: Go allows more parentheses, but our stack is smaller. */
const mostDepth = 500;

export function parseTemplate(name: string, text: string, hasFunction: (name: string) => boolean): ParsedTemplate {
  const templates = new Map<string, ListNode>();
  new Parser({ name, lexer: new Lexer(text), hasFunction, templates }).parse();
  return { name, text, templates };
}

interface Parsing {
  readonly name: string;
  readonly lexer: Lexer;
  readonly hasFunction: (name: string) => boolean;
  readonly templates: Map<string, ListNode>;
}

/** Tokens that begin an operand. */
const operands: ReadonlySet<TokenType> = new Set([
  "bool",
  "charConstant",
  "complex",
  "dot",
  "field",
  "identifier",
  "number",
  "nil",
  "rawString",
  "string",
  "variable",
  "leftParen",
]);

class Parser {
  readonly #parsing: Parsing;
  /** Tokens that were given back, the next one last. */
  readonly #ahead: Token[] = [];
  #lastLine = 1;
  #variables = ["$"];
  #actionLine = 0;
  #rangeDepth = 0;
  #depth: number;

  constructor(parsing: Parsing, depth = 0) {
    this.#parsing = parsing;
    this.#depth = depth;
  }

  parse(): void {
    const nodes: TemplateNode[] = [];
    const at = this.#peek().at;
    while (this.#peek().type !== "eof") {
      if (this.#peek().type === "leftDelim") {
        const delim = this.#next();
        const keyword = this.#nextNonSpace();
        if (keyword.type === "define") {
          this.#definition();
          continue;
        }
        this.#back(keyword);
        this.#back(delim);
      }
      const node = this.#textOrAction();
      if (node.type === "end" || node.type === "else") this.#fail(`unexpected ${nodeText(node)}`);
      nodes.push(node);
    }
    this.#add(this.#parsing.name, { type: "list", at, nodes });
  }

  #definition(): void {
    const inner = new Parser(this.#parsing, this.#depth);
    const context = "define clause";
    const name = inner.#expect(["string", "rawString"], context);
    const unquoted = goUnquote(name.text);
    if (unquoted === undefined) inner.#fail("invalid syntax");
    inner.#expect(["rightDelim"], context);
    const { list, end } = inner.#itemList();
    if (end.type !== "end") inner.#fail(`unexpected ${nodeText(end)} in ${context}`);
    inner.#add(unquoted ?? "", list);
    this.#ahead.push(...inner.#ahead);
  }

  /** The first definition that is not empty stays. */
  #add(name: string, list: ListNode): void {
    const before = this.#parsing.templates.get(name);
    if (!before || isEmpty(before)) this.#parsing.templates.set(name, list);
    else if (!isEmpty(list)) this.#fail(`template: multiple definition of template ${goQuote(name)}`);
  }

  // Tokens.

  #next(): Token {
    const token = this.#ahead.pop() ?? this.#parsing.lexer.next();
    this.#lastLine = token.line;
    return token;
  }

  #back(token: Token): void {
    this.#ahead.push(token);
  }

  #peek(): Token {
    const token = this.#next();
    this.#back(token);
    return token;
  }

  #nextNonSpace(): Token {
    for (;;) {
      const token = this.#next();
      if (token.type !== "space") return token;
    }
  }

  #peekNonSpace(): Token {
    const token = this.#nextNonSpace();
    this.#back(token);
    return token;
  }

  #expect(types: readonly TokenType[], context: string): Token {
    const token = this.#nextNonSpace();
    return types.includes(token.type) ? token : this.#unexpected(token, context);
  }

  #fail(message: string): never {
    throw new TemplateError(`template: ${this.#parsing.name}:${this.#lastLine}: ${message}`);
  }

  #unexpected(token: Token, context: string): never {
    if (token.type !== "error") this.#fail(`unexpected ${tokenText(token)} in ${context}`);
    let extra = "";
    if (this.#actionLine !== 0 && this.#actionLine !== token.line) {
      const start = `started at ${this.#parsing.name}:${this.#actionLine}`;
      extra = token.text.endsWith(" action") ? ` ${start}` : ` in action ${start}`;
    }
    this.#fail(`${tokenText(token)}${extra}`);
  }

  #deeper<T>(read: () => T): T {
    if (this.#depth >= mostDepth) this.#fail("max expression depth exceeded");
    this.#depth++;
    const result = read();
    this.#depth--;
    return result;
  }

  // Text, actions and blocks.

  #itemList(): { list: ListNode; end: TemplateNode } {
    return this.#deeper(() => {
      const at = this.#peekNonSpace().at;
      const nodes: TemplateNode[] = [];
      while (this.#peekNonSpace().type !== "eof") {
        const node = this.#textOrAction();
        if (node.type === "end" || node.type === "else")
          return { list: { type: "list", at, nodes } as const, end: node };
        nodes.push(node);
      }
      return this.#fail("unexpected EOF");
    });
  }

  #textOrAction(): TemplateNode {
    const token = this.#nextNonSpace();
    if (token.type === "text") return { type: "text", at: token.at, text: token.text };
    if (token.type !== "leftDelim") return this.#unexpected(token, "input");
    this.#actionLine = token.line;
    const node = this.#action();
    this.#actionLine = 0;
    return node;
  }

  #action(): TemplateNode {
    const token = this.#nextNonSpace();
    switch (token.type) {
      case "block":
        return this.#block();
      case "break":
      case "continue":
        return this.#loopControl(token.type, token.at);
      case "else":
        return this.#elseControl();
      case "end":
        return { type: "end", at: this.#expect(["rightDelim"], "end").at };
      case "if":
      case "range":
      case "with":
        return this.#branch(token.type);
      case "template":
        return this.#invocation();
      default: {
        this.#back(token);
        const { at } = this.#peek();
        return { type: "action", at, pipe: this.#pipeline("command", "rightDelim") };
      }
    }
  }

  #loopControl(type: "break" | "continue", at: number): TemplateNode {
    const token = this.#nextNonSpace();
    if (token.type !== "rightDelim") this.#unexpected(token, `{{${type}}}`);
    if (this.#rangeDepth === 0) this.#fail(`{{${type}}} outside {{range}}`);
    return { type, at };
  }

  /** The `if` of `else if` and the `with` of `else with` stay for whoever reads the branch. */
  #elseControl(): TemplateNode {
    const ahead = this.#peekNonSpace();
    if (ahead.type === "if" || ahead.type === "with") return { type: "else", at: ahead.at };
    return { type: "else", at: this.#expect(["rightDelim"], "else").at };
  }

  #branch(type: "if" | "range" | "with"): BranchNode {
    const variables = this.#variables.length;
    const pipe = this.#pipeline(type, "rightDelim");
    if (type === "range") this.#rangeDepth++;
    const { list, end } = this.#itemList();
    if (type === "range") this.#rangeDepth--;
    const elseList = end.type === "else" ? this.#elseList(type, end.at) : undefined;
    this.#variables.length = variables;
    return { type, at: pipe.at, pipe, list, elseList };
  }

  #elseList(type: "if" | "range" | "with", at: number): ListNode {
    if (type !== "range" && this.#peek().type === type) {
      this.#next();
      return this.#deeper(() => ({ type: "list", at, nodes: [this.#branch(type)] }));
    }
    const { list, end } = this.#itemList();
    if (end.type !== "end") this.#fail(`expected end; found ${nodeText(end)}`);
    return list;
  }

  #block(): TemplateNode {
    const context = "block clause";
    const token = this.#nextNonSpace();
    const name = this.#templateName(token, context);
    const pipe = this.#pipeline(context, "rightDelim");
    const inner = new Parser(this.#parsing, this.#depth);
    inner.#ahead.push(...this.#ahead.splice(0));
    const { list, end } = inner.#itemList();
    if (end.type !== "end") this.#fail(`unexpected ${nodeText(end)} in ${context}`);
    inner.#add(name, list);
    this.#ahead.push(...inner.#ahead);
    return { type: "template", at: token.at, name, pipe };
  }

  #invocation(): TemplateNode {
    const context = "template clause";
    const token = this.#nextNonSpace();
    const name = this.#templateName(token, context);
    const after = this.#nextNonSpace();
    if (after.type === "rightDelim") return { type: "template", at: token.at, name, pipe: undefined };
    this.#back(after);
    return { type: "template", at: token.at, name, pipe: this.#pipeline(context, "rightDelim") };
  }

  #templateName(token: Token, context: string): string {
    if (token.type !== "string" && token.type !== "rawString") return this.#unexpected(token, context);
    return goUnquote(token.text) ?? this.#fail("invalid syntax");
  }

  // Pipelines.

  #pipeline(context: string, end: TokenType): PipeNode {
    const { at } = this.#peekNonSpace();
    const { variables, isAssignment } = this.#declarations(context);
    const commands: CommandNode[] = [];
    for (;;) {
      const token = this.#nextNonSpace();
      if (token.type === end) break;
      if (!operands.has(token.type)) this.#unexpected(token, context);
      this.#back(token);
      commands.push(this.#command());
    }
    if (commands.length === 0) this.#fail(`missing value for ${context}`);
    for (const [i, { args }] of commands.entries())
      if (i > 0 && ["bool", "dot", "nil", "number", "string"].includes(args[0]?.type ?? ""))
        this.#fail(`non executable command in pipeline stage ${i + 1}`);
    return { type: "pipe", at, isAssignment, variables, commands };
  }

  #declarations(context: string): { variables: readonly VariableNode[]; isAssignment: boolean } {
    const variables: VariableNode[] = [];
    for (;;) {
      const variable = this.#peekNonSpace();
      if (variable.type !== "variable") return { variables, isAssignment: false };
      this.#next();
      const after = this.#next();
      const sign = after.type === "space" ? this.#nextNonSpace() : after;
      const isComma = sign.type === "char" && sign.text === ",";
      if (sign.type !== "assign" && sign.type !== "declare" && !isComma) {
        this.#back(sign);
        if (after.type === "space") this.#back(after);
        this.#back(variable);
        return { variables, isAssignment: false };
      }
      variables.push({ type: "variable", at: variable.at, names: variable.text.split(".") });
      this.#variables.push(variable.text);
      if (!isComma) return { variables, isAssignment: sign.type === "assign" };
      if (context !== "range" || variables.length >= 2) this.#fail(`too many declarations in ${context}`);
      if (!["variable", "rightDelim", "rightParen"].includes(this.#peekNonSpace().type))
        this.#fail("range can only initialize variables");
    }
  }

  #command(): CommandNode {
    const { at } = this.#peekNonSpace();
    const args: ArgumentNode[] = [];
    for (;;) {
      this.#peekNonSpace();
      const operand = this.#operand();
      if (operand) args.push(operand);
      const token = this.#next();
      if (token.type === "space") continue;
      if (token.type === "rightDelim" || token.type === "rightParen") this.#back(token);
      else if (token.type !== "pipe") this.#unexpected(token, "operand");
      break;
    }
    if (args.length === 0) this.#fail("empty command");
    return { type: "command", at, args };
  }

  #operand(): ArgumentNode | undefined {
    const node = this.#term();
    if (!node || this.#peek().type !== "field") return node;
    const { at } = this.#peek();
    const names: string[] = [];
    while (this.#peek().type === "field") names.push(this.#next().text.slice(1));
    switch (node.type) {
      case "field":
      case "variable":
        return { ...node, at, names: [...node.names, ...names] };
      case "bool":
      case "string":
      case "number":
      case "nil":
      case "dot":
        return this.#fail(`unexpected . after term ${goQuote(nodeText(node))}`);
      default:
        return { type: "chain", at, of: node, names };
    }
  }

  #term(): ArgumentNode | undefined {
    const token = this.#nextNonSpace();
    const { at, text } = token;
    switch (token.type) {
      case "identifier":
        if (!this.#parsing.hasFunction(text)) this.#fail(`function ${goQuote(text)} not defined`);
        return { type: "identifier", at, name: text };
      case "dot":
      case "nil":
        return { type: token.type, at };
      case "variable":
        if (!this.#variables.includes(text)) this.#fail(`undefined variable ${goQuote(text)}`);
        return { type: "variable", at, names: [text] };
      case "field":
        return { type: "field", at, names: [text.slice(1)] };
      case "bool":
        return { type: "bool", at, value: text === "true" };
      case "charConstant":
      case "complex":
      case "number": {
        const number = readNumber(text, at, token.type);
        return typeof number === "string" ? this.#fail(number) : number;
      }
      case "leftParen":
        return this.#deeper(() => this.#pipeline("parenthesized pipeline", "rightParen"));
      case "string":
      case "rawString":
        return { type: "string", at, literal: text, value: goUnquote(text) ?? this.#fail("invalid syntax") };
      default:
        this.#back(token);
        return undefined;
    }
  }
}

const isEmpty = (node: TemplateNode): boolean =>
  node.type === "text" ? node.text.trim() === "" : node.type === "list" && node.nodes.every(isEmpty);
