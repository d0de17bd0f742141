// What differs between two objects, field by field, by what the declarations say a field means:
//   quantities are compared by amount and times by moment, however they are written
//   a field that is absent equals its default, or zero unless it can tell the two apart (see field.ts)
//   items of keyed lists are compared with those of the same key, and sets as sets: their order is no difference
//   what is atomic differs as a whole

import { equal, own } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import type { AnyField } from "./any.ts";
import type { FieldSpec, Type } from "./field.ts";
import { compareQuantity, parseQuantity, QuantityError } from "./quantity.ts";
import type { AnyStruct } from "./struct.ts";
import { parseTime, TimeError } from "./time.ts";

export interface DiffLine {
  /** Such as `spec.containers[name="web"].image`, `metadata.labels[app]` or `metadata.finalizers["x"]`. */
  readonly path: string;
  /** Undefined where the field was not there. */
  readonly before: unknown;
  /** Undefined where the field is no more. */
  readonly after: unknown;
}

type Values = Readonly<Record<string, unknown>>;

/** All changes from one object to the other, in the order of the declaration. */
export function* diff(struct: AnyStruct, before: Values, after: Values): Generator<DiffLine> {
  yield* structChanges(struct, before, after, "");
}

/** Whether two objects say the same. */
export const same = (struct: AnyStruct, a: Values, b: Values): boolean => diff(struct, a, b).next().done === true;

function* structChanges(struct: AnyStruct, before: Values, after: Values, path: string): Generator<DiffLine> {
  for (const [name, { spec }] of Object.entries<AnyField>(struct.fields))
    yield* fieldChanges(spec, own(before, name), own(after, name), path === "" ? name : `${path}.${name}`);
  const unknown = new Set(
    [...Object.keys(before), ...Object.keys(after)].filter((key) => !Object.hasOwn(struct.fields, key)),
  );
  for (const key of unknown)
    yield* whole({ is: "json" }, own(before, key), own(after, key), path === "" ? key : `${path}.${key}`);
}

function* fieldChanges(spec: FieldSpec, given: unknown, wanted: unknown, path: string): Generator<DiffLine> {
  const before = given ?? spec.default;
  const after = wanted ?? spec.default;
  if (before === after) return;
  const { type } = spec;
  if (tellsZero(spec)) yield* valueChanges(spec, before, after, path);
  else if (!isZero(before, type) || !isZero(after, type))
    yield* valueChanges(spec, before ?? emptyOf(spec), after ?? emptyOf(spec), path);
}

/** Whether absent and zero are different things. */
const tellsZero = (spec: FieldSpec): boolean =>
  spec.pointer === true || (spec.type.is === "struct" && spec.default === undefined && spec.required !== true);

function* valueChanges(spec: FieldSpec, before: unknown, after: unknown, path: string): Generator<DiffLine> {
  const { type } = spec;
  if (Array.isArray(before) && Array.isArray(after) && type.is === "list")
    yield* listChanges(spec, type.item, [before, after], path);
  else if (isObject(before) && isObject(after) && spec.mapType !== "atomic")
    yield* objectChanges(type, before, after, path);
  else yield* whole(type, before, after, path);
}

function* objectChanges(type: Type, before: Values, after: Values, path: string): Generator<DiffLine> {
  if (type.is === "struct" && !type.struct().atomic) yield* structChanges(type.struct(), before, after, path);
  else if (type.is === "either") yield* structChanges(type.either.struct(), before, after, path);
  else if (type.is === "map")
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* itemChanges(type.value, own(before, key), own(after, key), `${path}[${key}]`);
  else yield* whole(type, before, after, path);
}

function* itemChanges(type: Type, before: unknown, after: unknown, path: string): Generator<DiffLine> {
  if (isObject(before) && isObject(after)) yield* objectChanges(type, before, after, path);
  else yield* whole(type, before, after, path);
}

function* listChanges(
  spec: FieldSpec,
  item: Type,
  [before, after]: readonly [readonly unknown[], readonly unknown[]],
  path: string,
): Generator<DiffLine> {
  const keyOf =
    spec.listType === "set" ? JSON.stringify : spec.listType === "map" ? keyText(item, spec.keys ?? []) : undefined;
  const left = keyOf && indexed(before, keyOf);
  const right = keyOf && indexed(after, keyOf);
  if (!left || !right) {
    yield* whole(spec.type, before, after, path);
    return;
  }
  for (const [key, value] of left) yield* itemChanges(item, value, right.get(key), `${path}[${key}]`);
  for (const [key, value] of right)
    if (!left.has(key)) yield { path: `${path}[${key}]`, before: undefined, after: value };
}

/** Items by key, or undefined if two have the same: such a list is not what it was declared to be. */
function indexed(list: readonly unknown[], keyOf: (item: unknown) => string): Map<string, unknown> | undefined {
  const found = new Map(list.map((item) => [keyOf(item), item]));
  return found.size === list.length ? found : undefined;
}

/** `name="web"`, with the defaults of keys that are not given. */
function keyText(item: Type, keys: readonly string[]): (item: unknown) => string {
  const fields = item.is === "struct" ? item.struct().fields : {};
  return (value) =>
    keys
      .map((key) => {
        const given = isObject(value) ? own(value, key) : undefined;
        return `${key}=${JSON.stringify(given ?? fields[key]?.spec.default ?? null)}`;
      })
      .join(",");
}

function* whole(type: Type, before: unknown, after: unknown, path: string): Generator<DiffLine> {
  if (!sameValue(type, before, after)) yield { path, before, after };
}

function sameValue(type: Type, a: unknown, b: unknown): boolean {
  if (equal(a, b)) return true;
  if (typeof a === "string" && typeof b === "string") {
    if (type.is === "quantity")
      return sameBy(QuantityError, () => compareQuantity(parseQuantity(a), parseQuantity(b)) === 0);
    if (type.is === "time" || type.is === "microTime")
      return sameBy(TimeError, () => moment(a, type.is === "time") === moment(b, type.is === "time"));
    return false;
  }
  if (Array.isArray(a) && Array.isArray(b) && type.is === "list")
    return a.length === b.length && a.every((item, i) => sameValue(type.item, item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  if (type.is === "struct") return same(type.struct(), a, b);
  if (type.is === "either") return same(type.either.struct(), a, b);
  if (type.is !== "map") return false;
  return [a, b].every((one) => Object.keys(one).every((key) => sameValue(type.value, own(a, key), own(b, key))));
}

/** Text that cannot be read is equal to itself alone. */
function sameBy(refusal: new () => Error, compare: () => boolean): boolean {
  try {
    return compare();
  } catch (error) {
    if (error instanceof refusal) return false;
    throw error;
  }
}

function moment(text: string, inSeconds: boolean): string {
  const { seconds, nanos } = parseTime(text);
  return inSeconds ? `${seconds}` : `${seconds}.${Math.floor(nanos / 1000)}`;
}

function isZero(value: unknown, type: Type): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isObject(value)) return type.is === "quantity" && sameValue(type, value, "0");
  if (type.is === "struct") return same(type.struct(), {}, value);
  return type.is === "map" && Object.keys(value).length === 0;
}

/** What is absent is compared as if it were empty, so that what was added is named item by item. */
function emptyOf({ type, listType, mapType }: FieldSpec): unknown {
  if (type.is === "list") return listType === "atomic" ? undefined : [];
  return (type.is === "map" || type.is === "struct") && mapType !== "atomic" ? {} : undefined;
}
