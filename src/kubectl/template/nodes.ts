// The tree of a template, and each node as Go writes it in its errors. Follows text/template/parse/node.go.
import { goQuote } from "../go/quote.ts";
import type { GoComplex } from "../go/value.ts";

interface Located {
  /** Where it stands in the text of the template, in UTF-16 units. */
  readonly at: number;
}

export interface ListNode extends Located {
  readonly type: "list";
  readonly nodes: readonly TemplateNode[];
}
export interface TextNode extends Located {
  readonly type: "text";
  readonly text: string;
}
export interface ActionNode extends Located {
  readonly type: "action";
  readonly pipe: PipeNode;
}
export interface BranchNode extends Located {
  readonly type: "if" | "with" | "range";
  readonly pipe: PipeNode;
  readonly list: ListNode;
  readonly elseList: ListNode | undefined;
}
export interface InvocationNode extends Located {
  readonly type: "template";
  readonly name: string;
  readonly pipe: PipeNode | undefined;
}
export interface MarkerNode extends Located {
  readonly type: "break" | "continue" | "end" | "else";
}
export type TemplateNode = ListNode | TextNode | ActionNode | BranchNode | InvocationNode | MarkerNode;

export interface PipeNode extends Located {
  readonly type: "pipe";
  readonly isAssignment: boolean;
  readonly variables: readonly VariableNode[];
  readonly commands: readonly CommandNode[];
}
export interface CommandNode extends Located {
  readonly type: "command";
  readonly args: readonly ArgumentNode[];
}
export interface IdentifierNode extends Located {
  readonly type: "identifier";
  readonly name: string;
}
export interface FieldNode extends Located {
  readonly type: "field";
  readonly names: readonly string[];
}
export interface VariableNode extends Located {
  readonly type: "variable";
  /** The variable, with its `$`, and the fields of it. */
  readonly names: readonly string[];
}
export interface ChainNode extends Located {
  readonly type: "chain";
  readonly of: ArgumentNode;
  readonly names: readonly string[];
}
export interface ConstantNode extends Located {
  readonly type: "dot" | "nil";
}
export interface BoolNode extends Located {
  readonly type: "bool";
  readonly value: boolean;
}
export interface StringNode extends Located {
  readonly type: "string";
  readonly literal: string;
  readonly value: string;
}
export interface NumberNode extends Located {
  readonly type: "number";
  readonly literal: string;
  readonly int: bigint | undefined;
  readonly float: number | undefined;
  readonly complex: GoComplex | undefined;
}
export type ArgumentNode =
  | PipeNode
  | IdentifierNode
  | FieldNode
  | VariableNode
  | ChainNode
  | ConstantNode
  | BoolNode
  | StringNode
  | NumberNode;

export type AnyNode = TemplateNode | CommandNode | ArgumentNode;

export function nodeText(node: AnyNode): string {
  switch (node.type) {
    case "list":
      return node.nodes.map(nodeText).join("");
    case "text":
      return node.text;
    case "action":
      return `{{${nodeText(node.pipe)}}}`;
    case "if":
    case "with":
    case "range":
      return branchText(node);
    case "template":
      return `{{template ${goQuote(node.name)}${node.pipe ? ` ${nodeText(node.pipe)}` : ""}}}`;
    case "break":
    case "continue":
    case "end":
    case "else":
      return `{{${node.type}}}`;
    case "command":
      return node.args.map((arg) => (arg.type === "pipe" ? `(${nodeText(arg)})` : nodeText(arg))).join(" ");
    default:
      return argumentText(node);
  }
}

function branchText({ type, pipe, list, elseList }: BranchNode): string {
  const otherwise = elseList ? `{{else}}${nodeText(elseList)}` : "";
  return `{{${type} ${nodeText(pipe)}}}${nodeText(list)}${otherwise}{{end}}`;
}

function argumentText(node: ArgumentNode): string {
  switch (node.type) {
    case "pipe":
      return pipeText(node);
    case "identifier":
      return node.name;
    case "field":
      return node.names.map((name) => `.${name}`).join("");
    case "variable":
      return node.names.join(".");
    case "chain": {
      const head = node.of.type === "pipe" ? `(${nodeText(node.of)})` : nodeText(node.of);
      return head + node.names.map((name) => `.${name}`).join("");
    }
    case "dot":
      return ".";
    case "nil":
      return "nil";
    case "bool":
      return String(node.value);
    default:
      return node.literal;
  }
}

function pipeText({ variables, isAssignment, commands }: PipeNode): string {
  const declared = variables.map(nodeText).join(", ");
  const head = variables.length === 0 ? "" : `${declared} ${isAssignment ? "=" : ":="} `;
  return head + commands.map(nodeText).join(" | ");
}
