// Go's text/template for values of JSON, with kubectl's functions. Follows text/template/exec.go.
import { sprint } from "../go/format.ts";
import { goQuote } from "../go/quote.ts";
import {
  byteLength,
  entryOf,
  type GoMap,
  type GoValue,
  goFloat,
  integerOf,
  isMap,
  sortedKeys,
  typeName,
} from "../go/value.ts";
import { FunctionError, TemplateError } from "./error.ts";
import { isTrue, shortCircuits, type TemplateFunction, templateFunctions } from "./functions.ts";
import type {
  AnyNode,
  ArgumentNode,
  BranchNode,
  CommandNode,
  InvocationNode,
  ListNode,
  NumberNode,
  PipeNode,
  TemplateNode,
} from "./nodes.ts";
import { nodeText } from "./nodes.ts";
import { type ParsedTemplate, parseTemplate } from "./parser.ts";

export interface Template {
  /** Throws TemplateError; what was written until then has been written. */
  execute(data: GoMap, write: (text: string) => void): void;
}

export interface TemplateOptions {
  /** A key that is not there ends the template instead of printing `<no value>`. */
  readonly missingKeyFails?: boolean;
  /** A template that takes more steps is endless rather than long. */
  readonly mostSteps?: number;
}

/** Throws TemplateError with Go's words. */
export function compileTemplate(
  name: string,
  text: string,
  { missingKeyFails = false, mostSteps = 10_000_000 }: TemplateOptions = {},
): Template {
  const parsed = parseTemplate(name, text, (word) => templateFunctions.has(word));
  return {
    execute: (data, write) => {
      const execution = new Execution(parsed, name, { missingKeyFails, mostSteps, write, steps: 0, written: 0 }, 0);
      execution.run({ value: data, isBoxed: false });
    },
  };
}

/** Templates may call each other this deep; Go allows 100,000, with a stack that grows. */
const mostDepth = 500;
/** Nobody reads more than this. */
const mostWritten = 2 ** 30;

/** A value, and whether Go sees it through an `interface {}`: that shows in errors, and nil is only null inside of one. */
interface Operand {
  readonly value: GoValue;
  readonly isBoxed: boolean;
}
const plain = (value: GoValue): Operand => ({ value, isBoxed: false });
const boxed = (value: GoValue): Operand => ({ value, isBoxed: value !== undefined });
const invalid: Operand = { value: undefined, isBoxed: false };

interface SharedState {
  readonly missingKeyFails: boolean;
  readonly mostSteps: number;
  readonly write: (text: string) => void;
  steps: number;
  written: number;
}

type Signal = "break" | "continue" | undefined;

class Execution {
  readonly #parsed: ParsedTemplate;
  readonly #name: string;
  readonly #shared: SharedState;
  readonly #depth: number;
  readonly #variables: { name: string; operand: Operand }[] = [];
  #node: AnyNode | undefined;

  constructor(parsed: ParsedTemplate, name: string, shared: SharedState, depth: number) {
    this.#parsed = parsed;
    this.#name = name;
    this.#shared = shared;
    this.#depth = depth;
  }

  run(dot: Operand): void {
    const root = this.#parsed.templates.get(this.#name);
    if (!root) this.#fail(`${goQuote(this.#name)} is an incomplete or empty template`);
    this.#variables.push({ name: "$", operand: dot });
    this.#walk(dot, root);
  }

  #fail(message: string): never {
    if (!this.#node) throw new TemplateError(`template: ${this.#name}: ${message}`);
    const before = this.#parsed.text.slice(0, this.#node.at);
    const lineStart = before.lastIndexOf("\n") + 1;
    const line = before.split("\n").length;
    const column = byteLength(before.slice(lineStart));
    const where = `${this.#parsed.name}:${line}:${column}`;
    throw new TemplateError(
      `template: ${where}: executing ${goQuote(this.#name)} at <${nodeText(this.#node)}>: ${message}`,
    );
  }

  #write(text: string): void {
    this.#shared.written += text.length;
    if (this.#shared.written > mostWritten) this.#fail(`exceeded maximum output (${mostWritten})`);
    this.#shared.write(text);
  }

  #step(node: AnyNode): void {
    this.#node = node;
    const { mostSteps } = this.#shared;
    if (++this.#shared.steps > mostSteps) this.#fail(`exceeded maximum steps (${mostSteps})`);
  }

  // Nodes that write.

  #walk(dot: Operand, node: TemplateNode): Signal {
    this.#step(node);
    switch (node.type) {
      case "text":
        this.#write(node.text);
        return undefined;
      case "action": {
        const operand = this.#pipeline(dot, node.pipe);
        if (node.pipe.variables.length > 0) return undefined;
        this.#node = node;
        this.#write(operand.value === undefined ? "<no value>" : sprint([operand.value]));
        return undefined;
      }
      case "list":
        return this.#walkAll(dot, node);
      case "if":
      case "with":
        return this.#ifOrWith(dot, node);
      case "range":
        return this.#range(dot, node);
      case "template":
        this.#invoke(dot, node);
        return undefined;
      case "break":
      case "continue":
        return node.type;
      default:
        return undefined;
    }
  }

  #walkAll(dot: Operand, { nodes }: ListNode): Signal {
    for (const node of nodes) {
      const signal = this.#walk(dot, node);
      if (signal) return signal;
    }
    return undefined;
  }

  #ifOrWith(dot: Operand, { type, pipe, list, elseList }: BranchNode): Signal {
    const mark = this.#variables.length;
    const operand = this.#pipeline(dot, pipe);
    let signal: Signal;
    if (isTrue(operand.value)) signal = this.#walk(type === "with" ? operand : dot, list);
    else if (elseList) signal = this.#walk(dot, elseList);
    this.#variables.length = mark;
    return signal;
  }

  #range(dot: Operand, node: BranchNode): Signal {
    const before = this.#variables.length;
    const { value } = this.#pipeline(dot, node.pipe);
    const mark = this.#variables.length;
    let count = 0;
    let signal: Signal;
    for (const [index, element] of this.#elements(value, node)) {
      count++;
      this.#setLoopVariables(node.pipe, index, element);
      signal = this.#walk(element, node.list);
      this.#variables.length = mark;
      if (signal === "break") break;
    }
    signal = undefined;
    if (count === 0 && node.elseList) signal = this.#walk(dot, node.elseList);
    this.#variables.length = before;
    return signal;
  }

  *#elements(value: GoValue, node: BranchNode): Generator<readonly [Operand, Operand]> {
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) {
      for (const [i, element] of value.entries()) yield [plain(BigInt(i)), boxed(element)];
    } else if (isMap(value)) {
      for (const key of sortedKeys(value)) yield [plain(key), boxed(entryOf(value, key))];
    } else {
      const count = integerOf(value);
      if (count === undefined) this.#fail(`range can't iterate over ${sprint([value])}`);
      if (node.pipe.variables.length > 1) this.#fail(`can't use ${count} to iterate over more than one variable`);
      for (let i = 0n; i < count; i++) {
        this.#step(node);
        yield [invalid, plain(i)];
      }
    }
  }

  #setLoopVariables({ variables, isAssignment }: PipeNode, index: Operand, element: Operand): void {
    const [first, second] = variables;
    if (!first) return;
    if (!isAssignment) {
      const top = this.#variables.length;
      this.#variables[top - 1] = { name: (second ?? first).names[0] as string, operand: element };
      if (second) this.#variables[top - 2] = { name: first.names[0] as string, operand: index };
      return;
    }
    this.#assign(first.names[0] as string, second ? index : element);
    if (second) this.#assign(second.names[0] as string, element);
  }

  #invoke(dot: Operand, node: InvocationNode): void {
    if (!this.#parsed.templates.has(node.name)) this.#fail(`template ${goQuote(node.name)} not defined`);
    if (this.#depth === mostDepth) this.#fail(`exceeded maximum template depth (${mostDepth})`);
    const inner = node.pipe ? this.#pipeline(dot, node.pipe) : invalid;
    new Execution(this.#parsed, node.name, this.#shared, this.#depth + 1).run(inner);
  }

  // Values.

  #pipeline(dot: Operand, pipe: PipeNode): Operand {
    this.#node = pipe;
    let operand: Operand | undefined;
    for (const command of pipe.commands) {
      const { value } = this.#command(dot, command, operand);
      operand = plain(value === null ? undefined : value);
    }
    const result = operand ?? invalid;
    for (const { names } of pipe.variables) {
      const name = names[0] as string;
      if (pipe.isAssignment) this.#assign(name, result);
      else this.#variables.push({ name, operand: result });
    }
    return result;
  }

  #assign(name: string, operand: Operand): void {
    const variable = this.#variables.findLast((one) => one.name === name);
    if (!variable) this.#fail(`undefined variable: ${name}`);
    variable.operand = operand;
  }

  #command(dot: Operand, command: CommandNode, final: Operand | undefined): Operand {
    const [first] = command.args;
    const args = command.args.slice(1);
    const hasArgs = args.length > 0 || final !== undefined;
    switch (first?.type) {
      case "field":
      case "chain":
      case "variable":
        if (first.type === "variable" && first.names.length === 1) break;
        return this.#fields(dot, first, hasArgs);
      case "identifier":
        return this.#call(dot, first.name, { node: command, at: first, args, final });
    }
    if (!first) return invalid;
    if (first.type !== "pipe") this.#node = first;
    if (hasArgs) this.#fail(`can't give argument to non-function ${nodeText(first)}`);
    if (first.type === "nil") this.#fail("nil is not a command");
    return this.#argument(dot, first);
  }

  /** A value of any type, as an argument or as the first word of a command. */
  #argument(dot: Operand, node: ArgumentNode): Operand {
    this.#step(node);
    switch (node.type) {
      case "dot":
        return dot;
      case "nil":
        return invalid;
      case "field":
      case "chain":
      case "variable":
        return this.#fields(dot, node, false);
      case "pipe":
        return this.#pipeline(dot, node);
      case "identifier":
        return this.#call(dot, node.name, { node, at: node, args: [], final: undefined });
      case "number":
        return plain(this.#number(node));
      default:
        return plain(node.value);
    }
  }

  #number({ literal, complex, float, int }: NumberNode): GoValue {
    if (complex) return complex;
    const isInteger = literal.startsWith("'") || (/^0[xX]/.test(literal) && !/[pP]/.test(literal));
    if (float !== undefined && !isInteger && /[.eEpP]/.test(literal)) return goFloat(float);
    return int ?? this.#fail(`${literal} overflows int`);
  }

  #fields(dot: Operand, node: Extract<ArgumentNode, { names: unknown }>, hasArgs: boolean): Operand {
    this.#node = node;
    let names = node.names;
    let operand = dot;
    if (node.type === "variable") {
      const name = names[0];
      const variable = this.#variables.findLast((one) => one.name === name);
      if (!variable) return this.#fail(`undefined variable: ${name}`);
      operand = variable.operand;
      names = names.slice(1);
    } else if (node.type === "chain") {
      if (node.of.type === "nil") this.#fail(`indirection through explicit nil in ${nodeText(node)}`);
      operand = this.#argument(dot, node.of);
    }
    for (const [i, name] of names.entries()) operand = this.#field(operand, name, hasArgs && i === names.length - 1);
    return operand;
  }

  #field({ value, isBoxed }: Operand, name: string, hasArgs: boolean): Operand {
    if (value === undefined) {
      if (this.#shared.missingKeyFails) this.#fail(`nil data; no entry for key ${goQuote(name)}`);
      return invalid;
    }
    if (value === null) return this.#fail(`nil pointer evaluating interface {}.${name}`);
    if (!isMap(value))
      return this.#fail(`can't evaluate field ${name} in type ${isBoxed ? "interface {}" : typeName(value)}`);
    if (hasArgs) this.#fail(`${name} is not a method but has arguments`);
    const entry = entryOf(value, name);
    if (entry === undefined && this.#shared.missingKeyFails) this.#fail(`map has no entry for key ${goQuote(name)}`);
    return boxed(entry);
  }

  // Functions.

  #call(dot: Operand, name: string, call: FunctionCall): Operand {
    this.#node = call.at;
    const { args, final } = call;
    const called = templateFunctions.get(name);
    if (!called) return this.#fail(`${goQuote(name)} is not a defined function`);
    this.#checkCount(name, called, args.length, args.length + (final ? 1 : 0));
    if (shortCircuits.has(name)) return this.#shortCircuit(dot, name === "or", call);
    const operands = args.map((arg, i) => this.#typedArgument(dot, called.parameters[i] ?? called.rest, arg));
    if (final) operands.push(this.#typed(final, called.parameters[args.length] ?? called.rest));
    try {
      const result = called.call(operands.map(({ value }) => value));
      return name === "index" ? boxed(result) : plain(result);
    } catch (error) {
      if (!(error instanceof FunctionError)) throw error;
      this.#node = call.node;
      return this.#fail(
        `error calling ${name}: ${error.message.replace("non-function", `non-function ${calleeOf(call)}`)}`,
      );
    }
  }

  #checkCount(name: string, { parameters, rest }: TemplateFunction, given: number, count: number): void {
    if (rest !== undefined) {
      if (count < parameters.length)
        this.#fail(`wrong number of args for ${name}: want at least ${parameters.length} got ${given}`);
    } else if (count !== parameters.length)
      this.#fail(`wrong number of args for ${name}: want ${parameters.length} got ${count}`);
  }

  #shortCircuit(dot: Operand, stopsAt: boolean, { args, final }: FunctionCall): Operand {
    let operand = invalid;
    for (const arg of args) {
      operand = this.#argument(dot, arg);
      if (isTrue(operand.value) === stopsAt) return operand;
    }
    return final ?? operand;
  }

  #typedArgument(dot: Operand, type: string | undefined, node: ArgumentNode): Operand {
    this.#node = node;
    if (type !== "string") return this.#argument(dot, node);
    if (node.type === "nil") this.#fail("cannot assign nil to string");
    if (node.type === "bool" || node.type === "number") this.#fail(`expected string; found ${nodeText(node)}`);
    return this.#typed(this.#argument(dot, node), type);
  }

  #typed(operand: Operand, type: string | undefined): Operand {
    if (type !== "string" || typeof operand.value === "string") return operand;
    if (operand.value === undefined) this.#fail("invalid value; expected string");
    const found = operand.value === null ? "interface {}" : typeName(operand.value);
    return this.#fail(`wrong type for value; expected string; got ${found}`);
  }
}

interface FunctionCall {
  /** What an error of the function names. */
  readonly node: AnyNode;
  /** What an error of the call names. */
  readonly at: AnyNode;
  readonly args: readonly ArgumentNode[];
  readonly final: Operand | undefined;
}

const calleeOf = ({ args, final }: FunctionCall): string => (args[0] ? nodeText(args[0]) : sprint([final?.value]));
