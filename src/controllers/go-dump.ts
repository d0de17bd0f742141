// Prints an API value as Go's spew prints it, with all types, field names and nils. Upstream hashes this text of a pod template, so a
// cluster keeps its hashes only if ours is equal to the byte. Names, order and pointers follow from our declarations; what does not
// is in go-types.ts.
// Upstream: pkg/util/hash/hash.go and vendor/k8s.io/utils/dump/dump.go.
import { goFieldName } from "#api/internal-form.ts";
import type { FieldSpec, Type } from "#schema/field.ts";
import { parseQuantity, scaledValue, zeroQuantity } from "#schema/quantity.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { millisOf } from "#schema/time.ts";
import { goTypes } from "./go-types.ts";

type Values = Readonly<Record<string, unknown>>;
type Printer = (value: unknown) => string;

/** `(v1.PodSpec){Volumes:([]v1.Volume)<nil> …}`. */
export const goDump = (struct: AnyStruct, value: object): string =>
  `(${goStructName(struct)})${structPrinter(struct)(value)}`;

const printers = new WeakMap<AnyStruct, Printer>();

/** The braces of a struct and what is between them. */
function structPrinter(struct: AnyStruct): Printer {
  const known = printers.get(struct);
  if (known) return known;
  let parts: readonly Printer[] | undefined;
  const print: Printer = (value) => {
    parts ??= fieldPrinters(struct); // not before it is needed: a struct may contain itself
    return `{${parts.map((part) => part(value)).join(" ")}}`;
  };
  printers.set(struct, print);
  return print;
}

/** One for each field in Go; those that Go embeds as a struct of their own are one together. */
function fieldPrinters(struct: AnyStruct): readonly Printer[] {
  const groups = new Map<AnyStruct | string, string[]>();
  const fields = struct.fields as Readonly<Record<string, { readonly spec: FieldSpec }>>;
  for (const [name, { spec }] of Object.entries(fields)) {
    if (spec.isUnpublished) continue; // no part of v1.36
    const group = spec.inlined?.struct ?? name;
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  const printerOf = (name: string) => fieldPrinter(struct, name, (fields[name] as { readonly spec: FieldSpec }).spec);
  return [...groups].map(([group, names]): Printer => {
    const parts = names.map(printerOf);
    const [first = () => ""] = parts;
    if (typeof group === "string") return first;
    const type = goStructName(group);
    return (value) => `${shortName(group)}:(${type}){${parts.map((part) => part(value)).join(" ")}}`;
  });
}

function fieldPrinter(struct: AnyStruct, field: string, spec: FieldSpec): Printer {
  const name = field === "metadata" ? "ObjectMeta" : goFieldName(struct, field);
  const type = goTypes[`${shortName(struct)}.${field}`] ?? goType(spec.type);
  const print = typePrinter(spec.type);
  const isPointer =
    spec.pointer === true || (spec.type.is === "struct" && spec.default === undefined && spec.required !== true);
  const start = `${name}:(${isPointer ? "*" : ""}${type})`;
  return (value) => {
    const present = (value as Values)[field];
    return start + (isPointer && (present === undefined || present === null) ? "<nil>" : print(present));
  };
}

function typePrinter(type: Type): Printer {
  switch (type.is) {
    case "struct": {
      const print = structPrinter(type.struct());
      return (value = {}) => print(value);
    }
    case "list": {
      const print = typePrinter(type.item);
      // Nothing and an empty list are the same in protobuf, which is how upstream's controllers read.
      return (value) => (Array.isArray(value) && value.length > 0 ? `[${value.map(print).join(" ")}]` : "<nil>");
    }
    case "map": {
      const print = typePrinter(type.value);
      return (value) => mapText(value, print);
    }
    case "quantity":
      return (value = "0") => quantityText(String(value));
    case "intOrString":
      return intOrStringText;
    case "time":
      return (value) => timeText(value);
    case "fieldsV1":
      return (value) => `{Raw:([]uint8)${value === undefined ? "<nil>" : `[${bytesOf(JSON.stringify(value))}]`}}`;
    case "bool":
      return (value) => String(value ?? false);
    case "int32":
    case "int64":
      return (value) => String(value ?? 0);
    case "string":
      return (value) => String(value ?? "");
    default:
      throw new Error(`no pod template has a field of type ${type.is}`);
  }
}

function goType(type: Type): string {
  switch (type.is) {
    case "struct":
      return goStructName(type.struct());
    case "list":
      return `[]${goType(type.item)}`;
    case "map":
      return `map[string]${goType(type.value)}`;
    case "quantity":
      return "resource.Quantity";
    case "intOrString":
      return "intstr.IntOrString";
    case "time":
      return "v1.Time";
    case "fieldsV1":
      return "v1.FieldsV1";
    default:
      return type.is;
  }
}

const shortName = ({ name }: AnyStruct): string => name.slice(name.lastIndexOf(".") + 1);
const goStructName = (struct: AnyStruct): string => `v1.${shortName(struct)}`;
const bytesOf = (text: string): string => new TextEncoder().encode(text).join(" ");

function mapText(value: unknown, print: Printer): string {
  const entries = Object.entries((value ?? {}) as Values);
  if (entries.length === 0) return "<nil>";
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${sorted.map(([key, one]) => `${key}:${print(one)}`).join(" ")}]`;
}

function intOrStringText(value: unknown): string {
  const [type, int, text] = typeof value === "string" ? [1, 0, value] : [0, value ?? 0, ""];
  return `{Type:(intstr.Type)${type} IntVal:(int32)${int} StrVal:(string)${text}}`;
}

/** Seconds from the year 1, where Go's zero time is, to 1970. */
const unixStart = 62_135_596_800;

function timeText(value: unknown): string {
  const seconds = typeof value === "string" ? Math.floor(millisOf(value) / 1000) + unixStart : 0;
  return `{Time:(time.Time){wall:(uint64)0 ext:(int64)${seconds} loc:(*time.Location)<nil>}}`;
}

/** Amounts with so many digits are kept in 64 bits; others, and those finer than nano, as big decimals. */
const int64Digits = 18;
const binaryDigits = 14;
const nano = -9;
const suffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** A quantity as it is after it was parsed: the text is kept where the parser takes it for canonical. */
function quantityText(text: string): string {
  const quantity = text === "0" ? zeroQuantity : parseQuantity(text);
  const small = int64Amount(text);
  const kept = small ? (quantity.text ?? "") : "";
  return (
    `{i:(resource.int64Amount){value:(int64)${small?.value ?? 0} scale:(resource.Scale)${small?.scale ?? 0}}` +
    ` d:(resource.infDecAmount){Dec:(*inf.Dec)${small ? "<nil>" : decimalText(scaledValue(quantity, nano))}}` +
    ` s:(string)${kept} Format:(resource.Format)${quantity.format}}`
  );
}

/** The number and its power of ten, if the parser computes with 64 bits. */
function int64Amount(text: string): { readonly value: bigint; readonly scale: number } | undefined {
  const [, sign, whole = "", fraction = "", suffix = ""] = /^([+-]?)0*(\d*)\.?(\d*)(.*)$/.exec(text) ?? [];
  const digits = (whole || "0") + fraction;
  const signed = (value: bigint) => (sign === "-" ? -value : value);
  const binary = suffix === "" ? -1 : binarySuffixes.indexOf(suffix);
  if (binary > 0) {
    if (fraction !== "" || digits.length + 3 * binary > binaryDigits) return undefined;
    return { value: signed(BigInt(digits) * 1024n ** BigInt(binary)), scale: 0 };
  }
  const known = suffixes.indexOf(suffix);
  const exponent = known < 0 ? Number(suffix.slice(1)) : (known - suffixes.indexOf("")) * 3;
  const scale = exponent - fraction.length;
  if (digits.length > int64Digits || scale < nano) return undefined;
  return { value: signed(BigInt(digits)), scale };
}

function decimalText(nanos: bigint): string {
  const words: bigint[] = [];
  for (let left = nanos < 0n ? -nanos : nanos; left > 0n; left >>= 64n) words.push(BigInt.asUintN(64, left));
  const abs = words.length === 0 ? "<nil>" : `[${words.join(" ")}]`;
  return `{unscaled:(big.Int){neg:(bool)${nanos < 0n} abs:(big.nat)${abs}} scale:(inf.Scale)${-nano}}`;
}
