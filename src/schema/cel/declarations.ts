// How functions are declared: each overload says what it takes, what it gives and how it is computed.
import type { Macro } from "./macros.ts";
import type { CelType, StructTypes } from "./types.ts";
import type { CelValue } from "./values/value.ts";

export interface Overload {
  /** cel-go's name of it: costs go by it. */
  readonly id: string;
  readonly isMember: boolean;
  /** Of a member, the first is what it is called on. */
  readonly parameters: readonly CelType[];
  readonly result: CelType;
  // Whoever calls has compared the arguments with the parameters, so an overload names the types that it declares.
  readonly evaluate: (...args: any[]) => CelValue;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** A function of its own name (`size(x)`) or, with dots in it, of a namespace (`sets.contains(x, y)`). */
export function global(
  id: string,
  parameters: readonly CelType[],
  result: CelType,
  evaluate: Overload["evaluate"],
): Overload {
  return { id, isMember: false, parameters, result, evaluate };
}

/** A function that is called on its first parameter (`x.size()`). */
export function member(
  id: string,
  parameters: readonly CelType[],
  result: CelType,
  evaluate: Overload["evaluate"],
): Overload {
  return { id, isMember: true, parameters, result, evaluate };
}

/** What a group of functions adds to an environment. */
export interface Library {
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Names that stand for types (`int`, `net.IP`). */
  readonly types?: readonly CelType[];
}

export function fn(name: string, ...overloads: readonly Overload[]): FunctionDeclaration {
  return { name, overloads };
}

/** Structs that can be made and read: `fields` by the name of the struct. */
export function structTypes(structs: ReadonlyMap<string, ReadonlyMap<string, CelType>>): StructTypes {
  return {
    has: (struct) => structs.has(struct),
    field: (struct, field) => structs.get(struct)?.get(field),
  };
}
