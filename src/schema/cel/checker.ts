// Finds the type of each part of an expression, and which overloads its calls mean. Follows cel-go's checker/checker.go.
import { areAssignable, isAssignable, mostGeneral, Substitutions, substitute } from "./assignability.ts";
import {
  type CallExpr,
  type Comprehension,
  type Expr,
  type Ident,
  type ListLiteral,
  type MapLiteral,
  qualifiedName,
  type Select,
  type StructLiteral,
} from "./ast.ts";
import type { FunctionDeclaration, Overload } from "./declarations.ts";
import type { CelProblem } from "./problems.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  dynType,
  errorType,
  formatCall,
  formatType,
  intType,
  isDynOrError,
  isOptionalType,
  isSameType,
  listType,
  mapType,
  nullType,
  optionalType,
  parameter,
  type StructTypes,
  stringType,
  typeParameter,
  typeType,
} from "./types.ts";
import { type CelValue, typeOf } from "./values/value.ts";

/** What names mean to an expression. */
export interface Declarations {
  readonly variables: ReadonlyMap<string, CelType>;
  /** Names of types: they are values, too. */
  readonly types: { get(name: string): CelType | undefined };
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly structs: StructTypes;
}

/** What a name or a call turned out to mean. */
export type NameReference =
  /** A variable, under its full name. */
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "type"; readonly type: CelType }
  /** The overloads that fit; `isQualified` if what looked like the target is a part of the function's name. */
  | {
      readonly kind: "function";
      readonly name: string;
      readonly overloads: readonly Overload[];
      readonly isQualified: boolean;
    };

export interface CheckedExpr {
  readonly expr: Expr;
  readonly type: CelType;
  typeOf(expr: Expr): CelType;
  referenceOf(expr: Expr): NameReference | undefined;
}

export function check(expr: Expr, size: number, declarations: Declarations, problems: CelProblem[]): CheckedExpr {
  const checker = new Checker(size, declarations, problems);
  checker.check(expr);
  return checker.checked(expr);
}

class Checker {
  readonly #declarations: Declarations;
  /** How many calls of `format` are around what is being checked. */
  #formats = 0;
  readonly #problems: CelProblem[];
  readonly #types: (CelType | undefined)[];
  readonly #references = new Map<number, NameReference>();
  readonly #scopes: Map<string, CelType>[] = [];
  readonly #known = new Substitutions();
  #parameterCount = 0;

  constructor(size: number, declarations: Declarations, problems: CelProblem[]) {
    this.#declarations = declarations;
    this.#problems = problems;
    this.#types = new Array(size + 1);
  }

  checked(expr: Expr): CheckedExpr {
    const typeOf = (part: Expr) => substitute(this.#known, this.#typeOf(part), true);
    return { expr, type: typeOf(expr), typeOf, referenceOf: (part) => this.#references.get(part.id) };
  }

  check(expr: Expr): void {
    switch (expr.kind) {
      case "literal":
        this.#setType(expr, literalType(expr.value));
        break;
      case "ident":
        this.#checkIdent(expr);
        break;
      case "select":
        this.#checkSelect(expr);
        break;
      case "call":
        this.#checkCall(expr);
        break;
      case "list":
        this.#checkList(expr);
        break;
      case "map":
        this.#checkMap(expr);
        break;
      case "struct":
        this.#checkStruct(expr);
        break;
      case "comprehension":
        this.#checkComprehension(expr);
        break;
    }
  }

  #report(message: string, place: { readonly offset: number }): void {
    this.#problems.push({ message, offset: place.offset });
  }

  #setType(expr: Expr, type: CelType): void {
    this.#types[expr.id] = type;
  }

  #typeOf(expr: Expr): CelType {
    return this.#types[expr.id] ?? errorType;
  }

  #isAssignable(actual: CelType, wanted: CelType): boolean {
    return this.#known.attempt(() => isAssignable(this.#known, actual, wanted));
  }

  #newParameter(): CelType {
    return typeParameter(`_var${this.#parameterCount++}`);
  }

  // — names —

  #lookup(name: string): NameReference | undefined {
    for (let i = this.#scopes.length - 1; i >= 0; i--)
      if (this.#scopes[i]?.has(name)) return { kind: "variable", name };
    const plain = name.startsWith(".") ? name.slice(1) : name;
    if (this.#declarations.variables.has(plain)) return { kind: "variable", name: plain };
    const type = this.#declarations.types.get(plain);
    return type && { kind: "type", type };
  }

  #typeOfName(reference: NameReference): CelType {
    if (reference.kind === "type") return typeType(reference.type);
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const type = this.#scopes[i]?.get(reference.name);
      if (type) return type;
    }
    return this.#declarations.variables.get(reference.name) ?? errorType;
  }

  #checkIdent(expr: Ident): void {
    const reference = this.#lookup(expr.name);
    if (reference) {
      this.#references.set(expr.id, reference);
      this.#setType(expr, this.#typeOfName(reference));
      return;
    }
    this.#setType(expr, errorType);
    this.#report(undeclared(expr.name), expr);
  }

  #checkSelect(expr: Select): void {
    // `a.b` may be a name with a dot in it.
    const name = qualifiedName(expr);
    const reference = name === undefined ? undefined : this.#lookup(name);
    if (reference) {
      this.#references.set(expr.id, reference);
      this.#setType(expr, this.#typeOfName(reference));
      return;
    }
    const type = this.#checkField(expr, expr.operand, expr.field, false);
    this.#setType(expr, expr.isTest ? boolType : substitute(this.#known, type));
  }

  #checkField(expr: Expr, operand: Expr, field: string, isOptional: boolean): CelType {
    this.check(operand);
    const operandType = substitute(this.#known, this.#typeOf(operand));
    const isOfOptional = isOptionalType(operandType);
    const type = this.#fieldType(expr, isOfOptional ? parameter(operandType, 0) : operandType, field);
    return isOptional || isOfOptional ? optionalType(type) : type;
  }

  #fieldType(expr: Expr, type: CelType, field: string): CelType {
    switch (type.kind) {
      case "map":
        return parameter(type, 1);
      case "struct": {
        const found = this.#declarations.structs.field(type.name, field);
        if (found) return found;
        this.#report(
          this.#declarations.structs.has(type.name)
            ? `undefined field '${field}'`
            : `unexpected failed resolution of '${type.name}'`,
          expr,
        );
        return errorType;
      }
      case "parameter":
        this.#isAssignable(dynType, type);
        return dynType;
      default:
        if (!isDynOrError(type)) this.#report(`type '${formatType(type)}' does not support field selection`, expr);
        return dynType;
    }
  }

  // — calls —

  #checkCall(expr: CallExpr): void {
    if (expr.name === "_?._") {
      this.#checkOptionalSelect(expr);
      return;
    }
    if (expr.name === "format") this.#formats++;
    this.#checkParts(expr);
    if (expr.name === "format") this.#formats--;
  }

  #checkParts(expr: CallExpr): void {
    for (const arg of expr.args) this.check(arg);
    const { functions } = this.#declarations;
    if (expr.target === undefined) {
      const declared = functions.get(expr.name.replace(/^\./, ""));
      if (declared) this.#resolve(expr, declared, undefined, false);
      else this.#undeclaredCall(expr);
      return;
    }
    const prefix = qualifiedName(expr.target);
    const qualified = prefix === undefined ? undefined : functions.get(`${prefix.replace(/^\./, "")}.${expr.name}`);
    if (qualified) {
      this.#resolve(expr, qualified, undefined, true);
      return;
    }
    this.check(expr.target);
    const declared = functions.get(expr.name);
    if (declared) this.#resolve(expr, declared, expr.target, false);
    else this.#undeclaredCall(expr);
  }

  #undeclaredCall(expr: CallExpr): void {
    this.#setType(expr, errorType);
    this.#report(undeclared(expr.name), expr);
  }

  #checkOptionalSelect(expr: CallExpr): void {
    const [operand, field] = expr.args;
    if (!operand || field?.kind !== "literal" || typeof field.value !== "string")
      throw new Error("the parser makes optional selections of an operand and a name");
    this.#setType(field, stringType);
    const type = this.#checkField(expr, operand, field.value, true);
    this.#setType(expr, substitute(this.#known, type));
  }

  #resolve(expr: CallExpr, declared: FunctionDeclaration, target: Expr | undefined, isQualified: boolean): void {
    const args = target ? [target, ...expr.args] : expr.args;
    const argTypes = args.map((arg) => this.#typeOf(arg));
    if (declared.name === "_&&_" || declared.name === "_||_") {
      this.#checkLogical(expr, declared);
      return;
    }
    const overloads: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of declared.overloads) {
      if (overload.isMember !== (target !== undefined)) continue;
      const overloadResult = this.#tryOverload(overload, argTypes);
      if (overloadResult === undefined) continue;
      overloads.push(overload);
      if (result === undefined) result = overloadResult;
      else if (result.kind !== "dyn" && !isSameType(overloadResult, result)) result = dynType;
    }
    if (result === undefined) {
      const shown = formatCall(
        argTypes.map((type) => substitute(this.#known, type, true)),
        target !== undefined,
      );
      this.#report(`found no matching overload for '${declared.name}' applied to '${shown}'`, expr);
      this.#setType(expr, errorType);
      return;
    }
    this.#references.set(expr.id, { kind: "function", name: declared.name, overloads, isQualified });
    this.#setType(expr, result);
  }

  /** The result of the overload for these arguments, undefined if it does not take them. */
  #tryOverload(overload: Overload, argTypes: readonly CelType[]): CelType | undefined {
    if (overload.parameters.length !== argTypes.length) return undefined;
    const fresh = new Substitutions();
    for (const type of [...overload.parameters, overload.result])
      for (const name of parameterNames(type)) if (!fresh.get(name)) fresh.set(name, this.#newParameter());
    const wanted = overload.parameters.map((type) => substitute(fresh, type));
    if (!this.#known.attempt(() => areAssignable(this.#known, argTypes, wanted))) return undefined;
    return substitute(this.#known, substitute(fresh, overload.result));
  }

  #checkLogical(expr: CallExpr, declared: FunctionDeclaration): void {
    let isSound = true;
    for (const arg of expr.args) {
      const type = this.#typeOf(arg);
      if (this.#isAssignable(type, boolType)) continue;
      this.#report(mismatch(boolType, type), arg);
      isSound = false;
    }
    this.#references.set(expr.id, {
      kind: "function",
      name: declared.name,
      overloads: declared.overloads,
      isQualified: false,
    });
    this.#setType(expr, isSound ? boolType : errorType);
  }

  // — literals —

  /** The type of elements so far and one more. Elements of different types are an error in Kubernetes, but for what is formatted. */
  #join(place: Expr, before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type;
    if (this.#isAssignable(before, type)) return mostGeneral(before, type);
    if (this.#formats > 0) return dynType;
    this.#report(mismatch(before, type), place);
    return errorType;
  }

  /** What is in an optional that stands as an element, a value or a field. */
  #unwrapped(expr: Expr): CelType {
    const type = this.#typeOf(expr);
    if (isOptionalType(type)) return parameter(type, 0);
    if (type.kind !== "dyn") this.#report(mismatch(optionalType(type), type), expr);
    return type;
  }

  #checkList(expr: ListLiteral): void {
    let joined: CelType | undefined;
    for (const [i, element] of expr.elements.entries()) {
      this.check(element);
      const type = expr.optional.has(i) ? this.#unwrapped(element) : this.#typeOf(element);
      joined = this.#join(element, joined, type);
    }
    this.#setType(expr, listType(joined ?? this.#newParameter()));
  }

  #checkMap(expr: MapLiteral): void {
    let keys: CelType | undefined;
    let values: CelType | undefined;
    for (const { key, value, isOptional } of expr.entries) {
      this.check(key);
      keys = this.#join(key, keys, this.#typeOf(key));
      this.check(value);
      values = this.#join(value, values, isOptional ? this.#unwrapped(value) : this.#typeOf(value));
    }
    this.#setType(expr, mapType(keys ?? this.#newParameter(), values ?? this.#newParameter()));
  }

  #checkStruct(expr: StructLiteral): void {
    const name = expr.name.replace(/^\./, "");
    const declared = this.#declarations.types.get(name);
    if (declared === undefined) {
      this.#setType(expr, errorType);
      // Values of unknown structs are not looked at: the name is what is wrong.
      this.#report(undeclared(expr.name), expr);
      return;
    }
    if (declared.kind !== "struct") {
      this.#setType(expr, errorType);
      this.#report(`'${name}' is not a message type`, expr);
      return;
    }
    this.#references.set(expr.id, { kind: "type", type: declared });
    this.#setType(expr, declared);
    for (const field of expr.fields) {
      this.check(field.value);
      const wanted = this.#declarations.structs.field(declared.name, field.name);
      const type = field.isOptional ? this.#unwrapped(field.value) : this.#typeOf(field.value);
      if (wanted && this.#isAssignable(wanted, type)) continue;
      // Upstream's only struct with fixed fields shows a field that it does not have as one of no type.
      const shown = wanted ? formatType(wanted) : "";
      this.#report(
        `expected type of field '${field.name}' is '${shown}' but provided type is '${formatType(type)}'`,
        field,
      );
    }
  }

  #checkComprehension(expr: Comprehension): void {
    this.check(expr.range);
    this.check(expr.init);
    const accumulatorType = this.#typeOf(expr.init);
    this.#scopes.push(new Map([[expr.accumulator, accumulatorType]]));
    this.#scopes.push(this.#iterationScope(expr));
    this.check(expr.condition);
    this.#assertType(expr.condition, boolType);
    this.check(expr.step);
    this.#assertType(expr.step, accumulatorType);
    this.#scopes.pop();
    this.check(expr.result);
    this.#scopes.pop();
    this.#setType(expr, substitute(this.#known, this.#typeOf(expr.result)));
  }

  #iterationScope({ range, variable, variable2 }: Comprehension): Map<string, CelType> {
    const type = substitute(this.#known, this.#typeOf(range));
    const scope = (first: CelType, second: CelType) =>
      new Map(
        variable2 === undefined
          ? [[variable, first]]
          : [
              [variable, first],
              [variable2, second],
            ],
      );
    switch (type.kind) {
      case "list":
        return variable2 === undefined ? scope(parameter(type, 0), dynType) : scope(intType, parameter(type, 0));
      case "map":
        return scope(parameter(type, 0), parameter(type, 1));
      case "dyn":
      case "error":
      case "parameter":
        this.#isAssignable(dynType, type);
        return scope(dynType, dynType);
      default:
        this.#report(
          `expression of type '${formatType(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
          range,
        );
        return scope(errorType, errorType);
    }
  }

  #assertType(expr: Expr, wanted: CelType): void {
    const type = this.#typeOf(expr);
    if (!this.#isAssignable(wanted, type)) this.#report(mismatch(wanted, type), expr);
  }
}

function undeclared(name: string): string {
  return `undeclared reference to '${name}' (in container '')`;
}

function mismatch(wanted: CelType, type: CelType): string {
  return `expected type '${formatType(wanted)}' but found '${formatType(type)}'`;
}

function* parameterNames(type: CelType): Generator<string> {
  if (type.kind === "parameter") yield type.name;
  for (const part of type.parameters) yield* parameterNames(part);
}

function literalType(value: CelValue): CelType {
  switch (typeof value) {
    case "string":
      return stringType;
    case "boolean":
      return boolType;
    case "number":
    case "bigint":
      return intType;
  }
  if (value === null) return nullType;
  if (value instanceof Uint8Array) return bytesType;
  return value.kind === "double" ? doubleType : typeOf(value);
}
