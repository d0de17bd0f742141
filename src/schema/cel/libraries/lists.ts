// Functions of lists: Kubernetes' own (apiserver/pkg/cel/library/lists.go, version 0) and cel-go's (ext/lists.go, version 3).
import { type FunctionDeclaration, fn, global, type Library, member } from "../declarations.ts";
import { type Macro, MacroError, standardMacros } from "../macros.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  stringType,
  timestampType,
  typeParameter,
  uintType,
} from "../types.ts";
import { Double } from "../values/double.ts";
import { Duration, toDuration } from "../values/duration.ts";
import { compareValues, isEqual } from "../values/equality.ts";
import { fail, noSuchOverload } from "../values/failure.ts";
import { addInts, type Int } from "../values/int.ts";
import { elementsOf, type ListValue, listOf } from "../values/list.ts";
import { toUint, Uint } from "../values/uint.ts";
import { type CelValue, isInt, typeOf } from "../values/value.ts";

const T = typeParameter("T");
const listOfT = listType(T);

const comparable: readonly CelType[] = [
  intType,
  uintType,
  doubleType,
  boolType,
  durationType,
  timestampType,
  stringType,
  bytesType,
];

function order(a: CelValue, b: CelValue): number {
  return compareValues(a, b) ?? noSuchOverload();
}

function isSorted(list: ListValue): boolean {
  let before: CelValue | undefined;
  for (const element of elementsOf(list)) {
    if (before !== undefined && order(before, element) > 0) return false;
    before = element;
  }
  return true;
}

function extreme(name: string, sign: 1 | -1): (list: ListValue) => CelValue {
  return (list) => {
    let best: CelValue | undefined;
    for (const element of elementsOf(list)) if (best === undefined || order(element, best) * sign > 0) best = element;
    return best ?? fail(`${name} called on empty list`);
  };
}

function sum(zero: CelValue): (list: ListValue) => CelValue {
  return (list) => {
    let total = zero;
    for (const element of elementsOf(list)) total = plus(total, element);
    return total;
  };
}

function plus(a: CelValue, b: CelValue): CelValue {
  if (isInt(a) && isInt(b)) return addInts(a, b);
  if (a instanceof Uint && b instanceof Uint) return toUint(a.value + b.value);
  if (a instanceof Double && b instanceof Double) return new Double(a.value + b.value);
  if (a instanceof Duration && b instanceof Duration) return toDuration(a.nanoseconds + b.nanoseconds);
  return noSuchOverload();
}

function indexOf(list: ListValue, wanted: CelValue): number {
  for (let i = 0; i < list.size; i++) if (isEqual(list.at(i) ?? null, wanted)) return i;
  return -1;
}

function lastIndexOf(list: ListValue, wanted: CelValue): number {
  for (let i = list.size - 1; i >= 0; i--) if (isEqual(list.at(i) ?? null, wanted)) return i;
  return -1;
}

const summable: readonly [CelType, CelValue][] = [
  [intType, 0],
  [uintType, new Uint(0n)],
  [doubleType, new Double(0)],
  [durationType, new Duration(0n)],
];

/** One overload for lists of each type that has an order. */
function forComparable(
  name: string,
  id: string,
  result: (type: CelType) => CelType,
  run: (list: ListValue) => CelValue,
): FunctionDeclaration {
  return fn(name, ...comparable.map((type) => member(`list_${type.name}_${id}`, [listType(type)], result(type), run)));
}

export const kubernetesLists: Library = {
  functions: [
    forComparable("isSorted", "is_sorted_bool", () => boolType, isSorted),
    forComparable("max", "max_element", (type) => type, extreme("max", 1)),
    forComparable("min", "min_element", (type) => type, extreme("min", -1)),
    fn("sum", ...summable.map(([type, zero]) => member(`list_${type.name}_sum`, [listType(type)], type, sum(zero)))),
    fn("indexOf", member("list_a_index_of_int", [listOfT, T], intType, indexOf)),
    fn("lastIndexOf", member("list_a_last_index_of_int", [listOfT, T], intType, lastIndexOf)),
  ],
};

function slice(list: ListValue, start: Int, end: Int): ListValue {
  const range = `cannot slice(${start}, ${end})`;
  if (start < 0 || end < 0) fail(`${range}, negative indexes not supported`);
  if (start > end) fail(`${range}, start index must be less than or equal to end index`);
  if (list.size < end) fail(`${range}, list is length ${list.size}`);
  return listOf([...elementsOf(list)].slice(Number(start), Number(end)));
}

function flatten(list: ListValue, depth: Int = 1): ListValue {
  if (depth < 0) fail("level must be non-negative");
  const elements: CelValue[] = [];
  const visit = (part: ListValue, level: Int) => {
    for (const element of elementsOf(part)) {
      const isList = typeof element === "object" && element !== null && "kind" in element && element.kind === "list";
      if (isList && level > 0) visit(element, Number(level) - 1);
      else elements.push(element);
    }
  };
  visit(list, depth);
  return listOf(elements);
}

function sortBy(list: ListValue, keys: ListValue): ListValue {
  if (list.size !== keys.size)
    fail(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${list.size} and ${keys.size} elements respectively`,
    );
  const pairs = [...elementsOf(list)].map((element, i) => ({ element, key: keys.at(i) ?? null }));
  const [first] = pairs;
  if (first && pairs.some(({ key }) => typeOf(key).name !== typeOf(first.key).name))
    fail("list elements must have the same type");
  return listOf(pairs.sort((a, b) => order(a.key, b.key)).map(({ element }) => element));
}

function distinct(list: ListValue): ListValue {
  const kept: CelValue[] = [];
  for (const element of elementsOf(list)) if (!kept.some((other) => isEqual(element, other))) kept.push(element);
  return listOf(kept);
}

const sortByMacro: Macro = {
  name: "sortBy",
  argumentCount: 2,
  isMember: true,
  expand(build, target, args) {
    if (!["list", "select", "ident", "comprehension", "call"].includes(target.kind))
      throw new MacroError(
        "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        target.offset,
      );
    const name = "@__sortBy_input__";
    const mapMacro = standardMacros.find((macro) => macro.name === "map" && macro.argumentCount === 2);
    const keys = mapMacro?.expand(build, build.ident(name), args);
    if (keys === undefined) return undefined;
    return build.fold({
      range: build.list(),
      variable: "#unused",
      variable2: undefined,
      accumulator: name,
      init: target,
      condition: build.literal(false),
      step: build.ident(name),
      result: build.memberCall("@sortByAssociatedKeys", build.ident(name), keys),
    });
  },
};

export const lists: Library = {
  macros: [sortByMacro],
  functions: [
    fn("slice", member("list_slice", [listOfT, intType, intType], listOfT, slice)),
    fn(
      "flatten",
      member("list_flatten", [listType(listOfT)], listOfT, flatten),
      member("list_flatten_int", [listType(dynType), intType], listType(dynType), flatten),
    ),
    forComparable("sort", "sort", listType, (list) => sortBy(list, list)),
    fn(
      "@sortByAssociatedKeys",
      ...comparable.map((type) =>
        member(`list_${type.name}_sortByAssociatedKeys`, [listOfT, listType(type)], listOfT, sortBy),
      ),
    ),
    fn(
      "lists.range",
      global("lists_range", [intType], listType(intType), (length: Int) =>
        listOf(Array.from({ length: Math.max(0, Number(length)) }, (_, i) => i)),
      ),
    ),
    fn(
      "reverse",
      member("list_reverse", [listOfT], listOfT, (list: ListValue) => listOf([...elementsOf(list)].reverse())),
    ),
    fn("distinct", member("list_distinct", [listOfT], listOfT, distinct)),
  ],
};
