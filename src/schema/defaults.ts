// Filling in what a client left out. Fields that have a default get it, structs and zeros that are always written come
// into being, then the struct's own `complete` sees the result, and only then its parts are visited: a parent may
// decide what its parts find. Compiled once per struct; works in place on an object its caller owns.
import type { FieldSpec, Type } from "./field.ts";
import type { AnyKind } from "./kind.ts";
import type { AnyStruct } from "./struct.ts";

type Values = Record<string, any>;
type Defaulter = (value: any) => void;

/** Applies the defaults of a kind or struct to `object`, which must be decoded and not shared. Doing it twice changes nothing more. */
export function applyDefaults<T extends object>(subject: AnyKind | AnyStruct, object: T): T {
  if ("model" in subject) subject.model.applyDefaults(object);
  else structDefaulter(subject)?.(object);
  return object;
}

/** Undefined where there is nothing to do: most leaf structs. */
const compiled = new WeakMap<AnyStruct, Defaulter | undefined>();

function structDefaulter(struct: AnyStruct): Defaulter | undefined {
  if (compiled.has(struct)) return compiled.get(struct);
  // A struct that contains itself finds this while it is being compiled.
  compiled.set(struct, (value) => compiled.get(struct)?.(value));
  const defaulter = compile(struct);
  compiled.set(struct, defaulter);
  return defaulter;
}

function compile(struct: AnyStruct): Defaulter | undefined {
  const fields = Object.entries(struct.fields as Record<string, { spec: FieldSpec }>);
  const fills = fields.flatMap(([name, { spec }]) => {
    const make = filler(spec);
    return make
      ? [{ name, make, zeroIsAbsent: spec.default !== undefined && !spec.pointer && spec.type.is !== "struct" }]
      : [];
  });
  const parts = new Map(
    fields.flatMap(([name, { spec }]) => {
      const run = typeDefaulter(spec.type);
      return run ? [[name, run] as const] : [];
    }),
  );
  const complete = struct.complete as Defaulter | undefined;
  if (fills.length === 0 && parts.size === 0 && !complete) return undefined;

  return (value: Values) => {
    for (const { name, make, zeroIsAbsent } of fills) {
      const present = value[name];
      if (present === undefined || (zeroIsAbsent && (present === 0 || present === "" || present === false)))
        value[name] = make();
    }
    complete?.call(struct, value);
    if (parts.size === 0) return;
    for (const name in value) {
      const part = value[name];
      if (part !== undefined) parts.get(name)?.(part);
    }
  };
}

function typeDefaulter(type: Type): Defaulter | undefined {
  switch (type.is) {
    case "struct":
      return structDefaulter(type.struct());
    case "list": {
      const item = typeDefaulter(type.item);
      return item && ((items: any[]) => items.forEach(item));
    }
    case "map": {
      const value = typeDefaulter(type.value);
      return value && ((entries: Values) => Object.values(entries).forEach(value));
    }
    default:
      return undefined;
  }
}

const filled = new WeakSet<object>();

/** Whether a list came into being because nobody sent one. Go has none then, and shows it as null. */
export const isFilledIn = (value: unknown): boolean => typeof value === "object" && value !== null && filled.has(value);

/** Notes that nobody sent the list. */
export function filledIn<T extends object>(list: T): T {
  filled.add(list);
  return list;
}

/** Makes what stands in the place of an absent field; undefined where absent stays absent. */
function filler(spec: FieldSpec): (() => unknown) | undefined {
  const { type, required, pointer, omitEmpty, always } = spec;
  if (spec.default !== undefined) {
    const fixed = spec.default;
    if (typeof fixed !== "object" || fixed === null) return () => fixed;
    return Object.keys(fixed).length === 0 ? () => ({}) : () => structuredClone(fixed);
  }
  if (pointer || !(always || (required && !omitEmpty)))
    return type.is === "struct" && required && !pointer ? () => ({}) : undefined;
  switch (type.is) {
    case "string":
    case "bytes":
      return () => "";
    case "int32":
    case "int64":
    case "double":
    case "intOrString":
      return () => 0;
    case "bool":
      return () => false;
    case "quantity":
      return () => "0";
    case "list":
      return () => filledIn([]);
    case "map":
    case "struct":
      return () => ({});
    default:
      return undefined; // times and raw JSON have no zero that could be written
  }
}
