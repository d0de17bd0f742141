// The operators, and functions that every type has. Follows cel-go's common/stdlib/standard.go.
import { type FunctionDeclaration, fn, global, type Library, member, type Overload } from "../declarations.ts";
import { standardMacros } from "../macros.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  stringType,
  timestampType,
  typeParameter,
  typeType,
  uintType,
} from "../types.ts";
import { Double } from "../values/double.ts";
import { type Duration, toDuration } from "../values/duration.ts";
import { compareValues, isEqual, listIncludes } from "../values/equality.ts";
import { fail, noSuchOverload } from "../values/failure.ts";
import { addInts, divideInts, type Int, moduloInts, multiplyInts, negateInt, subtractInts } from "../values/int.ts";
import { concatLists, type ListValue } from "../values/list.ts";
import type { MapValue } from "../values/map.ts";
import { addDuration, type Timestamp, timeBetween } from "../values/timestamp.ts";
import { toUint, type Uint } from "../values/uint.ts";
import { type CelValue, codePointCount, isInt, typeOf } from "../values/value.ts";

const A = typeParameter("A");
const B = typeParameter("B");
const listOfA = listType(A);
const mapOfAB = mapType(A, B);

/** One overload for two operands of each of the types. */
function uniform(id: string, types: Readonly<Record<string, CelType>>, evaluate: Overload["evaluate"]): Overload[] {
  return Object.entries(types).map(([suffix, type]) => global(`${id}_${suffix}`, [type, type], boolType, evaluate));
}

const ordered = {
  bool: boolType,
  int64: intType,
  uint64: uintType,
  double: doubleType,
  string: stringType,
  bytes: bytesType,
  timestamp: timestampType,
  duration: durationType,
};
const numbers = { int64: intType, uint64: uintType, double: doubleType };

/** `<` and the like, also between numbers of different types. */
function ordering(name: string, id: string, holds: (order: number) => boolean): FunctionDeclaration {
  const evaluate = (a: CelValue, b: CelValue) => holds(compareValues(a, b) ?? noSuchOverload());
  const mixed = Object.entries(numbers).flatMap(([left, leftType]) =>
    Object.entries(numbers)
      .filter(([right]) => right !== left)
      .map(([right, rightType]) => global(`${id}_${left}_${right}`, [leftType, rightType], boolType, evaluate)),
  );
  return fn(name, ...uniform(id, ordered, evaluate), ...mixed);
}

/** Arithmetic on the three types of numbers. */
function arithmetic(
  id: string,
  int: (a: Int, b: Int) => Int,
  uint: (a: bigint, b: bigint) => bigint,
  double?: (a: number, b: number) => number,
): Overload[] {
  const overloads = [
    global(`${id}_int64`, [intType, intType], intType, int),
    global(`${id}_uint64`, [uintType, uintType], uintType, (a: Uint, b: Uint) => toUint(uint(a.value, b.value))),
  ];
  if (double)
    overloads.push(
      global(
        `${id}_double`,
        [doubleType, doubleType],
        doubleType,
        (a: Double, b: Double) => new Double(double(a.value, b.value)),
      ),
    );
  return overloads;
}

function divisor(value: bigint, message: string): bigint {
  return value === 0n ? fail(message) : value;
}

const joinBytes = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
};

const addition = fn(
  "_+_",
  ...arithmetic(
    "add",
    addInts,
    (a, b) => a + b,
    (a, b) => a + b,
  ),
  global("add_string", [stringType, stringType], stringType, (a: string, b: string) => a + b),
  global("add_bytes", [bytesType, bytesType], bytesType, joinBytes),
  global("add_list", [listOfA, listOfA], listOfA, concatLists),
  global("add_timestamp_duration", [timestampType, durationType], timestampType, (a: Timestamp, b: Duration) =>
    addDuration(a, b, 1n),
  ),
  global("add_duration_timestamp", [durationType, timestampType], timestampType, (a: Duration, b: Timestamp) =>
    addDuration(b, a, 1n),
  ),
  global("add_duration_duration", [durationType, durationType], durationType, (a: Duration, b: Duration) =>
    toDuration(a.nanoseconds + b.nanoseconds),
  ),
);

const subtraction = fn(
  "_-_",
  ...arithmetic(
    "subtract",
    subtractInts,
    (a, b) => a - b,
    (a, b) => a - b,
  ),
  global("subtract_timestamp_timestamp", [timestampType, timestampType], durationType, timeBetween),
  global("subtract_timestamp_duration", [timestampType, durationType], timestampType, (a: Timestamp, b: Duration) =>
    addDuration(a, b, -1n),
  ),
  global("subtract_duration_duration", [durationType, durationType], durationType, (a: Duration, b: Duration) =>
    toDuration(a.nanoseconds - b.nanoseconds),
  ),
);

/** The element that an index means, which may be written as any number that is whole. */
export function elementAt(list: ListValue, index: CelValue): CelValue | undefined {
  if (isInt(index)) return typeof index === "number" ? list.at(index) : undefined;
  if (typeof index === "object" && index !== null && "kind" in index) {
    if (index.kind === "uint") return list.at(Number(index.value));
    if (index.kind === "double") return Number.isInteger(index.value) ? list.at(index.value) : noSuchOverload();
  }
  return noSuchOverload();
}

/** A key as messages name it. */
export function showKey(key: CelValue): string {
  if (typeof key === "object" && key !== null && "kind" in key && (key.kind === "uint" || key.kind === "double"))
    return String(key.value);
  return String(key);
}

// The planner reads elements itself; these say what types they have.
const indexing = fn(
  "_[_]",
  global("index_list", [listOfA, intType], A, noSuchOverload),
  global("index_map", [mapOfAB, A], B, noSuchOverload),
);

const sizes: readonly [string, CelType, Overload["evaluate"]][] = [
  ["string", stringType, (text: string) => codePointCount(text)],
  ["bytes", bytesType, (bytes: Uint8Array) => bytes.length],
  ["list", listOfA, (list: ListValue) => list.size],
  ["map", mapOfAB, (map: MapValue) => map.size],
];

const logic: readonly FunctionDeclaration[] = [
  // The planner computes these four itself: they do not need all of their arguments.
  fn("_?_:_", global("conditional", [boolType, A, A], A, noSuchOverload)),
  fn("_&&_", global("logical_and", [boolType, boolType], boolType, noSuchOverload)),
  fn("_||_", global("logical_or", [boolType, boolType], boolType, noSuchOverload)),
  fn("@not_strictly_false", global("not_strictly_false", [boolType], boolType, noSuchOverload)),
  fn(
    "!_",
    global("logical_not", [boolType], boolType, (value: boolean) => !value),
  ),
];

export const operators: Library = {
  macros: standardMacros,
  functions: [
    ...logic,
    addition,
    subtraction,
    indexing,
    fn(
      "_*_",
      ...arithmetic(
        "multiply",
        multiplyInts,
        (a, b) => a * b,
        (a, b) => a * b,
      ),
    ),
    fn(
      "_/_",
      ...arithmetic(
        "divide",
        divideInts,
        (a, b) => a / divisor(b, "division by zero"),
        (a, b) => a / b,
      ),
    ),
    fn("_%_", ...arithmetic("modulo", moduloInts, (a, b) => a % divisor(b, "modulus by zero"))),
    fn(
      "-_",
      global("negate_int64", [intType], intType, negateInt),
      global("negate_double", [doubleType], doubleType, (value: Double) => new Double(-value.value)),
    ),
    fn("_==_", global("equals", [A, A], boolType, isEqual)),
    fn(
      "_!=_",
      global("not_equals", [A, A], boolType, (a: CelValue, b: CelValue) => !isEqual(a, b)),
    ),
    ordering("_<_", "less", (order) => order < 0),
    ordering("_<=_", "less_equals", (order) => order <= 0),
    ordering("_>_", "greater", (order) => order > 0),
    ordering("_>=_", "greater_equals", (order) => order >= 0),
    fn(
      "@in",
      global("in_list", [A, listOfA], boolType, (value: CelValue, list: ListValue) => listIncludes(list, value)),
      global("in_map", [A, mapOfAB], boolType, (key: CelValue, map: MapValue) => map.find(key) !== undefined),
    ),
    fn(
      "size",
      ...sizes.flatMap(([name, type, size]) => [
        global(`size_${name}`, [type], intType, size),
        member(`${name}_size`, [type], intType, size),
      ]),
    ),
    fn(
      "type",
      global("type", [A], typeType(A), (value: CelValue) => ({ kind: "type", type: typeOf(value) })),
    ),
    fn(
      "dyn",
      global("to_dyn", [A], dynType, (value: CelValue) => value),
    ),
  ],
  types: [
    boolType,
    intType,
    uintType,
    doubleType,
    stringType,
    bytesType,
    nullType,
    timestampType,
    durationType,
    listType(dynType),
    mapType(dynType, dynType),
    typeType(),
  ],
};
