// A checked expression becomes closures, once; evaluating it is calling the outermost. What a step costs is part of it. Follows
// cel-go's interpreter/planner.go and runtimecost.go: constants cost nothing, a name with its fields and indices ("attribute") costs one
// more than it has of them.
import {
  accumulatorName,
  type CallExpr,
  type Comprehension,
  type Expr,
  type ListLiteral,
  type MapLiteral,
  type Select,
  type StructLiteral,
} from "./ast.ts";
import { isPresent, read, readOptional } from "./attributes.ts";
import type { CheckedExpr } from "./checker.ts";
import { type CallCost, callCost } from "./cost/call-cost.ts";
import { baseCosts } from "./cost/units.ts";
import type { Overload } from "./declarations.ts";
import { planFold } from "./fold.ts";
import type { Frame, Step } from "./frame.ts";
import type { CelType } from "./types.ts";
import { isEqual } from "./values/equality.ts";
import { EvaluationFailure, fail, noSuchOverload } from "./values/failure.ts";
import { ArrayList } from "./values/list.ts";
import { EntryMap } from "./values/map.ts";
import { none } from "./values/optional.ts";
import { type CelValue, isOfType } from "./values/value.ts";

/** Makes the value of a struct from its fields. */
export type StructMaker = (name: string, fields: ReadonlyMap<string, CelValue>) => CelValue;

export interface Plan {
  readonly step: Step;
  readonly localCount: number;
}

/** A part of the plan; `constant` is set if it always has that value. */
export interface PlanPart {
  readonly step: Step;
  readonly constant?: CelValue;
}

export function plan(checked: CheckedExpr, makeStruct: StructMaker): Plan {
  const planner = new Planner(checked, makeStruct);
  const { step } = planner.plan(checked.expr);
  return { step, localCount: planner.localCount };
}

/** Conversions of literals are computed once. */
const conversionNames = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "dyn",
  "int",
  "string",
  "timestamp",
  "type",
  "uint",
]);

const constantPart = (constant: CelValue): PlanPart => ({ step: () => constant, constant });

export class Planner {
  readonly #checked: CheckedExpr;
  readonly #makeStruct: StructMaker;
  /** The places of local variables; the last of a name hides the others. */
  readonly #locals: { readonly name: string; readonly place: number }[] = [];
  localCount = 0;

  constructor(checked: CheckedExpr, makeStruct: StructMaker) {
    this.#checked = checked;
    this.#makeStruct = makeStruct;
  }

  plan(expr: Expr): PlanPart {
    switch (expr.kind) {
      case "literal":
        return constantPart(expr.value);
      case "ident":
      case "select":
        return this.#isAttribute(expr) ? { step: charged(this.#attribute(expr), 1) } : this.#planName(expr);
      case "call":
        return this.#planCall(expr);
      case "list":
        return this.#planList(expr);
      case "map":
        return this.#planMap(expr);
      case "struct":
        return { step: this.#planStruct(expr) };
      case "comprehension":
        return { step: this.#planComprehension(expr) };
    }
  }

  /** Whatever is resolved by a way from a variable or value; the way is charged step by step, and the whole once more. */
  #isAttribute(expr: Expr): boolean {
    switch (expr.kind) {
      case "ident":
        return this.#checked.referenceOf(expr)?.kind !== "type";
      case "select":
        return !expr.isTest && this.#checked.referenceOf(expr)?.kind !== "type";
      case "call":
        return ["_[_]", "_[?_]", "_?._", "_?_:_"].includes(expr.name);
      default:
        return false;
    }
  }

  #planName(expr: Expr): PlanPart {
    const reference = this.#checked.referenceOf(expr);
    if (reference?.kind === "type") return constantPart({ kind: "type", type: reference.type });
    if (expr.kind !== "select") throw new Error("a name that is no type is an attribute");
    return { step: this.#planTest(expr) };
  }

  #planTest({ operand, field }: Select): Step {
    const step = this.#operand(operand);
    return (frame) => {
      const value = step(frame);
      frame.charge(baseCosts.selectAndIdent);
      return isPresent(value, field);
    };
  }

  /** What a field or an index is read from. */
  #operand(expr: Expr): Step {
    return this.#isAttribute(expr) ? this.#attribute(expr) : this.plan(expr).step;
  }

  /** The attribute without the cost of the whole. */
  #attribute(expr: Expr): Step {
    const reference = this.#checked.referenceOf(expr);
    if (expr.kind === "ident" || (expr.kind === "select" && reference?.kind === "variable"))
      return this.#variable(reference?.kind === "variable" ? reference.name : "");
    if (expr.kind === "select") return qualified(this.#operand(expr.operand), constantPart(expr.field), read);
    if (expr.kind !== "call") throw new Error("only names, fields, indices and choices are attributes");
    const [first, second, third] = expr.args;
    if (!first || !second) throw new Error("an operator has operands");
    if (third) return this.#choice(first, second, third);
    return qualified(this.#operand(first), this.#index(second), expr.name === "_[_]" ? read : readOptional);
  }

  #variable(name: string): Step {
    for (let i = this.#locals.length - 1; i >= 0; i--) {
      const local = this.#locals[i];
      if (local?.name !== name) continue;
      const { place } = local;
      return (frame) => {
        const value = frame.locals[place];
        if (value instanceof EvaluationFailure) throw value;
        return value ?? null;
      };
    }
    return (frame) => {
      const value = frame.variables.get(name);
      return value === undefined ? fail(`no such attribute(s): ${name}`) : value;
    };
  }

  /** An index that is computed, and is no attribute, costs one more for being resolved. */
  #index(expr: Expr): PlanPart {
    const part = this.plan(expr);
    if (part.constant !== undefined || this.#isAttribute(expr)) return part;
    return { step: charged(part.step, 1) };
  }

  #choice(condition: Expr, yes: Expr, no: Expr): Step {
    const test = this.plan(condition).step;
    const whenTrue = this.#operand(yes);
    const whenFalse = this.#operand(no);
    return (frame) => {
      const value = test(frame);
      if (typeof value !== "boolean") return noSuchOverload();
      return value ? whenTrue(frame) : whenFalse(frame);
    };
  }

  // — calls —

  #planCall(expr: CallExpr): PlanPart {
    const [first, second] = expr.args;
    if (expr.name === "_?_:_") return { step: this.#attribute(expr) };
    if (this.#isAttribute(expr)) return { step: charged(this.#attribute(expr), 1) };
    if (expr.target === undefined && first) {
      if (expr.name === "_||_" && second) return { step: logical(this.plan(first).step, this.plan(second).step, true) };
      if (expr.name === "_&&_" && second)
        return { step: logical(this.plan(first).step, this.plan(second).step, false) };
      if (expr.name === "@not_strictly_false") return { step: notStrictlyFalse(this.plan(first).step) };
    }
    if (expr.target && first && (expr.name === "or" || expr.name === "orValue"))
      return { step: alternative(this.plan(expr.target).step, this.plan(first).step, expr.name === "or") };
    const reference = this.#checked.referenceOf(expr);
    if (reference?.kind !== "function") throw new Error(`call of ${expr.name} was not resolved`);
    const operands = expr.target && !reference.isQualified ? [expr.target, ...expr.args] : expr.args;
    const parts = operands.map((operand) => this.plan(operand));
    const evaluate = this.#dispatch(reference.overloads, operands);
    const { overloads, name } = reference;
    const [only] = overloads;
    const membership = name === "@in" && only?.id === "in_list" ? constantMembership(parts) : undefined;
    if (membership) return { step: membership };
    const [argument] = parts;
    if (parts.length === 1 && argument?.constant !== undefined && conversionNames.has(name))
      return constantPart(evaluate(argument.constant));
    const cost = callCost(name, overloads.length === 1 ? (only?.id ?? "") : "");
    return {
      step: strictCall(
        parts.map((part) => part.step),
        evaluate,
        cost,
      ),
    };
  }

  /** Chooses the overload while planning where types say enough, else each time by what the arguments are. */
  #dispatch(overloads: readonly Overload[], operands: readonly Expr[]): Overload["evaluate"] {
    const [only, ...others] = overloads;
    if (only === undefined) throw new Error("a call that type-checks has an overload");
    const isStatic = operands.every(
      (operand) => !["dyn", "error", "null"].includes(this.#checked.typeOf(operand).kind),
    );
    const takesAnything = only.parameters.every((type) => type.kind === "parameter" || type.kind === "dyn");
    // The checker lets null stand for these, so what an argument is shows only when it is there.
    const takesNull = only.parameters.some((type) => ["opaque", "struct", "timestamp", "duration"].includes(type.kind));
    if (others.length === 0 && ((isStatic && !takesNull) || takesAnything)) return only.evaluate;
    return byArguments(overloads, operands.length);
  }

  // — literals —

  #planList({ elements, optional }: ListLiteral): PlanPart {
    const parts = elements.map((element) => this.plan(element));
    const constants = constantsOf(parts);
    if (constants && optional.size === 0) return constantPart(new ArrayList(constants));
    const steps = parts.map((part) => part.step);
    const step: Step = (frame) => {
      const values: CelValue[] = [];
      for (const [i, element] of steps.entries()) {
        const value = element(frame);
        const kept = optional.has(i) ? unwrapped(value) : value;
        if (kept !== undefined) values.push(kept);
      }
      frame.charge(baseCosts.listCreate);
      return new ArrayList(values);
    };
    return { step };
  }

  #planMap({ entries }: MapLiteral): PlanPart {
    const keys = entries.map(({ key }) => this.plan(key));
    const values = entries.map(({ value }) => this.plan(value));
    const make = (key: (i: number) => CelValue, value: (i: number) => CelValue, replaces = false) => {
      const map = new EntryMap();
      for (const [i, { isOptional }] of entries.entries()) {
        const kept = isOptional ? unwrapped(value(i)) : value(i);
        if (kept !== undefined) map.insert(key(i), kept, replaces);
      }
      return map;
    };
    const constants = constantsOf([...keys, ...values]);
    if (constants && !entries.some(({ isOptional }) => isOptional))
      return constantPart(
        make(
          (i) => constants[i] ?? null,
          (i) => constants[keys.length + i] ?? null,
          true, // cel-go does not look at keys of a map of constants that stand twice
        ),
      );
    const step: Step = (frame) => {
      const map = make(
        (i) => keys[i]?.step(frame) ?? null,
        (i) => values[i]?.step(frame) ?? null,
      );
      frame.charge(baseCosts.mapCreate);
      return map;
    };
    return { step };
  }

  #planStruct(expr: StructLiteral): Step {
    const { name } = this.#checked.typeOf(expr);
    const makeStruct = this.#makeStruct;
    const fields = expr.fields.map((field) => ({ ...field, step: this.plan(field.value).step }));
    return (frame) => {
      const values = new Map<string, CelValue>();
      for (const field of fields) {
        const value = field.step(frame);
        const kept = field.isOptional ? unwrapped(value) : value;
        if (kept !== undefined) values.set(field.name, kept);
      }
      frame.charge(baseCosts.structCreate);
      return makeStruct(name, values);
    };
  }

  #planComprehension(expr: Comprehension): Step {
    const range = this.plan(expr.range).step;
    const init = this.plan(expr.init).step;
    const depth = this.#locals.length;
    const accumulator = this.#declare(expr.accumulator);
    const variable = this.#declare(expr.variable);
    const variable2 = expr.variable2 === undefined ? undefined : this.#declare(expr.variable2);
    const condition = this.plan(expr.condition);
    const step = this.plan(expr.step).step;
    this.#locals.length = depth + 1;
    const result = this.plan(expr.result).step;
    this.#locals.length = depth;
    const isHidden = expr.accumulator === accumulatorName;
    return planFold({ isHidden, range, init, accumulator, variable, variable2, condition, step, result });
  }

  #declare(name: string): number {
    const place = this.#locals.length;
    this.#locals.push({ name, place });
    this.localCount = Math.max(this.localCount, this.#locals.length);
    return place;
  }
}

/**
 * Chooses the overload each time, by what the arguments are. Of objects without a type nothing is known before, so policies choose at every
 * step: for one and two arguments that is done without making a list of them.
 */
function byArguments(overloads: readonly Overload[], count: number): Overload["evaluate"] {
  const fitting = overloads.filter(({ parameters }) => parameters.length === count);
  const [first = [], second = []] = [0, 1].map((i) => fitting.map(({ parameters }) => parameters[i] as CelType));
  const evaluations = fitting.map(({ evaluate }) => evaluate);
  if (count === 1)
    return (value: CelValue) => {
      for (let i = 0; i < evaluations.length; i++)
        if (isOfType(value, first[i] as CelType)) return (evaluations[i] as Overload["evaluate"])(value);
      return noSuchOverload();
    };
  if (count === 2)
    return (left: CelValue, right: CelValue) => {
      for (let i = 0; i < evaluations.length; i++)
        if (isOfType(left, first[i] as CelType) && isOfType(right, second[i] as CelType))
          return (evaluations[i] as Overload["evaluate"])(left, right);
      return noSuchOverload();
    };
  return (...args: CelValue[]) => {
    const overload = fitting.find(({ parameters }) => parameters.every((type, i) => isOfType(args[i] ?? null, type)));
    return overload ? overload.evaluate(...args) : noSuchOverload();
  };
}

function charged(step: Step, cost: number): Step {
  return (frame) => {
    const value = step(frame);
    frame.charge(cost);
    return value;
  };
}

function qualified(operand: Step, key: PlanPart, readKey: (value: CelValue, key: CelValue) => CelValue): Step {
  const { constant, step } = key;
  if (constant === undefined)
    return (frame) => {
      const value = operand(frame);
      return readKey(value, step(frame));
    };
  if (readKey === readOptional)
    return (frame) => {
      const value = readOptional(operand(frame), constant);
      if (value !== none) frame.charge(baseCosts.selectAndIdent);
      return value;
    };
  return (frame) => {
    const value = operand(frame);
    frame.charge(baseCosts.selectAndIdent);
    return readKey(value, constant);
  };
}

/** What an optional element has; undefined if it leaves nothing. */
function unwrapped(value: CelValue): CelValue | undefined {
  if (typeof value === "object" && value !== null && "kind" in value && value.kind === "optional") return value.value;
  return fail("cannot initialize optional entry from non-optional value");
}

function constantsOf(parts: readonly PlanPart[]): CelValue[] | undefined {
  const constants: CelValue[] = [];
  for (const { constant } of parts) {
    if (constant === undefined) return undefined;
    constants.push(constant);
  }
  return constants;
}

/** `||` (decided by true) and `&&` (decided by false): a side that decides makes up for a failure of the other. */
function logical(left: Step, right: Step, decisive: boolean): Step {
  return (frame) => {
    const first = truthOrFailure(left, frame);
    if (first === decisive) return decisive;
    const second = truthOrFailure(right, frame);
    if (second === decisive) return decisive;
    if (typeof first === "object") throw first;
    if (typeof second === "object") throw second;
    return !decisive;
  };
}

function truthOrFailure(step: Step, frame: Frame): boolean | EvaluationFailure {
  try {
    const value = step(frame);
    return typeof value === "boolean" ? value : new EvaluationFailure("no such overload");
  } catch (failure) {
    if (failure instanceof EvaluationFailure && !failure.isFinal) return failure;
    throw failure;
  }
}

/** `optional.or(other)` and `optional.orValue(value)`, which cost nothing: what stands for the absent is only evaluated then. */
function alternative(step: Step, otherwise: Step, isOptional: boolean): Step {
  return (frame) => {
    const value = step(frame);
    if (typeof value !== "object" || value === null || !("kind" in value) || value.kind !== "optional")
      return noSuchOverload();
    if (value.value === undefined) return otherwise(frame);
    return isOptional ? value : value.value;
  };
}

function notStrictlyFalse(step: Step): Step {
  return (frame) => {
    const value = truthOrFailure(step, frame);
    frame.charge(1);
    return value !== false;
  };
}

/** `x in [1, 2, 3]` is a lookup that costs nothing, if all elements are simple. Undefined if they are not. */
function constantMembership([value, list]: readonly PlanPart[]): Step | undefined {
  if (!value || !(list?.constant instanceof ArrayList)) return undefined;
  const { elements } = list.constant;
  if (
    !elements.every(
      (element) => typeof element === "string" || typeof element === "number" || typeof element === "boolean",
    )
  )
    return undefined;
  const simple = new Set<unknown>(elements);
  return (frame) => {
    const wanted = value.step(frame);
    if (typeof wanted !== "object") return simple.has(wanted);
    return elements.some((element) => isEqual(element, wanted));
  };
}

function strictCall(steps: readonly Step[], evaluate: Overload["evaluate"], cost: CallCost): Step {
  const [first, second] = steps;
  if (typeof cost === "number") return cheapCall(steps, evaluate, cost);
  const price = cost;
  if (first && steps.length === 1)
    return (frame) => {
      const value = first(frame);
      frame.charge(price([value]));
      return evaluate(value);
    };
  if (first && second && steps.length === 2)
    return (frame) => {
      const left = first(frame);
      const right = second(frame);
      frame.charge(price([left, right]));
      return evaluate(left, right);
    };
  return (frame) => {
    const args = steps.map((step) => step(frame));
    frame.charge(price(args));
    return evaluate(...args);
  };
}

/** A call whose cost is always the same: most operators. */
function cheapCall(steps: readonly Step[], evaluate: Overload["evaluate"], cost: number): Step {
  const [first, second] = steps;
  if (first && steps.length === 1)
    return (frame) => {
      const value = first(frame);
      frame.charge(cost);
      return evaluate(value);
    };
  if (first && second && steps.length === 2)
    return (frame) => {
      const left = first(frame);
      const right = second(frame);
      frame.charge(cost);
      return evaluate(left, right);
    };
  return (frame) => {
    const args = steps.map((step) => step(frame));
    frame.charge(cost);
    return evaluate(...args);
  };
}
