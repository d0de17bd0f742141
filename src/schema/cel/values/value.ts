// What expressions compute with. Values that JavaScript has are themselves; the others are objects that say what they are in `kind`.
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
  optionalType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from "../types.ts";
import type { Double } from "./double.ts";
import type { Duration } from "./duration.ts";
import type { Int } from "./int.ts";
import type { ListValue } from "./list.ts";
import type { MapValue } from "./map.ts";
import type { OptionalValue } from "./optional.ts";
import type { Timestamp } from "./timestamp.ts";
import type { Uint } from "./uint.ts";

/** A value of a library's own type, such as a quantity or an IP address. */
export interface OpaqueValue {
  readonly kind: "opaque";
  readonly type: CelType;
  equals(other: OpaqueValue): boolean;
  /** How many bytes or elements it counts for where cost goes by size; 1 if it says nothing. */
  readonly size?: number;
  /** Fields, if it is a struct that has some. */
  field?(name: string): CelValue | undefined;
}

/** A type as a value: what `type(x)` and the name `int` are. */
export interface TypeValue {
  readonly kind: "type";
  readonly type: CelType;
}

export type CelValue =
  | null
  | boolean
  | Int
  | string
  | Uint8Array
  | Uint
  | Double
  | Timestamp
  | Duration
  | ListValue
  | MapValue
  | OptionalValue
  | TypeValue
  | OpaqueValue;

export function isInt(value: CelValue): value is Int {
  return typeof value === "number" || typeof value === "bigint";
}

/** The type a value has at run time; of lists and maps only that they are some. */
export function typeOf(value: CelValue): CelType {
  switch (typeof value) {
    case "boolean":
      return boolType;
    case "number":
    case "bigint":
      return intType;
    case "string":
      return stringType;
  }
  if (value === null) return nullType;
  if (value instanceof Uint8Array) return bytesType;
  switch (value.kind) {
    case "uint":
      return uintType;
    case "double":
      return doubleType;
    case "timestamp":
      return timestampType;
    case "duration":
      return durationType;
    case "list":
      return listType(dynType);
    case "map":
      return value.type ?? mapType(dynType, dynType);
    case "optional":
      return optionalType(dynType);
    case "type":
      return typeType();
    case "opaque":
      return value.type;
  }
}

/** Whether a value may be passed as a parameter of the type. The contents of lists and maps are not checked. */
export function isOfType(value: CelValue, type: CelType): boolean {
  switch (type.kind) {
    case "dyn":
    case "parameter":
      return true;
    case "int":
      return isInt(value);
    case "string":
      return typeof value === "string";
    case "bool":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "bytes":
      return value instanceof Uint8Array;
    default:
      break;
  }
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return false;
  if (type.kind === "opaque" && type.name === "optional_type") return value.kind === "optional";
  if (type.kind === "opaque" || type.kind === "struct")
    return (value.kind === "opaque" || value.kind === "map") && value.type?.name === type.name;
  return value.kind === type.kind;
}

/** How long a value is, where cost goes by that: 1 for all that has no length. */
export function sizeOf(value: CelValue): number {
  if (typeof value === "string") return codePointCount(value);
  if (typeof value !== "object" || value === null) return 1;
  if (value instanceof Uint8Array) return value.length;
  switch (value.kind) {
    case "list":
    case "map":
      return value.size;
    case "optional":
      return value.value === undefined ? 1 : sizeOf(value.value);
    case "opaque":
      return value.size ?? 1;
    default:
      return 1;
  }
}

/** The number of code points: strings are counted by them, not by UTF-16 units. */
export function codePointCount(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(i + 1);
    if (next >= 0xdc00 && next <= 0xdfff) count--;
  }
  return count;
}
