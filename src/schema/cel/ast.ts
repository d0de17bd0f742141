// The syntax tree of an expression. Macros are gone by the time it is made: `all`, `map` and the like are comprehensions.
import type { CelValue } from "./values/value.ts";

interface Node {
  /** Unique in its tree; what the checker finds out is kept under it. */
  readonly id: number;
  /** Where in the source the node is reported: its operator, or its first character. */
  readonly offset: number;
}

export interface Literal extends Node {
  readonly kind: "literal";
  readonly value: CelValue;
}

export interface Ident extends Node {
  readonly kind: "ident";
  readonly name: string;
}

export interface Select extends Node {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** Made by `has()`: asks whether the field is there. */
  readonly isTest: boolean;
}

export interface CallExpr extends Node {
  readonly kind: "call";
  readonly target: Expr | undefined;
  readonly name: string;
  readonly args: readonly Expr[];
}

export interface ListLiteral extends Node {
  readonly kind: "list";
  readonly elements: readonly Expr[];
  /** Which of the elements are optionals that leave no element if they have no value (`[?x]`). */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry extends Node {
  readonly key: Expr;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface MapLiteral extends Node {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface StructField extends Node {
  readonly name: string;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface StructLiteral extends Node {
  readonly kind: "struct";
  readonly name: string;
  readonly fields: readonly StructField[];
}

/** A fold over a list or map: `accumulator = init; for (variable of range) if (condition) accumulator = step; return result`. */
export interface Comprehension extends Node {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly variable: string;
  /** With it, `variable` is the index or key, and this the element or value. */
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export type Expr = Literal | Ident | Select | CallExpr | ListLiteral | MapLiteral | StructLiteral | Comprehension;

/** The name of the accumulator of macros: `@` keeps it apart from whatever a user can write. */
export const accumulatorName = "@result";

/** `a.b.c` as one name, undefined if the expression is anything else. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name;
  if (expr.kind !== "select" || expr.isTest) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}
