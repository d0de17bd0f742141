// The messages of Go's decoder for values of the wrong type. Clients see them, with the names of Go's structs and types.
import type { Type } from "./field.ts";
import { goTypeNames } from "./go-type-names.ts";
import { WrittenNumber } from "./json.ts";
import type { AnyStruct } from "./struct.ts";

/** `path` leads from the root struct to a value that is not of `type`. Keys of maps and indexes are left out of the message. */
export function mismatchMessage(
  root: AnyStruct,
  path: readonly (string | number)[],
  value: unknown,
  type: string,
): string {
  const { struct, field, names } = placeOf(root, path);
  const place = struct === undefined ? "value" : `struct field ${[shortName(struct), ...names].join(".")}`;
  const named = (struct && field && goTypeNames.get(`${struct.name}.${field}`)) ?? "string";
  return `json: cannot unmarshal ${whatIs(value, type)} into Go ${place} of type ${withName(type, named)}`;
}

interface DecodePosition {
  /** The struct that is met last, and its field. */
  readonly struct: AnyStruct | undefined;
  readonly field: string | undefined;
  readonly names: readonly string[];
}

function placeOf(root: AnyStruct, path: readonly (string | number)[]): DecodePosition {
  let type: Type | undefined = { is: "struct", struct: () => root };
  let struct: AnyStruct | undefined;
  let field: string | undefined;
  const names: string[] = [];
  for (const part of path) {
    if (type?.is === "list") type = type.item;
    else if (type?.is === "map") type = type.value;
    else {
      const inside: AnyStruct | undefined =
        type?.is === "struct" ? type.struct() : type?.is === "either" ? type.either.struct() : undefined;
      if (typeof part === "number") continue;
      names.push(...(inside ? embeddings(inside, part) : []), part);
      if (!inside) continue;
      struct = inside;
      field = part;
      type = inside.fields[part]?.spec.type;
    }
  }
  return { struct, field, names };
}

/** Structs that Go embeds in `struct` are named on the way to their fields. */
function embeddings(struct: AnyStruct, field: string): readonly string[] {
  const inlined = struct.fields[field]?.spec.inlined;
  return inlined ? [shortName(inlined.struct), ...embeddings(inlined.struct, field)] : [];
}

/** Types that accept numbers, which may be too large or too precise; all others accept no number. */
const numberTypes: ReadonlySet<string> = new Set(["int32", "int64", "float64"]);

function whatIs(value: unknown, type: string): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof WrittenNumber) return numberTypes.has(type) ? `number ${value.text}` : "number";
  if (typeof value === "number" && numberTypes.has(type)) return `number ${value}`;
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** A type of strings goes by its own name, and so does a map of quantities. */
const withName = (type: string, name: string): string =>
  type === "map[string]resource.Quantity" && name !== "string" ? name : type.replace(/\bstring$/, name);

const shortName = (struct: AnyStruct): string => struct.name.replace(/^.*\./, "");

/** A struct's name in Go: `v1.Pod`. */
export const goName = (struct: AnyStruct): string => struct.name.replace(/^.*\/(.*)$/, "$1");

export function goType(type: Type): string {
  switch (type.is) {
    case "list":
      return `[]${goType(type.item)}`;
    case "map":
      return `map[string]${goType(type.value)}`;
    case "struct":
      return goName(type.struct());
    case "double":
      return "float64";
    case "bytes":
      return "[]uint8";
    case "quantity":
      return "resource.Quantity";
    case "time":
    case "microTime":
      return "v1.Time";
    case "duration":
      return "v1.Duration";
    case "json":
      return "v1.JSON";
    default:
      return type.is;
  }
}

const newlines = new Set(["\n", "\r"]);

/** Where Go's decoder gives up on a text that is no base64: a truncated group is reported by its start. */
export function base64Fault(text: string): number {
  let inGroup = 0;
  let at = 0;
  const skipNewlines = () => {
    while (newlines.has(text[at] ?? "")) at++;
  };
  for (; at < text.length; at++) {
    const char = text[at] as string;
    if (newlines.has(char)) continue;
    if (/[A-Za-z0-9+/]/.test(char)) {
      inGroup = (inGroup + 1) % 4;
      continue;
    }
    if (char !== "=" || inGroup < 2) return at;
    at++;
    skipNewlines();
    if (inGroup === 2) {
      if (at === text.length) return at;
      if (text[at] !== "=") return at - 1;
      at++;
      skipNewlines();
    }
    return at;
  }
  return at - inGroup;
}
