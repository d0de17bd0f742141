// Objects of which one part is large: for every list, map, text and free value that a kind declares, wherever it stands, one with much
// of that and a valid rest. What the parts hold fits the declarations, so that it gets far before it is refused, if it is.
import { catalog } from "#api/catalog.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { own } from "#base/collections.ts";
import type { AnyField } from "#schema/any.ts";
import type { FieldSpec, Scalar, Type } from "#schema/field.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { samples } from "./samples.ts";

export interface LargePart {
  /** Where it is, such as `Pod spec.containers[].env`. */
  readonly name: string;
  readonly kind: AnyKind;
  readonly is: "list" | "map" | "text" | "json";
  /** The struct and field, which many kinds may share. */
  readonly declaredAt: string;
  /** An object with so many of it; of a text, so many characters. In one that is given, beside what that has. */
  of(count: number, object?: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}

type Json = Record<string, unknown>;
type Path = readonly (string | number)[];

/** All parts of all kinds that can be created; a pod's come first, since most is done with them. */
export const largeParts = (): readonly LargePart[] =>
  [Pod, ...catalog.filter((kind) => kind !== Pod && kind.verbs.includes("create"))].flatMap((kind) => [
    ...partsIn(kind, kind.struct, [], new Set()),
  ]);

/** The parts without those that differ only in the kind around them. */
export function distinctParts(): readonly LargePart[] {
  const first = new Map(
    largeParts()
      .toReversed()
      .map((part) => [part.declaredAt, part]),
  );
  return largeParts().filter((part) => first.get(part.declaredAt)?.name === part.name);
}

function* partsIn(kind: AnyKind, struct: AnyStruct, path: Path, around: ReadonlySet<AnyStruct>): Iterable<LargePart> {
  if (around.has(struct)) return;
  const inside = new Set(around).add(struct);
  for (const [field, { spec }] of Object.entries<AnyField>(struct.fields)) {
    if (spec.envelope || spec.gateOff || (path.length === 0 && (field === "apiVersion" || field === "kind"))) continue;
    yield* partsAt(kind, spec.type, spec, [...path, field], `${struct.name}.${field}`, inside);
  }
}

function* partsAt(
  kind: AnyKind,
  type: Type,
  spec: FieldSpec,
  path: Path,
  declaredAt: string,
  around: ReadonlySet<AnyStruct>,
): Iterable<LargePart> {
  const part = (is: LargePart["is"], make: (count: number) => unknown): LargePart => ({
    name: `${kind.apiVersion} ${kind.kind} ${path.map((step) => (step === 0 ? "[]" : step)).join(".")}`,
    kind,
    is,
    declaredAt,
    of: (count, object) => withPart(kind, path, make(count), object),
  });
  switch (type.is) {
    case "list":
      yield part("list", (count) => Array.from({ length: count }, (_, i) => sampleOf(type.item, spec, i)));
      yield* partsAt(kind, type.item, spec, [...path, 0], `${declaredAt}[]`, around);
      break;
    case "map":
      yield part("map", (count) =>
        Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, sampleOf(type.value, spec, i)])),
      );
      yield* partsAt(kind, type.value, spec, [...path, "key"], `${declaredAt}{}`, around);
      break;
    case "struct":
      yield* partsIn(kind, type.struct(), path, around);
      break;
    case "either":
      yield* partsIn(kind, type.either.struct(), path, around);
      break;
    case "rawExtension":
    case "json":
    case "fieldsV1":
      yield part("json", (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f:k${i}`, {}])));
      break;
    default:
      if (type.is === "string" || type.is === "bytes" || type.is === "quantity" || type.is === "intOrString")
        yield part("text", (count) => (type.is === "quantity" ? "1" : "x").repeat(Math.max(4, count & ~3)));
  }
}

/** The sample of the kind, or the least there can be of it, with this value there. */
function withPart(kind: AnyKind, path: Path, value: unknown, around?: Readonly<Json>): Json {
  const { apiVersion, kind: name } = kind;
  const sample = around ?? samples.find((one) => one.apiVersion === apiVersion && one.kind === name);
  const object = structuredClone(sample ?? leastOf(kind.struct, 0)) as Json;
  Object.assign(object, { apiVersion, kind: name });
  object.metadata = { name: "large", ...(object.metadata as object) };
  let at = object;
  let type: Type = { is: "struct", struct: () => kind.struct };
  for (const step of path.slice(0, -1)) {
    type = partType(type, step);
    at[step] ??= sampleOf(type, undefined, 0, true);
    at = at[step] as Json;
  }
  at[path.at(-1) as string] = value;
  return object;
}

function partType(type: Type, step: string | number): Type {
  if (type.is === "list") return type.item;
  if (type.is === "map") return type.value;
  const struct = type.is === "either" ? type.either.struct() : (type as { struct(): AnyStruct }).struct();
  return (own(struct.fields as Record<string, AnyField>, String(step)) as AnyField).spec.type;
}

const leastOf = (struct: AnyStruct, i: number): Json =>
  Object.fromEntries(
    Object.entries<AnyField>(struct.fields)
      .filter(([name, { spec }]) => spec.required || spec.nonEmpty || name === "name" || name === "key")
      .map(([name, { spec }]) => [name, sampleOf(spec.type, spec, i)]),
  );

/** Told apart by `i` where the declaration lets it be. */
function sampleOf(type: Type, spec: FieldSpec | undefined, i: number, isEmpty = false): unknown {
  switch (type.is) {
    case "struct":
      return leastOf(type.struct(), i);
    case "either":
      return leastOf(type.either.struct(), i);
    case "list":
      return isEmpty ? [] : [sampleOf(type.item, spec, i)];
    case "map":
      return {};
    case "string":
      return spec?.enum?.[0] ?? textFor(spec, i);
    default:
      return scalars[type.is](i);
  }
}

const texts: readonly ((i: number) => string)[] = [
  (i) => `x${i}`,
  (i) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`,
  (i) => `10.${(i >> 8) & 255}.${i & 255}.0/24`,
  (i) => `x${i}.example.com`,
  (i) => `example.com/x${i}`,
  (i) => `/x${i}`,
];

const textFor = (spec: FieldSpec | undefined, i: number): string =>
  (texts.find((text) => spec?.formats?.every((format) => format(text(0)).length === 0) ?? true) ?? texts[0])?.(i) ?? "";

const scalars: Readonly<Record<Exclude<Scalar, "string">, (i: number) => unknown>> = {
  bool: () => true,
  int32: (i) => (i % 65_535) + 1,
  int64: (i) => i + 1,
  double: (i) => i + 0.5,
  bytes: () => "AAAA",
  time: () => "2026-01-02T03:04:05Z",
  microTime: () => "2026-01-02T03:04:05.000006Z",
  duration: (i) => `${(i % 3600) + 1}ms`,
  quantity: (i) => `${i + 1}`,
  intOrString: (i) => (i % 65_535) + 1,
  rawExtension: () => ({}),
  json: () => ({}),
  fieldsV1: () => ({}),
};
