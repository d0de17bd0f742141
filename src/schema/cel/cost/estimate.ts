// What an expression can cost, known before it is evaluated. Follows cel-go's checker/cost.go.
import type { CallExpr, Comprehension, Expr } from "../ast.ts";
import { accumulatorName } from "../ast.ts";
import type { CheckedExpr } from "../checker.ts";
import { type CelType, isOptionalType, parameter } from "../types.ts";
import { codePointCount } from "../values/value.ts";
import { type CallEstimate, type CallNode, estimateCall } from "./call-estimate.ts";
import { add, type Estimate, exactly, multiply, union, unknown } from "./interval.ts";
import { baseCosts } from "./units.ts";

export type CostEstimate = Estimate;

/** How large what a way from a variable leads to can be, e.g. `["self", "spec", "hosts", "@items"]`; undefined if that is not known. */
export type SizeOf = (path: readonly string[]) => Estimate | undefined;

export function estimateCost(checked: CheckedExpr, sizeOf: SizeOf = () => undefined): CostEstimate {
  return new Estimator(checked, sizeOf).cost(checked.expr);
}

type Path = readonly string[];

/** How large the keys and values of a list or map are. */
export interface EntrySizes {
  readonly isList: boolean;
  readonly key: Estimate;
  readonly value: Estimate;
}

interface LocalVariable {
  readonly path: Path;
  readonly size: Estimate | undefined;
  readonly entries: EntrySizes | undefined;
}

class Estimator {
  readonly #checked: CheckedExpr;
  readonly #sizeOf: SizeOf;
  readonly #paths = new Map<number, Path>();
  readonly #sizes = new Map<number, Estimate>();
  readonly #entries = new Map<number, EntrySizes>();
  readonly #locals = new Map<string, LocalVariable[]>();

  constructor(checked: CheckedExpr, sizeOf: SizeOf) {
    this.#checked = checked;
    this.#sizeOf = sizeOf;
  }

  cost(expr: Expr): CostEstimate {
    switch (expr.kind) {
      case "literal":
        return exactly(0);
      case "ident":
        this.#paths.set(expr.id, this.#local(expr.name)?.path ?? [expr.name]);
        return exactly(baseCosts.selectAndIdent);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "comprehension":
        return this.#isBinding(expr) ? this.#binding(expr) : this.#comprehension(expr);
      case "list": {
        const parts = expr.elements.map((element) => this.cost(element));
        const value = largestOf(expr.elements.map((element) => this.#sizeOrUnknown(element)));
        this.#entries.set(expr.id, { isList: true, key: exactly(1), value });
        return add(exactly(baseCosts.listCreate), ...parts);
      }
      case "map": {
        const parts = expr.entries.flatMap((entry) => [this.cost(entry.key), this.cost(entry.value)]);
        const key = largestOf(expr.entries.map((entry) => this.#sizeOrUnknown(entry.key)));
        const value = largestOf(expr.entries.map((entry) => this.#sizeOrUnknown(entry.value)));
        this.#entries.set(expr.id, { isList: false, key, value });
        return add(exactly(baseCosts.mapCreate), ...parts);
      }
      case "struct":
        return add(exactly(baseCosts.structCreate), ...expr.fields.map((field) => this.cost(field.value)));
    }
  }

  #select(expr: Expr & { kind: "select" }): CostEstimate {
    const reference = this.#checked.referenceOf(expr);
    if (reference) {
      if (reference.kind === "variable") this.#paths.set(expr.id, [reference.name]);
      return exactly(baseCosts.selectAndIdent);
    }
    const operand = this.cost(expr.operand);
    // In Kubernetes, has() costs no more than what it looks into.
    if (expr.isTest) return operand;
    this.#paths.set(expr.id, [...this.#path(expr.operand), expr.field]);
    const { kind } = this.#checked.typeOf(expr.operand);
    return ["map", "struct", "parameter"].includes(kind) ? add(operand, exactly(baseCosts.selectAndIdent)) : operand;
  }

  // — calls —

  #call(expr: CallExpr): CostEstimate {
    const [first] = expr.args;
    if (expr.name === "dyn" && first && expr.target === undefined) {
      const cost = this.cost(first);
      this.#copySizes(expr, first);
      return add(exactly(1), cost);
    }
    const argCosts = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.#node(arg));
    const reference = this.#checked.referenceOf(expr);
    const optionalSelect = expr.name === "_?._" ? ["select_optional_field"] : [];
    const overloads = reference?.kind === "function" ? reference.overloads.map(({ id }) => id) : optionalSelect;
    const isMember = expr.target !== undefined && !(reference?.kind === "function" && reference.isQualified);
    const targetCost = expr.target && isMember ? this.cost(expr.target) : exactly(0);
    const target = expr.target && isMember ? this.#node(expr.target) : undefined;
    const name = reference?.kind === "function" ? reference.name : expr.name;
    const sum = add(...argCosts);
    let cost: Estimate | undefined;
    let size: Estimate | undefined;
    for (const overload of overloads) {
      const estimate = this.#overload(expr, { name, overload, target, args }, argCosts, sum);
      cost = cost ? union(cost, estimate.cost) : estimate.cost;
      if (estimate.size) size = size ? union(size, estimate.size) : estimate.size;
      if (first && (overload === "index_list" || overload === "index_map")) {
        size = this.#entrySizes(first)?.value;
        this.#paths.set(expr.id, [...this.#path(first), overload === "index_list" ? "@items" : "@values"]);
      }
      size ??= this.#size(expr);
    }
    if (size) this.#sizes.set(expr.id, size);
    return add(targetCost, cost ?? exactly(0));
  }

  /** Some calls do not evaluate all their arguments; for the others the sum of them is added. */
  #overload(expr: CallExpr, call: CallNode, argCosts: readonly Estimate[], sum: Estimate): CallEstimate {
    const [first = exactly(0), second = exactly(0), third = exactly(0)] = argCosts;
    switch (call.overload) {
      case "logical_or":
      case "logical_and":
        return { cost: { min: first.min, max: add(first, second).max } };
      case "conditional": {
        const [, yes, no] = expr.args;
        if (yes && no) this.#setEntries(expr, unionEntries(this.#entrySizes(yes), this.#entrySizes(no)));
        const [, yesNode, noNode] = call.args;
        const size = union(yesNode?.size ?? unknown, noNode?.size ?? unknown);
        return { cost: add(first, union(second, third)), size };
      }
      case "add_list":
      case "add_string":
      case "add_bytes": {
        const [left, right] = expr.args;
        if (left && right) this.#setEntries(expr, unionEntries(this.#entrySizes(left), this.#entrySizes(right)));
        break;
      }
    }
    const estimate = estimateCall(call, (path) => this.#sizeOf(path));
    return { cost: add(estimate.cost, sum), ...(estimate.size && { size: estimate.size }) };
  }

  #node(expr: Expr): CallNode["args"][number] {
    const path = this.#path(expr);
    return {
      expr,
      path: path[0] === accumulatorName ? [] : path,
      type: this.#checked.typeOf(expr),
      size: this.#size(expr),
    };
  }

  // — comprehensions —

  #comprehension(expr: Comprehension): CostEstimate {
    const before = add(this.cost(expr.range), this.cost(expr.init));
    this.#pushLocal(expr.accumulator, {
      path: this.#path(expr.init),
      size: this.#size(expr.init),
      entries: this.#entrySizes(expr.init),
    });
    this.#pushIteration(expr);
    const iteration = add(this.cost(expr.condition), this.cost(expr.step));
    const stepEntries = this.#entrySizes(expr.step);
    this.#popLocal(expr.variable);
    if (expr.variable2 !== undefined) this.#popLocal(expr.variable2);
    const after = this.cost(expr.result);
    this.#popLocal(expr.accumulator);
    const count = this.#sizeOrUnknown(expr.range);
    if (expr.init.kind === "literal") {
      const size = this.#size(expr.init);
      if (size) this.#sizes.set(expr.id, size);
    } else if (expr.init.kind === "list" || expr.init.kind === "map") {
      this.#sizes.set(expr.id, count);
      this.#setEntries(expr, stepEntries);
    }
    return add(before, after, multiply(count, iteration));
  }

  #pushIteration({ range, variable, variable2 }: Comprehension): void {
    const entries = this.#entrySizes(range);
    const isList = entries ? entries.isList : this.#checked.typeOf(range).kind === "list";
    const path = this.#path(range);
    const local = (step: string, size: Estimate | undefined) => ({ path: [...path, step], size, entries: undefined });
    const values = local(isList ? "@items" : "@values", entries?.value);
    const keys = local(isList ? "@indices" : "@keys", entries?.key);
    if (variable2 === undefined) this.#pushLocal(variable, isList ? values : keys);
    else {
      this.#pushLocal(variable, keys);
      this.#pushLocal(variable2, values);
    }
  }

  /** A comprehension over nothing that only gives a name to its first value. */
  #isBinding({ range, condition, accumulator }: Comprehension): boolean {
    return (
      range.kind === "list" &&
      range.elements.length === 0 &&
      condition.kind === "literal" &&
      condition.value === false &&
      accumulator !== accumulatorName
    );
  }

  #binding(expr: Comprehension): CostEstimate {
    const before = add(this.cost(expr.range), this.cost(expr.init));
    this.#pushLocal(expr.accumulator, {
      path: this.#path(expr.init),
      size: this.#size(expr.init),
      entries: this.#entrySizes(expr.init),
    });
    const result = this.cost(expr.result);
    // The sizes are asked for while the name still means something.
    this.#copySizes(expr, expr.result);
    this.#popLocal(expr.accumulator);
    return add(before, result);
  }

  // — sizes and paths —

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #pushLocal(name: string, local: LocalVariable): void {
    const stack = this.#locals.get(name);
    if (stack) stack.push(local);
    else this.#locals.set(name, [local]);
  }

  #popLocal(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #path(expr: Expr): Path {
    const local = expr.kind === "ident" ? this.#local(expr.name) : undefined;
    return local?.path ?? this.#paths.get(expr.id) ?? [];
  }

  #size(expr: Expr): Estimate | undefined {
    const known = this.#sizes.get(expr.id) ?? literalSize(expr);
    if (known) return known;
    const declared = this.#sizeOf(this.#path(expr));
    if (declared) {
      this.#sizes.set(expr.id, declared);
      return declared;
    }
    if (isScalar(this.#checked.typeOf(expr))) return exactly(1);
    return expr.kind === "ident" ? this.#local(expr.name)?.size : undefined;
  }

  #sizeOrUnknown(expr: Expr): Estimate {
    return this.#size(expr) ?? unknown;
  }

  #entrySizes(expr: Expr): EntrySizes | undefined {
    const known = this.#entries.get(expr.id);
    return known ?? (expr.kind === "ident" ? this.#local(expr.name)?.entries : undefined);
  }

  #setEntries(expr: Expr, entries: EntrySizes | undefined): void {
    if (entries) this.#entries.set(expr.id, entries);
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from);
    if (size) this.#sizes.set(to.id, size);
    this.#setEntries(to, this.#entrySizes(from));
  }
}

function largestOf(sizes: readonly Estimate[]): Estimate {
  return sizes.length === 0 ? exactly(0) : sizes.reduce(union);
}

function unionEntries(a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined {
  return a && b && { isList: a.isList, key: union(a.key, b.key), value: union(a.value, b.value) };
}

function literalSize(expr: Expr): Estimate | undefined {
  switch (expr.kind) {
    case "literal":
      if (typeof expr.value === "string") return exactly(codePointCount(expr.value));
      return exactly(expr.value instanceof Uint8Array ? expr.value.length : 1);
    case "list":
      return exactly(expr.elements.length);
    case "map":
      return exactly(expr.entries.length);
    default:
      return undefined;
  }
}

function isScalar(type: CelType): boolean {
  if (isOptionalType(type)) return isScalar(parameter(type, 0));
  return ["bool", "double", "duration", "int", "timestamp", "uint"].includes(type.kind);
}
