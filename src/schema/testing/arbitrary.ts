// Draws objects from declarations: whatever a struct or kind says, valid by type and nothing more. Formats and the rules of `check`
// are not looked at. What is required, always there or defaulted is there, so an object has the type `Infer` gives.

import fc from "fast-check";
import { toBase64 } from "#base/base64.ts";
import { formatDuration } from "#base/duration.ts";
import type { AnyField } from "../any.ts";
import type { FieldSpec, Scalar, Type } from "../field.ts";
import type { Infer } from "../infer.ts";
import type { AnyKind } from "../kind.ts";
import type { AnyStruct } from "../struct.ts";

export interface Shape {
  /** How many structs may lie inside each other before only what must be there is drawn. */
  readonly depth?: number;
  /** About how many of a struct's optional fields are drawn. */
  readonly breadth?: number;
}

/** Any object of a kind, with its own apiVersion and kind. */
export function arbitraryObject<K extends AnyKind>(kind: K, shape: Shape = {}): fc.Arbitrary<Infer<K>> {
  const { apiVersion, kind: name } = kind;
  return arbitraryOf(kind.struct, shape).map((drawn) => ({ apiVersion, kind: name, ...(drawn as object) }) as Infer<K>);
}

/** Any value of a struct. `apiVersion` and `kind` are left out: whoever holds the value knows them. */
export function arbitraryOf<S extends AnyStruct>(struct: S, shape: Shape = {}): fc.Arbitrary<Infer<S>> {
  const { depth = 5, breadth = 4 } = shape;
  const known = Array.from({ length: depth + 1 }, () => new Map<AnyStruct, fc.Arbitrary<unknown>>());

  const ofStruct = (struct: AnyStruct, left: number): fc.Arbitrary<any> => {
    const level = known[Math.max(left, 0)] as Map<AnyStruct, fc.Arbitrary<unknown>>;
    const arbitrary = level.get(struct) ?? buildStruct(struct, left);
    level.set(struct, arbitrary);
    return arbitrary;
  };

  const buildStruct = (struct: AnyStruct, left: number): fc.Arbitrary<unknown> => {
    const fields = Object.entries<AnyField>(struct.fields)
      .map(([name, { spec }]) => ({ name, spec }))
      .filter(({ spec }) => !spec.envelope);
    const optional = fields.filter(({ spec }) => !isAlwaysThere(spec)).length;
    const members = fields.map(({ name, spec }) => {
      const value = ofField(spec, left);
      if (isAlwaysThere(spec)) return value.map((one) => [name, one] as const);
      const absent = { arbitrary: fc.constant(undefined), weight: Math.max(1, Math.round(optional / breadth) - 1) };
      if (left <= 0) return absent.arbitrary;
      return fc.oneof(absent, { arbitrary: value.map((one) => [name, one] as const), weight: 1 });
    });
    return fc.tuple(...members).map((entries) => Object.fromEntries(entries.filter((entry) => entry !== undefined)));
  };

  const ofField = (spec: FieldSpec, left: number): fc.Arbitrary<unknown> => {
    if (spec.enum) {
      const one = fc.constantFrom(...spec.enum);
      if (spec.type.is === "map") return mapOf(one);
      return spec.type.is === "list" ? fc.array(one, { maxLength: 3 }) : one;
    }
    if (spec.min !== undefined || spec.max !== undefined) {
      if (spec.type.is === "int32") return int32(spec.min, spec.max);
      if (spec.type.is === "int64") return int64(spec.min, spec.max);
    }
    return ofType(spec.type, left);
  };

  const ofType = (type: Type, left: number): fc.Arbitrary<unknown> => {
    switch (type.is) {
      case "struct":
        return lazily(() => ofStruct(type.struct(), left - 1));
      case "list":
        return fc.array(ofType(type.item, left), { maxLength: left > 0 ? 3 : 0 });
      case "map":
        return left > 0 ? mapOf(ofType(type.value, left)) : fc.constant({});
      case "either": {
        const { struct, other } = type.either;
        return fc.oneof(
          ofType(other, left - 1),
          lazily(() => ofStruct(struct(), left - 1)),
        );
      }
      default:
        return scalarArbitraries[type.is]();
    }
  };

  return ofStruct(struct, depth);
}

const isAlwaysThere = ({ required, always, default: given }: FieldSpec): boolean =>
  required === true || always === true || given !== undefined;

/** Structs refer to each other, and to themselves: an arbitrary is built when it is first drawn from. */
const lazily = (build: () => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.constant(undefined).chain(() => build());

const int32 = (min = -(2 ** 31), max = 2 ** 31 - 1) =>
  fc.oneof(fc.integer({ min, max }), fc.constantFrom(...[0, 1, min, max].filter((one) => one >= min && one <= max)));
const int64 = (min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) =>
  fc.oneof(
    fc.maxSafeInteger().map((one) => Math.min(Math.max(one, min), max)),
    fc.constantFrom(...[0, -1, 2 ** 31, 2 ** 32, min, max].filter((one) => one >= min && one <= max)),
  );

/** Mostly short and plain, as in real objects; then all of Unicode, and texts that other formats trip over. */
const text = (): fc.Arbitrary<string> =>
  fc.oneof(
    { arbitrary: fc.string({ maxLength: 12 }), weight: 5 },
    { arbitrary: fc.string({ unit: "binary", maxLength: 12 }), weight: 3 },
    { arbitrary: fc.string({ unit: "grapheme", minLength: 30, maxLength: 200 }), weight: 1 },
    {
      arbitrary: fc.constantFrom("", "null", "true", "0", "~", "1e3", "-", "\u0000", "é", "😀", "\n", "__proto__"),
      weight: 1,
    },
  );

const mapOf = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .uniqueArray(
      fc.tuple(fc.oneof({ arbitrary: text(), weight: 5 }, fc.constantFrom("__proto__", "constructor", "")), value),
      {
        maxLength: 4,
        selector: ([key]) => key,
      },
    )
    .map((entries) => Object.fromEntries(entries));

/** From year 1 to year 9999, which is what RFC 3339 can say. The very first second is Go's zero time, and not drawn. */
const seconds = () =>
  fc.oneof(fc.integer({ min: 0, max: 2 ** 32 }), fc.integer({ min: -62135596799, max: 253402300799 }));
const rfc3339 = (second: number): string => new Date(second * 1000).toISOString().slice(0, 19);

/** In the form the API answers with, whatever was sent. */
const quantity = () =>
  fc.oneof(
    fc.constantFrom("0", "1", "100m", "1500m", "64Mi", "1Gi", "1536Mi", "5k", "250M", "1e15", "12E"),
    fc.integer({ min: 1, max: 999 }).map((one) => `${one}Mi`),
  );

const jsonValue = () =>
  fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const jsonObject = () => mapOf(jsonValue()) as fc.Arbitrary<Readonly<Record<string, unknown>>>;

const scalarArbitraries: Readonly<Record<Scalar, () => fc.Arbitrary<unknown>>> = {
  string: text,
  bool: fc.boolean,
  int32: () => int32(),
  int64: () => int64(),
  double: () => fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one + 0),
  bytes: () => fc.uint8Array({ maxLength: 40 }).map(toBase64),
  time: () => seconds().map((one) => `${rfc3339(one)}Z`),
  microTime: () =>
    fc
      .tuple(seconds(), fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 999_999 })))
      .map(([second, micros]) => `${rfc3339(second)}.${String(micros).padStart(6, "0")}Z`),
  duration: () => fc.integer({ min: 0, max: 10 ** 9 }).map((one) => formatDuration(BigInt(one) * 1_000_000n)),
  quantity,
  intOrString: () => fc.oneof(int32(), fc.constantFrom("25%", "100%", "http"), text()),
  rawExtension: jsonObject,
  json: jsonValue,
  fieldsV1: jsonObject,
};
