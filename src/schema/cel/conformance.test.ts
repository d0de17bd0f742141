// The language's own conformance data, as far as it concerns Kubernetes' environment. What is left out, and why, is in `skips`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tests as root } from "@bufbuild/cel-spec/testdata/conformance.js";
import { CompilationError, EvaluationError } from "./environment.ts";
import { kubernetesEnvironment } from "./kubernetes.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  isSameType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  timestampType,
  uintType,
} from "./types.ts";
import { Double } from "./values/double.ts";
import { isEqual } from "./values/equality.ts";
import { toInt } from "./values/int.ts";
import { listOf } from "./values/list.ts";
import { EntryMap } from "./values/map.ts";
import { Uint } from "./values/uint.ts";
import { type CelValue, typeOf } from "./values/value.ts";

/** JSON of protobuf messages, whose types would take a generated registry. */
type Json = any;

interface Case {
  readonly name: string;
  readonly original: Json;
}

function* casesOf(suite: Json, path: string): Generator<Case> {
  for (const { original } of suite.tests ?? []) yield { name: `${path}: ${original.name ?? original.expr}`, original };
  for (const inner of suite.suites ?? []) yield* casesOf(inner, path === "" ? inner.name : `${path}/${inner.name}`);
}

/** What is left out: the first reason that holds. */
const skips: readonly (readonly [reason: string, (original: Json, name: string) => boolean])[] = [
  [
    "protobuf messages: Kubernetes has none",
    ({ expr, container }) => Boolean(container) || /proto|TestAllTypes|google\./.test(expr),
  ],
  ["checks are never off in Kubernetes", ({ disableCheck, disableMacros }) => Boolean(disableCheck || disableMacros)],
  [
    "libraries that are not in the environment of v1.36",
    ({ expr }) => /math\.|base64\.|cel\.(bind|block|index|iterVar)|net\.|\.reverse\(\)/.test(expr),
  ],
  ["quoted names came after the version of the grammar that Kubernetes uses", ({ expr }) => expr.includes("`")],
  ["elements of different types are refused by Kubernetes", ({ expr }) => mixedLiterals.has(expr)],
  [
    "%e writes powers of ten in the version of the library that Kubernetes uses",
    ({ expr, bindings }) => /%(\.\d+)?e/.test(expr + JSON.stringify(bindings ?? "")),
  ],
  ["cel-go itself deduces null here", (_, name) => name.endsWith("null_assignable_to_abstract_parameter_candidate")],
  ["strings.quote of other versions", (_, name) => name.startsWith("string_ext/quote")],
  [
    "keys of a map of constants that stand twice are let go by cel-go's optimizer",
    (_, name) => name.includes("map_value_repeat_key"),
  ],
  [
    "lists and maps are formatted as in the version of the library that Kubernetes uses",
    (_, name) =>
      /string_ext\/format: (list support for string|map support|dyntype (support for (lists|maps)|NaN))/.test(name),
  ],
  ["values and declarations that only protobuf has", (original) => !isExpressible(original)],
];
const mixedLiterals = new Set<string>();

const primitives: Readonly<Record<string, CelType>> = {
  INT64: intType,
  UINT64: uintType,
  BOOL: boolType,
  STRING: stringType,
  BYTES: bytesType,
  DOUBLE: doubleType,
};

function typeFrom(json: Json): CelType | undefined {
  if (json.primitive) return primitives[json.primitive];
  if (json.dyn) return dynType;
  if ("null" in json) return nullType;
  if (json.wellKnown)
    return { TIMESTAMP: timestampType, DURATION: durationType }[json.wellKnown as "TIMESTAMP" | "DURATION"];
  if (json.listType) return listType((json.listType.elemType && typeFrom(json.listType.elemType)) ?? dynType);
  const [key, value] = [json.mapType?.keyType, json.mapType?.valueType].map((part) => part && typeFrom(part));
  if (key && value) return mapType(key, value);
  const [of] = json.abstractType?.name === "optional_type" ? json.abstractType.parameterTypes.map(typeFrom) : [];
  return of && optionalType(of);
}

function valueFrom(json: Json): CelValue | undefined {
  const [[kind, value] = ["", undefined]] = Object.entries<Json>(json);
  switch (kind) {
    case "int64Value":
      return toInt(BigInt(value));
    case "uint64Value":
      return new Uint(BigInt(value));
    case "doubleValue":
      return new Double(Number(value));
    case "boolValue":
    case "stringValue":
      return value;
    case "nullValue":
      return null;
    case "bytesValue":
      return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
    case "listValue":
      return listOf((value.values ?? []).map(valueFrom));
    case "mapValue":
      return new EntryMap((value.entries ?? []).map((entry: Json) => [valueFrom(entry.key), valueFrom(entry.value)]));
    case "typeValue":
      return { kind: "type", type: { kind: "type", name: value, parameters: [] } };
    default:
      return undefined;
  }
}

function isExpressible({ typeEnv = [], bindings = {}, value, typedResult }: Json): boolean {
  const isDeclared = typeEnv.every((one: Json) => one.ident && typeFrom(one.ident.type) !== undefined);
  const isBound = Object.values<Json>(bindings).every((one) => valueFrom(one.value) !== undefined);
  const deduced = !typedResult?.deducedType || typeFrom(typedResult.deducedType) !== undefined;
  return isDeclared && isBound && deduced && (!value || valueFrom(value) !== undefined);
}

function outcomeOf(original: Json): CelValue | Error {
  const variables = new Map<string, CelType>();
  const values = new Map<string, CelValue>();
  for (const { name, ident } of original.typeEnv ?? []) variables.set(name, typeFrom(ident.type) ?? dynType);
  for (const [name, bound] of Object.entries<Json>(original.bindings ?? {})) {
    if (!variables.has(name)) variables.set(name, dynType);
    values.set(name, valueFrom(bound.value) ?? null);
  }
  try {
    return kubernetesEnvironment().extend({ variables }).compile(original.expr).evaluate(values).value;
  } catch (error) {
    if (error instanceof CompilationError || error instanceof EvaluationError) return error;
    throw error;
  }
}

/** Whether the type that was found is the one that was said. */
function hasDeducedType(original: Json): boolean {
  const variables = new Map<string, CelType>();
  for (const { name, ident } of original.typeEnv ?? []) variables.set(name, typeFrom(ident.type) ?? dynType);
  const { resultType } = kubernetesEnvironment().extend({ variables }).compile(original.expr);
  return isSameType(resultType, typeFrom(original.typedResult.deducedType) ?? dynType);
}

function isSame(actual: CelValue | Error, wanted: CelValue): boolean {
  if (actual instanceof Error) return false;
  if (wanted instanceof Double && Number.isNaN(wanted.value))
    return actual instanceof Double && Number.isNaN(actual.value);
  if (typeof wanted === "object" && wanted !== null && "kind" in wanted && wanted.kind === "type")
    return (
      typeof actual === "object" &&
      actual !== null &&
      "kind" in actual &&
      actual.kind === "type" &&
      actual.type.name === wanted.type.name
    );
  return isEqual(wanted, actual) && typeOf(wanted).name === typeOf(actual).name;
}

test("conformance data of the language gives the values it says", () => {
  const wrong: string[] = [];
  const skipped = new Map<string, number>();
  let passed = 0;
  for (const { name, original } of casesOf(root, "")) {
    const reason = skips.find(([, holds]) => holds(original, name))?.[0];
    const outcome = reason === undefined ? outcomeOf(original) : undefined;
    const isMixed = outcome instanceof CompilationError && /expected type '.*' but found/.test(outcome.message);
    const why =
      reason ?? (isMixed && !original.evalError ? "elements of different types are refused by Kubernetes" : undefined);
    if (why !== undefined || outcome === undefined) {
      skipped.set(why ?? "", (skipped.get(why ?? "") ?? 0) + 1);
      continue;
    }
    const wanted = original.value ?? original.typedResult?.result;
    const isRight = original.evalError
      ? outcome instanceof Error
      : wanted
        ? isSame(outcome, valueFrom(wanted) ?? null)
        : original.typedResult
          ? hasDeducedType(original)
          : outcome === true;
    if (isRight) passed++;
    else wrong.push(`${name}: ${original.expr} gave ${outcome instanceof Error ? outcome.message : String(outcome)}`);
  }
  assert.deepEqual(wrong, []);
  // A change that skips more than it says would pass unnoticed otherwise.
  assert.ok(passed >= 1190, `${passed} passed, skipped: ${JSON.stringify([...skipped])}`);
});
