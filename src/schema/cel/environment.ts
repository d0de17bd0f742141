// An environment knows which names an expression may use; it makes programs of texts. Follows what apiserver/pkg/cel/environment
// makes of cel-go.
import { type CheckedExpr, check, type Declarations } from "./checker.ts";
import { type CostEstimate, estimateCost, type SizeOf } from "./cost/estimate.ts";
import type { FunctionDeclaration, Library } from "./declarations.ts";
import { type Activation, Frame } from "./frame.ts";
import { checkLiterals } from "./literal-checks.ts";
import { type Macro, macroTable } from "./macros.ts";
import { parse } from "./parser.ts";
import { plan, type StructMaker } from "./planner.ts";
import { type CelProblem, formatProblems } from "./problems.ts";
import { type CelType, isSameType, type StructTypes } from "./types.ts";
import { EvaluationFailure } from "./values/failure.ts";
import type { CelValue } from "./values/value.ts";

/** What one evaluation may cost, upstream's limit for a call. */
export const perCallLimit = 1_000_000;

export interface EnvironmentOptions {
  readonly libraries: readonly Library[];
  readonly variables?: ReadonlyMap<string, CelType>;
  /** The fields of the structs that variables are of. */
  readonly structs?: StructTypes;
  /** Makes values of structs, where expressions may write them (`Object{…}`). */
  readonly makeStruct?: StructMaker;
  /** Types besides those of the libraries, such as structs that expressions may write. */
  readonly types?: readonly CelType[];
}

/** What has gone wrong with an expression before it could be evaluated. */
export class CompilationError extends Error {
  override readonly name = "CompilationError";
  /** Empty if the expression itself is sound. */
  readonly problems: readonly CelProblem[];

  constructor(message: string, problems: readonly CelProblem[] = []) {
    super(message);
    this.problems = problems;
  }
}

/** Why an evaluation has no value, in upstream's words. */
export class EvaluationError extends Error {
  override readonly name = "EvaluationError";
  /** Whether it took more than it may. */
  readonly isOverLimit: boolean;
  /** What it took until then. */
  readonly cost: number;

  constructor(message: string, isOverLimit: boolean, cost: number) {
    super(message);
    this.isOverLimit = isOverLimit;
    this.cost = cost;
  }
}

export interface Evaluation {
  readonly value: CelValue;
  /** What it took, in cel-go's units. */
  readonly cost: number;
}

/** A compiled expression. It keeps nothing of what it is given, so it may be evaluated again and again. */
export interface Program {
  readonly source: string;
  readonly resultType: CelType;
  readonly checked: CheckedExpr;
  /** What an evaluation can cost at least and at most; `sizeOf` says how large variables can be. */
  estimateCost(sizeOf?: SizeOf): CostEstimate;
  /** Throws EvaluationError. `limit` is what it may cost. */
  evaluate(variables: Activation, limit?: number): Evaluation;
}

export interface CelEnvironment {
  /** Throws CompilationError; its message is what upstream's API shows after "compilation failed: ". */
  compile(source: string): Program;
  /** The same environment with more in it. */
  extend(more: Partial<EnvironmentOptions>): CelEnvironment;
}

export function celEnvironment(options: EnvironmentOptions): CelEnvironment {
  return environmentOf(options, vocabularyOf(options.libraries));
}

/** What follows from libraries alone; environments that differ in their variables share it. */
interface Vocabulary {
  readonly macros: ReadonlyMap<string, Macro>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly types: ReadonlyMap<string, CelType>;
}

function vocabularyOf(libraries: readonly Library[]): Vocabulary {
  const functions = new Map<string, FunctionDeclaration>();
  for (const library of libraries)
    for (const { name, overloads } of library.functions ?? []) {
      const before = functions.get(name)?.overloads ?? [];
      functions.set(name, { name, overloads: [...before, ...overloads] });
    }
  const types = libraries.flatMap((library) => library.types ?? []);
  return {
    macros: macroTable(libraries.flatMap((library) => library.macros ?? [])),
    functions,
    types: new Map(types.map((type) => [type.name, type])),
  };
}

function environmentOf(options: EnvironmentOptions, vocabulary: Vocabulary): CelEnvironment {
  const { variables = new Map(), structs = noStructs, makeStruct = refuseStruct } = options;
  const own = new Map((options.types ?? []).map((type) => [type.name, type]));
  const types = { get: (name: string) => vocabulary.types.get(name) ?? own.get(name) };
  const declarations = { variables, structs, types, functions: vocabulary.functions };
  return {
    compile: (source) => compile(source, vocabulary.macros, declarations, makeStruct),
    extend(more) {
      const { libraries = [], variables: others = [] } = more;
      const extended = {
        ...options,
        ...more,
        libraries: [...options.libraries, ...libraries],
        variables: new Map([...variables, ...others]),
        types: [...(options.types ?? []), ...(more.types ?? [])],
      };
      return environmentOf(extended, libraries.length === 0 ? vocabulary : vocabularyOf(extended.libraries));
    },
  };
}

const noStructs: StructTypes = { has: () => false, field: () => undefined };

const refuseStruct: StructMaker = (name) => {
  throw new Error(`nothing was given to make a ${name} with`);
};

function compile(
  source: string,
  macros: ReadonlyMap<string, Macro>,
  declarations: Declarations,
  makeStruct: StructMaker,
): Program {
  const parsed = parse(source, macros);
  if (parsed.expr === undefined) throw new CompilationError(formatProblems(source, parsed.problems), parsed.problems);
  const problems: CelProblem[] = [];
  const checked = check(parsed.expr, parsed.size, declarations, problems);
  if (problems.length === 0) checkLiterals(checked, problems);
  if (problems.length > 0) throw new CompilationError(formatProblems(source, problems), problems);
  return program(source, checked, makeStruct);
}

function program(source: string, checked: CheckedExpr, makeStruct: StructMaker): Program {
  const { step, localCount } = withoutFailure(() => plan(checked, makeStruct));
  return {
    source,
    resultType: checked.type,
    checked,
    estimateCost: (sizeOf) => estimateCost(checked, sizeOf),
    evaluate(variables, limit = perCallLimit) {
      const frame = new Frame(variables, localCount, limit);
      try {
        return { value: step(frame), cost: frame.cost };
      } catch (failure) {
        if (failure instanceof EvaluationFailure)
          throw new EvaluationError(failure.message, failure.isFinal, frame.cost);
        throw failure;
      }
    },
  };
}

/** A conversion of a literal may fail before anything is evaluated. */
function withoutFailure<T>(run: () => T): T {
  try {
    return run();
  } catch (failure) {
    if (failure instanceof EvaluationFailure)
      throw new CompilationError(`program instantiation failed: ${failure.message}`);
    throw failure;
  }
}

/** Whether a program gives one of the types; `dyn` may turn out to be any. */
export function hasResultType(program: Program, ...types: readonly CelType[]): boolean {
  return types.some((type) => isSameType(program.resultType, type));
}
