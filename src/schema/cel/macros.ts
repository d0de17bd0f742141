// Macros: calls that become other expressions while they are parsed. Follows cel-go's parser/macro.go, ext/comprehensions.go and
// cel/library.go, so that the cost of an expression is the same.
import { accumulatorName, type Comprehension, type Expr } from "./ast.ts";
import type { CelValue } from "./values/value.ts";

/** Makes nodes that stand where the macro was called. */
export interface MacroContext {
  readonly offset: number;
  nextId(): number;
}

/** A call with this name and number of arguments, on something (`isMember`) or on nothing. */
export interface Macro {
  readonly name: string;
  readonly argumentCount: number;
  readonly isMember: boolean;
  /** Undefined leaves the call as it is. */
  expand(build: MacroBuilder, target: Expr, args: readonly Expr[]): Expr | undefined;
}

/** The macro was called wrongly. */
export class MacroError extends Error {
  override readonly name = "MacroError";
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export function macroTable(macros: readonly Macro[]): Map<string, Macro> {
  return new Map(macros.map((macro) => [`${macro.name}:${macro.argumentCount}:${macro.isMember}`, macro]));
}

export function expandMacro(
  macro: Macro,
  context: MacroContext,
  target: Expr | undefined,
  args: readonly Expr[],
): Expr | undefined {
  const build = macroBuilder(context);
  return macro.expand(build, target ?? build.literal(null), args);
}

export type MacroBuilder = ReturnType<typeof macroBuilder>;

function macroBuilder(context: MacroContext) {
  const { offset } = context;
  const node = () => ({ id: context.nextId(), offset });
  return {
    offset,
    literal: (value: CelValue): Expr => ({ kind: "literal", ...node(), value }),
    ident: (name: string): Expr => ({ kind: "ident", ...node(), name }),
    accumulator: (): Expr => ({ kind: "ident", ...node(), name: accumulatorName }),
    call: (name: string, ...args: readonly Expr[]): Expr => ({
      kind: "call",
      ...node(),
      target: undefined,
      name,
      args,
    }),
    memberCall: (name: string, target: Expr, ...args: readonly Expr[]): Expr => ({
      kind: "call",
      ...node(),
      target,
      name,
      args,
    }),
    list: (...elements: readonly Expr[]): Expr => ({ kind: "list", ...node(), elements, optional: new Set() }),
    map: (): Expr => ({ kind: "map", ...node(), entries: [] }),
    test: (operand: Expr, field: string): Expr => ({ kind: "select", ...node(), operand, field, isTest: true }),
    fold: (parts: Omit<Comprehension, "kind" | "id" | "offset" | "accumulator"> & { accumulator?: string }): Expr => ({
      kind: "comprehension",
      ...node(),
      accumulator: accumulatorName,
      ...parts,
    }),
  };
}

/** The name an argument is, which stands for each element. */
function variableName(arg: Expr | undefined): string {
  if (arg?.kind !== "ident") throw new MacroError("argument must be a simple name", arg?.offset ?? 0);
  if (arg.name === accumulatorName || arg.name === "__result__")
    throw new MacroError("iteration variable overwrites accumulator variable", arg.offset);
  return arg.name;
}

interface Quantifier {
  readonly init: CelValue;
  condition(build: MacroBuilder): Expr;
  step(build: MacroBuilder, predicate: Expr): Expr;
  result(build: MacroBuilder): Expr;
}

const all: Quantifier = {
  init: true,
  condition: (build) => build.call("@not_strictly_false", build.accumulator()),
  step: (build, predicate) => build.call("_&&_", build.accumulator(), predicate),
  result: (build) => build.accumulator(),
};

const exists: Quantifier = {
  init: false,
  condition: (build) => build.call("@not_strictly_false", build.call("!_", build.accumulator())),
  step: (build, predicate) => build.call("_||_", build.accumulator(), predicate),
  result: (build) => build.accumulator(),
};

const existsOne: Quantifier = {
  init: 0,
  condition: (build) => build.literal(true),
  step: (build, predicate) =>
    build.call("_?_:_", predicate, build.call("_+_", build.accumulator(), build.literal(1)), build.accumulator()),
  result: (build) => build.call("_==_", build.accumulator(), build.literal(1)),
};

function quantifier(name: string, { init, condition, step, result }: Quantifier): Macro {
  return {
    name,
    argumentCount: 2,
    isMember: true,
    expand(build, range, [name, predicate]) {
      const variable = variableName(name);
      if (predicate === undefined) return undefined;
      return build.fold({
        range,
        variable,
        variable2: undefined,
        init: build.literal(init),
        condition: condition(build),
        step: step(build, predicate),
        result: result(build),
      });
    },
  };
}

function quantifierOfTwo(name: string, { init, condition, step, result }: Quantifier): Macro {
  return {
    name,
    argumentCount: 3,
    isMember: true,
    expand(build, range, [first, second, predicate]) {
      const names = twoNames(first, second);
      if (predicate === undefined) return undefined;
      return build.fold({
        range,
        ...names,
        init: build.literal(init),
        condition: condition(build),
        step: step(build, predicate),
        result: result(build),
      });
    },
  };
}

function twoNames(first: Expr | undefined, second: Expr | undefined) {
  const variable = variableName(first);
  const variable2 = variableName(second);
  if (variable === variable2) throw new MacroError(`duplicate variable name: ${variable}`, second?.offset ?? 0);
  return { variable, variable2 };
}

/** `step`, but only for elements that pass the filter, if there is one. */
function filtered(build: MacroBuilder, filter: Expr | undefined, step: Expr): Expr {
  return filter ? build.call("_?_:_", filter, step, build.accumulator()) : step;
}

function mapMacro(argumentCount: 2 | 3): Macro {
  return {
    name: "map",
    argumentCount,
    isMember: true,
    expand(build, range, args) {
      const variable = variableName(args[0]);
      const filter = argumentCount === 3 ? args[1] : undefined;
      const transform = args[argumentCount - 1];
      if (transform === undefined) return undefined;
      const init = build.list();
      const condition = build.literal(true);
      const step = build.call("_+_", build.accumulator(), build.list(transform));
      return build.fold({
        range,
        variable,
        variable2: undefined,
        init,
        condition,
        step: filtered(build, filter, step),
        result: build.accumulator(),
      });
    },
  };
}

const filterMacro: Macro = {
  name: "filter",
  argumentCount: 2,
  isMember: true,
  expand(build, range, [name, predicate]) {
    const variable = variableName(name);
    if (name === undefined || predicate === undefined) return undefined;
    const init = build.list();
    const condition = build.literal(true);
    const step = build.call("_+_", build.accumulator(), build.list(name));
    return build.fold({
      range,
      variable,
      variable2: undefined,
      init,
      condition,
      step: filtered(build, predicate, step),
      result: build.accumulator(),
    });
  },
};

const hasMacro: Macro = {
  name: "has",
  argumentCount: 1,
  isMember: false,
  expand(build, _, [arg]) {
    if (arg?.kind !== "select" || arg.isTest)
      throw new MacroError("invalid argument to has() macro", arg?.offset ?? build.offset);
    return build.test(arg.operand, arg.field);
  },
};

export const standardMacros: readonly Macro[] = [
  hasMacro,
  quantifier("all", all),
  quantifier("exists", exists),
  quantifier("exists_one", existsOne),
  quantifier("existsOne", existsOne),
  mapMacro(2),
  mapMacro(3),
  filterMacro,
];

/** `transformList`, `transformMap`, `transformMapEntry`: what makes the first accumulator, and what adds to it. */
function transform(
  name: string,
  argumentCount: 3 | 4,
  init: (build: MacroBuilder) => Expr,
  add: (build: MacroBuilder, key: Expr, value: Expr) => Expr,
): Macro {
  return {
    name,
    argumentCount,
    isMember: true,
    expand(build, range, args) {
      const names = twoNames(args[0], args[1]);
      const filter = argumentCount === 4 ? args[2] : undefined;
      const key = args[0];
      const value = args[argumentCount - 1];
      if (key === undefined || value === undefined) return undefined;
      const start = init(build);
      const condition = build.literal(true);
      const step = filtered(build, filter, add(build, key, value));
      return build.fold({ range, ...names, init: start, condition, step, result: build.accumulator() });
    },
  };
}

function transforms(
  name: string,
  init: (build: MacroBuilder) => Expr,
  add: (build: MacroBuilder, key: Expr, value: Expr) => Expr,
): readonly Macro[] {
  return [transform(name, 3, init, add), transform(name, 4, init, add)];
}

export const twoVariableMacros: readonly Macro[] = [
  quantifierOfTwo("all", all),
  quantifierOfTwo("exists", exists),
  quantifierOfTwo("existsOne", existsOne),
  quantifierOfTwo("exists_one", existsOne),
  ...transforms(
    "transformList",
    (build) => build.list(),
    (build, _, value) => build.call("_+_", build.accumulator(), build.list(value)),
  ),
  ...transforms(
    "transformMap",
    (build) => build.map(),
    (build, key, value) => build.call("cel.@mapInsert", build.accumulator(), key, value),
  ),
  ...transforms(
    "transformMapEntry",
    (build) => build.map(),
    (build, _, value) => build.call("cel.@mapInsert", build.accumulator(), value),
  ),
];
