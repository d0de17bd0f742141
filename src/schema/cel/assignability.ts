// Which types may stand for which, and what type parameters stand for. Follows cel-go's checker/types.go.
import {
  type CelType,
  dynType,
  isDynOrError,
  isSameType,
  listType,
  mapType,
  opaqueType,
  parameter,
  typeType,
} from "./types.ts";

/** What each type parameter stands for, by its name. An attempt that fails is taken back, without a copy of all that is known. */
export class Substitutions {
  readonly #known = new Map<string, CelType>();
  readonly #changes: { readonly name: string; readonly before: CelType | undefined }[] = [];

  get(name: string): CelType | undefined {
    return this.#known.get(name);
  }

  set(name: string, type: CelType): void {
    this.#changes.push({ name, before: this.#known.get(name) });
    this.#known.set(name, type);
  }

  /** Whether the attempt succeeded; if not, it leaves nothing behind. */
  attempt(run: () => boolean): boolean {
    const start = this.#changes.length;
    if (run()) return true;
    for (const { name, before } of this.#changes.splice(start).reverse()) {
      if (before) this.#known.set(name, before);
      else this.#known.delete(name);
    }
    return false;
  }
}

/** Whether `actual` is assignable to `wanted`; binds type parameters in `known`. */
export function isAssignable(substitutions: Substitutions, actual: CelType, wanted: CelType): boolean {
  if (wanted.kind === "parameter") {
    const { isValid, hadMeaning } = bind(substitutions, actual, wanted);
    if (isValid) return true;
    if (hadMeaning) return false;
  }
  if (actual.kind === "parameter") return bind(substitutions, wanted, actual).isValid;
  if (isDynOrError(actual) || isDynOrError(wanted)) return true;
  if (actual.kind === "null") return isNullable(wanted);
  if (wanted.kind === "null") return isNullable(actual);
  switch (actual.kind) {
    case "type":
      return wanted.kind === "type";
    case "opaque":
    case "list":
    case "map":
      return (
        actual.kind === wanted.kind &&
        actual.name === wanted.name &&
        areAssignable(substitutions, actual.parameters, wanted.parameters)
      );
    default:
      return actual.kind === wanted.kind && actual.name === wanted.name;
  }
}

export function areAssignable(known: Substitutions, actual: readonly CelType[], wanted: readonly CelType[]): boolean {
  return actual.length === wanted.length && actual.every((type, i) => isAssignable(known, type, wanted[i] ?? dynType));
}

/** Absent from a message is null, so structs and what is like them may be compared with it. */
function isNullable(type: CelType): boolean {
  return ["null", "opaque", "struct", "timestamp", "duration"].includes(type.kind);
}

interface Binding {
  readonly isValid: boolean;
  /** Whether the parameter stood for something before. */
  readonly hadMeaning: boolean;
}

function bind(substitutions: Substitutions, type: CelType, param: CelType): Binding {
  if (isSameType(type, param)) return { isValid: true, hadMeaning: true };
  const meaning = substitutions.get(param.name);
  if (meaning === undefined) {
    if (isWithin(substitutions, param, type)) return { isValid: false, hadMeaning: false };
    substitutions.set(param.name, type);
    return { isValid: true, hadMeaning: false };
  }
  if (isSameType(type, meaning)) return { isValid: true, hadMeaning: true };
  if (!isAssignable(substitutions, type, meaning)) return { isValid: false, hadMeaning: true };
  const general = mostGeneral(type, meaning);
  if (!isWithin(substitutions, param, general)) substitutions.set(param.name, general);
  return { isValid: true, hadMeaning: true };
}

export function mostGeneral(a: CelType, b: CelType): CelType {
  return isAsGeneral(a, b) ? a : b;
}

function isAsGeneral(a: CelType, b: CelType): boolean {
  if (a.kind === "dyn" || a.kind === "parameter") return true;
  if (b.kind === "dyn" || b.kind === "parameter" || a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  if (a.name !== b.name || a.parameters.length !== b.parameters.length) return false;
  return a.parameters.every((type, i) => isAsGeneral(type, parameter(b, i)));
}

/** Whether a type parameter is a part of a type, which then cannot be what it stands for. */
function isWithin(known: Substitutions, param: CelType, type: CelType): boolean {
  if (isSameType(param, type)) return true;
  if (type.kind === "parameter") {
    const meaning = known.get(type.name);
    return meaning !== undefined && isWithin(known, param, meaning);
  }
  return type.parameters.some((part) => isWithin(known, param, part));
}

/** The type with its parameters replaced by what they are bound to; unbound ones stay, or become dyn on request. */
export function substitute(known: Substitutions, type: CelType, unknownIsDyn = false): CelType {
  if (type.kind === "parameter") {
    const meaning = known.get(type.name);
    if (meaning) return substitute(known, meaning, unknownIsDyn);
    return unknownIsDyn ? dynType : type;
  }
  if (type.parameters.length === 0) return type;
  const parameters = type.parameters.map((part) => substitute(known, part, unknownIsDyn));
  const [first = dynType, second = dynType] = parameters;
  if (type.kind === "list") return listType(first);
  if (type.kind === "map") return mapType(first, second);
  if (type.kind === "type") return typeType(first);
  return opaqueType(type.name, ...parameters);
}
