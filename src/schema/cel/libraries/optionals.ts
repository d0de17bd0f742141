// Values that may be missing. Follows cel-go's cel/library.go (optional types, version 2).
import type { Expr } from "../ast.ts";
import { fn, global, type Library, member } from "../declarations.ts";
import { type Macro, type MacroBuilder, MacroError } from "../macros.ts";
import { boolType, dynType, intType, listType, mapType, optionalType, stringType, typeParameter } from "../types.ts";
import { fail } from "../values/failure.ts";
import { elementsOf, type ListValue, listOf } from "../values/list.ts";
import { none, OptionalValue } from "../values/optional.ts";
import type { CelValue } from "../values/value.ts";

const V = typeParameter("V");
const K = typeParameter("K");
const optionalV = optionalType(V);

/** Whether a value is what its type begins with: 0, "", an empty list. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0 || value === "") return true;
  if (typeof value !== "object") return false;
  if (value instanceof Uint8Array) return value.length === 0;
  switch (value.kind) {
    case "uint":
      return value.value === 0n;
    case "double":
      return value.value === 0;
    case "duration":
      return value.nanoseconds === 0n;
    case "timestamp":
      return value.seconds === 0 && value.nanoseconds === 0;
    case "list":
    case "map":
      return value.size === 0;
    case "optional":
      return value.value === undefined;
    default:
      return false;
  }
}

function unwrapAll(list: ListValue): ListValue {
  const values: CelValue[] = [];
  for (const element of elementsOf(list))
    if (element instanceof OptionalValue && element.value !== undefined) values.push(element.value);
  return listOf(values);
}

/** `optMap` and `optFlatMap`: an expression of the value, if there is one. */
function optionalMacro(name: string, whenPresent: (build: MacroBuilder, expr: Expr) => Expr): Macro {
  return {
    name,
    argumentCount: 2,
    isMember: true,
    expand(build, target, [variable, expr]) {
      if (variable?.kind !== "ident")
        throw new MacroError(`${name}() variable name must be a simple identifier`, variable?.offset ?? 0);
      if (expr === undefined) return undefined;
      const bound = build.fold({
        range: build.list(),
        variable: "#unused",
        variable2: undefined,
        accumulator: variable.name,
        init: build.memberCall("value", target),
        condition: build.literal(false),
        step: build.ident(variable.name),
        result: expr,
      });
      return build.call(
        "_?_:_",
        build.memberCall("hasValue", target),
        whenPresent(build, bound),
        build.memberCall("none", build.ident("optional")),
      );
    },
  };
}

export const optionals: Library = {
  types: [optionalType(dynType)],
  macros: [
    optionalMacro("optMap", (build, expr) => build.memberCall("of", build.ident("optional"), expr)),
    optionalMacro("optFlatMap", (_, expr) => expr),
  ],
  functions: [
    fn(
      "optional.none",
      global("optional_none", [], optionalV, () => none),
    ),
    fn(
      "optional.of",
      global("optional_of", [V], optionalV, (value: CelValue) => new OptionalValue(value)),
    ),
    fn(
      "optional.ofNonZeroValue",
      global("optional_ofNonZeroValue", [V], optionalV, (value: CelValue) =>
        isZero(value) ? none : new OptionalValue(value),
      ),
    ),
    fn("optional.unwrap", global("optional_unwrap", [listType(optionalV)], listType(V), unwrapAll)),
    fn("unwrapOpt", member("optional_unwrapOpt", [listType(optionalV)], listType(V), unwrapAll)),
    fn(
      "first",
      member("list_first", [listType(V)], optionalV, (list: ListValue) => optionalOf(list.at(0))),
    ),
    fn(
      "last",
      member("list_last", [listType(V)], optionalV, (list: ListValue) => optionalOf(list.at(list.size - 1))),
    ),
    fn(
      "hasValue",
      member("optional_hasValue", [optionalV], boolType, (optional: OptionalValue) => optional.value !== undefined),
    ),
    fn(
      "value",
      member("optional_value", [optionalV], V, (optional: OptionalValue) => optional.value ?? absent(optional)),
    ),
    fn(
      "or",
      member(
        "optional_or_optional",
        [optionalV, optionalV],
        optionalV,
        (first: OptionalValue, second: OptionalValue) => (first.value === undefined ? second : first),
      ),
    ),
    fn(
      "orValue",
      member("optional_orValue_value", [optionalV, V], V, (optional: OptionalValue, other: CelValue) =>
        optional.value === undefined ? other : optional.value,
      ),
    ),
    // The planner reads fields and elements itself; these say what types they have.
    fn("_?._", global("select_optional_field", [dynType, stringType], optionalV, fail)),
    fn(
      "_[?_]",
      global("list_optindex_optional_int", [listType(V), intType], optionalV, fail),
      global("optional_list_optindex_optional_int", [optionalType(listType(V)), intType], optionalV, fail),
      global("map_optindex_optional_value", [mapType(K, V), K], optionalV, fail),
      global("optional_map_optindex_optional_value", [optionalType(mapType(K, V)), K], optionalV, fail),
    ),
    fn(
      "_[_]",
      global("optional_list_index_int", [optionalType(listType(V)), intType], optionalV, fail),
      global("optional_map_index_value", [optionalType(mapType(K, V)), K], optionalV, fail),
    ),
  ],
};

function optionalOf(value: CelValue | undefined): OptionalValue {
  return value === undefined ? none : new OptionalValue(value);
}

/** null is a value; only what is undefined is absent. */
function absent(optional: OptionalValue): CelValue {
  return optional.value === null ? null : fail("optional.none() dereference");
}
