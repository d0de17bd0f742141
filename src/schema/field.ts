// What a field is. A declaration is plain data behind a fluent builder: `int32(1, "Pods wanted.").min(0).default(1)`.
// The number is the field's tag in protobuf; everything else about the field (types, defaulting, validation, OpenAPI,
// codecs, patch and apply keys) is derived from the `FieldSpec` it leaves behind.
//
// Presence follows Go's rules, because clients see them. A field is one of:
//   value (the default for scalars, lists and maps)  zero and absent are the same: zero is dropped when written
//   value, required or always()                      written even when zero
//   pointer()                                        zero differs from absent: `replicas: 0` is kept
//   ref()                                            a pointer to a struct; with default({}) or required() a struct that is always there
import type { Draft, InferFields } from "./infer.ts";
import type { AnyStruct, Fields, Struct } from "./struct.ts";

/** What a JSON value may be, besides a struct, a list or a map. */
export type Scalar =
  | "string"
  | "bool"
  | "int32"
  | "int64"
  | "double"
  /** Base64 text in JSON. */
  | "bytes"
  /** RFC 3339 in whole seconds, and with microseconds. */
  | "time"
  | "microTime"
  /** A span of time as Go prints it: 1m30s. */
  | "duration"
  | "quantity"
  | "intOrString"
  /** A JSON object of a kind not known here, and any JSON value at all. */
  | "rawExtension"
  | "json"
  | "fieldsV1";

export interface ScalarTypes {
  string: string;
  bool: boolean;
  int32: number;
  int64: number;
  double: number;
  bytes: string;
  time: string;
  microTime: string;
  duration: string;
  quantity: string;
  intOrString: number | string;
  rawExtension: Readonly<Record<string, unknown>>;
  json: unknown;
  fieldsV1: Readonly<Record<string, unknown>>;
}

export type Type =
  | { readonly is: Scalar }
  | { readonly is: "struct"; readonly struct: () => AnyStruct }
  | { readonly is: "list"; readonly item: Type }
  | { readonly is: "map"; readonly value: Type }
  | { readonly is: "either"; readonly either: Either };

/** A struct or something simpler in its place, as JSON Schema has in three places; in protobuf a message with one field for each. */
export interface Either {
  readonly name: string;
  readonly doc?: string;
  readonly struct: () => AnyStruct;
  readonly structNumber: number;
  readonly other: Type;
  readonly otherNumber: number;
  /** `other` is a list, and what is neither reads as an empty one. */
  readonly ignoresRest?: true;
}

/** Says what is wrong with a value, one message each; nothing when it is fine. */
export type Format = (value: string) => readonly string[];

export type PatchStrategy = "merge" | "replace" | "retainKeys" | "merge,retainKeys";

export interface FieldSpec {
  number: number;
  type: Type;
  doc: string;
  required?: boolean;
  pointer?: boolean;
  /** Required, but not written when it is zero. */
  omitEmpty?: boolean;
  /** Not required, but written even when it is zero. */
  always?: boolean;
  default?: unknown;
  /** A pointer that Go writes as null where it is absent. */
  nullable?: boolean;
  /** A time that Go leaves out when it is not set; others are written as null. */
  omitZero?: boolean;
  /** An empty list says something else than none at all, so decoding keeps it. */
  keepsEmpty?: boolean;
  enum?: readonly string[];
  /** Values outside `enum` are refused by the struct's own `check`, or not at all. */
  enumOpen?: boolean;
  /** The values that OpenAPI lists, where they are not `enum`. */
  published?: readonly string[];
  min?: number;
  max?: number;
  maxLength?: number;
  maxItems?: number;
  minItems?: number;
  nonEmpty?: boolean;
  /** The text after "Required value" when it is missing. */
  whenMissing?: string;
  formats?: readonly Format[];
  /** What the value is made of is not checked: upstream takes anything of that form here. */
  unchecked?: boolean;
  /** Required in OpenAPI, but no problem when it is missing. */
  mayBeMissing?: boolean;
  /** Cannot change. `last` tells that after all other problems of the struct, in those that have a `problemOrder`. */
  immutable?: boolean | "last";
  /** Checked when the object is created and not when it is updated, since it cannot change. */
  onlyOnCreate?: boolean;
  listType?: "atomic" | "set" | "map";
  keys?: readonly string[];
  mapType?: "atomic" | "granular";
  /** An object of a kind not known here that is owned as a whole, though OpenAPI does not say so. */
  opaque?: boolean;
  patchStrategy?: PatchStrategy;
  patchKey?: string;
  /** Lists are merged by this field, and one that lacks it counts as having its zero. */
  zeroKey?: boolean;
  /** Upstream has the field behind a feature gate that is off: what clients send is dropped. */
  isUnpublished?: boolean;
  gateOff?: string;
  /** In protobuf it travels in the envelope around the object, under its number there. */
  envelope?: boolean;
  /** A list that in protobuf is a message of its own, with the items as its field 1. */
  boxed?: boolean;
  /** Beside its siblings in JSON, but in protobuf inside a nested message of this number. */
  inlined?: { readonly number: number; readonly struct: AnyStruct };
}

/** A closed set of values, for a string or for what a list or map of strings holds. */
type OneOf<T, V extends string> = T extends readonly string[]
  ? readonly V[]
  : T extends string
    ? V
    : Readonly<Record<string, V>>;

/** `Set` says whether the field is always there once defaults are applied. */
export class Field<T, Set extends boolean = false> {
  readonly spec: FieldSpec;
  declare readonly infer: T;
  declare readonly set: Set;

  constructor(spec: FieldSpec) {
    this.spec = spec;
  }

  /**
   * Clients must send it (OpenAPI says so); written even when zero. Emptiness is refused only by `nonEmpty`, `min` and the like, but a
   * pointer that is missing is answered with "Required value", and these words.
   */
  required(whenMissing = ""): Field<T, true> {
    return this.#with<T, true>({ required: true, ...(whenMissing !== "" && { whenMissing }) });
  }
  pointer(): this {
    this.#with({ pointer: true });
    return this;
  }
  omitEmpty(): this {
    this.#with({ omitEmpty: true });
    return this;
  }
  /** A pointer that is written as null where it is absent. */
  nullable(): this {
    this.#with({ pointer: true, nullable: true });
    return this;
  }
  /** A time that is left out where it is absent; times are written as null unless they are pointers. */
  omitZero(): this {
    this.#with({ omitZero: true });
    return this;
  }
  always(): Field<T, true> {
    return this.#with<T, true>({ always: true });
  }
  /** Set when absent. Of a struct, `default({})` makes it one that is always there. */
  default(value: Draft<T>): Field<T, true> {
    return this.#with<T, true>({ default: value });
  }

  /** The only values there are. Others are refused, and OpenAPI says so. */
  oneOf<const V extends readonly string[]>(...values: V): Field<OneOf<T, V[number]>, Set> {
    return this.#with<any, Set>({ enum: values });
  }
  /** The values there are, for types and OpenAPI. Others are left to the struct's `check`: upstream answers them in another place or in other words. */
  known<const V extends readonly string[]>(...values: V): Field<OneOf<T, V[number]>, Set> {
    return this.#with<any, Set>({ enum: values, enumOpen: true });
  }
  /** OpenAPI lists these values, or none: upstream refuses others all the same. */
  publishedAs(...values: readonly string[]): this {
    this.#with({ published: values });
    return this;
  }
  min(least: number): this {
    this.#with({ min: least });
    return this;
  }
  max(most: number): this {
    this.#with({ max: most });
    return this;
  }
  /** In bytes of UTF-8. */
  maxLength(bytes: number): this {
    this.#with({ maxLength: bytes });
    return this;
  }
  minItems(least: number): this {
    this.#with({ minItems: least });
    return this;
  }
  maxItems(most: number): this {
    this.#with({ maxItems: most });
    return this;
  }
  /** OpenAPI says that it is required, and nobody refuses an object without it, but for rules that need it. */
  mayBeMissing(): this {
    this.#with({ mayBeMissing: true });
    return this;
  }
  /** An empty value is answered with "Required value", and these words. */
  nonEmpty(whenMissing = ""): this {
    this.#with({ nonEmpty: true, ...(whenMissing !== "" && { whenMissing }) });
    return this;
  }
  /** Of a string, or of each string in a list or map; checked unless empty. */
  is(...formats: readonly Format[]): this {
    this.#with({ formats });
    return this;
  }
  /** An empty list is kept as it was sent: it says something. */
  keepsEmpty(): this {
    this.#with({ keepsEmpty: true });
    return this;
  }
  /** Takes anything of that form, though what it is made of is checked in other places. */
  unchecked(): this {
    this.#with({ unchecked: true });
    return this;
  }
  /** Not checked in updates: the kind refuses any change of it, and says nothing else. */
  checkedOnCreate(): this {
    this.#with({ onlyOnCreate: true });
    return this;
  }
  immutable(told: true | "last" = true): this {
    this.#with({ immutable: told });
    return this;
  }

  /** A list whose items are told apart by these fields; the first is the key of a strategic merge patch. */
  keyedBy(...keys: readonly [string, ...string[]]): this {
    this.#with({ listType: "map", keys, patchStrategy: "merge", patchKey: keys[0] });
    return this;
  }
  /** A list without duplicates, owned item by item. */
  asSet(): this {
    this.#with({ listType: "set" });
    return this;
  }
  /** A map or struct that is owned as a whole. */
  atomic(): this {
    this.#with({ mapType: "atomic" });
    return this;
  }
  opaque(): this {
    this.#with({ opaque: true });
    return this;
  }
  granular(): this {
    this.#with({ mapType: "granular" });
    return this;
  }
  /** How a strategic merge patch treats the field, where the other declarations do not say it already. */
  patch(strategy: PatchStrategy, key?: string): this {
    this.#with(key === undefined ? { patchStrategy: strategy } : { patchStrategy: strategy, patchKey: key });
    return this;
  }
  /** In protobuf the list is a message of its own, with the items as its field 1. */
  boxed(): this {
    this.#with({ boxed: true });
    return this;
  }
  /** Lists of the struct may be keyed by this optional field: absent, it counts as zero, and OpenAPI says so. */
  zeroKey(): this {
    this.#with({ zeroKey: true });
    return this;
  }
  /** Served on request only: OpenAPI does not tell of it. */
  unpublished(): this {
    this.#with({ isUnpublished: true });
    return this;
  }
  off(gate: string): this {
    this.#with({ gateOff: gate });
    return this;
  }

  #with<U, S extends boolean>(more: Partial<FieldSpec>): Field<U, S> {
    Object.assign(this.spec, more);
    return this as unknown as Field<U, S>;
  }
}

const scalarField =
  <S extends Scalar>(is: S) =>
  (number: number, doc = ""): Field<ScalarTypes[S]> =>
    new Field({ number, type: scalars[is], doc });

/** One object per scalar type, shared by all fields. */
export const scalars = Object.fromEntries(
  (
    [
      "string",
      "bool",
      "int32",
      "int64",
      "double",
      "bytes",
      "time",
      "microTime",
      "duration",
      "quantity",
      "intOrString",
      "rawExtension",
      "json",
      "fieldsV1",
    ] as const
  ).map((is) => [is, { is }]),
) as Readonly<Record<Scalar, { readonly is: Scalar }>>;

export const string = scalarField("string");
export const bool = scalarField("bool");
export const int32 = scalarField("int32");
export const int64 = scalarField("int64");
export const double = scalarField("double");
export const bytes = scalarField("bytes");
export const time = scalarField("time");
export const microTime = scalarField("microTime");
export const duration = scalarField("duration");
export const quantity = scalarField("quantity");
export const intOrString = scalarField("intOrString");
export const rawExtension = scalarField("rawExtension");
export const json = scalarField("json");
export const fieldsV1 = scalarField("fieldsV1");

/** What everything that travels alone has: the kind and version that say how to read it. */
export const typeMeta = {
  kind: new Field<string>({ number: 2, type: scalars.string, doc: "What this is.", envelope: true }),
  apiVersion: new Field<string>({
    number: 1,
    type: scalars.string,
    doc: "Group and version of the schema this follows.",
    envelope: true,
  }),
};

/** What a list or a map may hold: a scalar by name, a struct, or a list of either. */
export type Element = Scalar | AnyStruct | Lazy<any> | EitherOf<any> | { readonly listOf: Element };
type ElementType<E> = E extends Scalar
  ? ScalarTypes[E]
  : E extends Struct<infer F>
    ? InferFields<F>
    : E extends Lazy<infer T>
      ? T
      : E extends EitherOf<infer T>
        ? T
        : E extends { readonly listOf: infer I }
          ? readonly ElementType<I>[]
          : never;

/** A struct that refers to itself: TypeScript cannot infer its type, so the reference says it. */
export interface Lazy<T> {
  readonly lazy: () => AnyStruct;
  readonly infer?: T;
}
export const lazy = <T>(struct: () => AnyStruct): Lazy<T> => ({ lazy: struct });

export const ref = <E extends AnyStruct | Lazy<any>>(number: number, struct: E, doc = ""): Field<ElementType<E>> =>
  new Field({ number, type: typeOf(struct), doc });

export const list = <const E extends Element>(number: number, item: E, doc = ""): Field<readonly ElementType<E>[]> =>
  new Field({ number, type: { is: "list", item: typeOf(item) }, doc, listType: "atomic" });

export const map = <const E extends Element>(
  number: number,
  value: E,
  doc = "",
): Field<Readonly<Record<string, ElementType<E>>>> =>
  new Field({ number, type: { is: "map", value: typeOf(value) }, doc });

export interface EitherOf<T> {
  readonly either: Either;
  readonly infer?: T;
}
export const eitherOf = <T>(either: Either): EitherOf<T> => ({ either });

export const either = <T>(number: number, either: Either, doc = ""): Field<T> =>
  new Field({ number, type: { is: "either", either }, doc });

/** The fields of `struct`, to be spread among others: beside them in JSON, one message of `number` in protobuf. */
export function inline<F extends Fields>(number: number, struct: Struct<F>): F {
  const entries = Object.entries(struct.fields).map(([name, field]) => [
    name,
    new Field({ ...field.spec, inlined: { number, struct } }),
  ]);
  return Object.fromEntries(entries) as F;
}

function typeOf(element: Element): Type {
  if (typeof element === "string") return scalars[element];
  if ("either" in element) return { is: "either", either: element.either };
  if ("listOf" in element) return { is: "list", item: typeOf(element.listOf) };
  return { is: "struct", struct: "lazy" in element ? element.lazy : () => element };
}
