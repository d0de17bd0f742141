// What an object has even when nothing was set: structs that are no pointers, and zeros that are always written.
import { own, setOwn } from "#base/collections.ts";
import type { AnyField } from "../any.ts";
import type { FieldSpec, Type } from "../field.ts";
import type { AnyStruct } from "../struct.ts";
import type { JsonMap } from "./value.ts";

export const scalarZeros: Readonly<Record<string, unknown>> = {
  string: "",
  bool: false,
  int32: 0,
  int64: 0,
  double: 0,
};

const isWritten = (spec: FieldSpec): boolean => (spec.required === true && !spec.omitEmpty) || spec.always === true;
export const isWrittenWhenZero = (spec: FieldSpec): boolean => isWritten(spec) && !spec.pointer;
const isStructAlwaysThere = (spec: FieldSpec): boolean =>
  !spec.pointer && (isWritten(spec) || spec.default !== undefined);

/**
 * The object before anything was set: what Go writes for a new struct. A creation owns the fields in which the new object differs
 * from this, so structs that are always there and required zeros are owned only by those who fill them.
 */
export function zeroOf(struct: AnyStruct): JsonMap {
  const zero: Record<string, unknown> = {};
  for (const [name, { spec }] of fieldsOf(struct)) {
    if (spec.type.is === "struct" && isStructAlwaysThere(spec)) zero[name] = zeroOf(spec.type.struct());
    else if (isWritten(spec)) zero[name] = spec.pointer ? null : (scalarZeros[spec.type.is] ?? null);
  }
  return zero;
}

/** The object with all that is always there, as conversions expect it: pruning may have taken it. */
export function completed(struct: AnyStruct, value: JsonMap): JsonMap {
  const out: Record<string, unknown> = {};
  for (const name of Object.keys(value)) if (value[name] !== null) setOwn(out, name, value[name]);
  for (const [name, { spec }] of fieldsOf(struct)) {
    const part = own(out, name) ?? emptyOf(spec);
    if (part !== undefined) setOwn(out, name, completedPart(spec.type, part));
  }
  return out;
}

function emptyOf(spec: FieldSpec): unknown {
  if (spec.type.is === "struct") return isStructAlwaysThere(spec) ? {} : undefined;
  if (!isWrittenWhenZero(spec)) return undefined;
  if (spec.type.is === "list") return [];
  return spec.type.is === "map" ? {} : scalarZeros[spec.type.is];
}

function completedPart(type: Type, part: any): unknown {
  switch (type.is) {
    case "struct":
      return completed(type.struct(), part);
    case "list":
      return part.map((item: unknown) => completedPart(type.item, item));
    case "map":
      return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, completedPart(type.value, value)]));
    default:
      return part;
  }
}

const fieldsOf = (struct: AnyStruct): [string, AnyField][] => Object.entries<AnyField>(struct.fields);
