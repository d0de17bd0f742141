// Where Go writes null: for times that are not set, for lists that are empty but always written, and for a few pointers. What the
// process holds has none of that, so that nobody who reads an object meets a null: a time is absent, a list is empty. The nulls come in
// when an object is written as JSON, and go when that is read again. Compiled once per struct; only what leads to such a
// field is looked at, and only what changes is copied.
import type { FieldSpec, Type } from "./field.ts";
import type { AnyKind } from "./kind.ts";
import { type AnyStruct, structOf } from "./struct.ts";

type Values = Record<string, any>;
/** Returns what it was given if there is nothing to change in it. */
type Change = (value: any) => any;

/** The object as it is written, with Go's nulls. Shares all else with `object`, which is left as it is. */
export function asWritten<T extends object>(subject: AnyKind | AnyStruct, object: T): T {
  return (writing(structOf(subject))?.(object) as T | undefined) ?? object;
}

/** The reverse, of an object that was just parsed and belongs to the caller. */
export function asHeld<T extends object>(subject: AnyKind | AnyStruct, object: T): T {
  return (reading(structOf(subject))?.(object) as T | undefined) ?? object;
}

/** A time that is not set, or a pointer without `omitempty`: absent here, null there. */
const isAbsentAsNull = ({ type, pointer, omitZero, nullable }: FieldSpec): boolean =>
  nullable === true || ((type.is === "time" || type.is === "microTime") && !pointer && !omitZero);

/** Storing an object takes it through protobuf, which has no empty lists. */
const isEmptyAsNull = ({ type, pointer, always, required, omitEmpty, keepsEmpty }: FieldSpec): boolean =>
  type.is === "list" && !pointer && !keepsEmpty && (always === true || (required === true && !omitEmpty));

interface Plan {
  readonly absent: readonly string[];
  readonly empty: readonly string[];
  readonly parts: ReadonlyMap<string, Change>;
}

const writing = compiler(({ absent, empty, parts }) => (value: Values) => {
  let copy: Values | undefined;
  for (const name of absent) {
    if (value[name] !== undefined) continue;
    copy ??= { ...value };
    copy[name] = null;
  }
  for (const name of empty) {
    const list = value[name];
    if (list === null || (list !== undefined && list.length > 0)) continue;
    copy ??= { ...value };
    copy[name] = null;
  }
  if (parts.size === 0) return copy ?? value;
  for (const name in value) {
    const before = value[name];
    if (before === undefined || before === null) continue;
    const after = parts.get(name)?.(before) ?? before;
    if (after === before) continue;
    copy ??= { ...value };
    copy[name] = after;
  }
  return copy ?? value;
});

const reading = compiler(({ absent, empty, parts }) => (value: Values) => {
  let held = value;
  if (absent.some((name) => value[name] === null)) {
    held = {}; // to delete would turn it into a slow dictionary
    for (const name in value) if (value[name] !== null || !absent.includes(name)) held[name] = value[name];
  }
  for (const name of empty) if (held[name] === null) held[name] = [];
  if (parts.size === 0) return held;
  for (const name in held) {
    const before = held[name];
    if (before === undefined || before === null) continue;
    const after = parts.get(name)?.(before) ?? before;
    if (after !== before) held[name] = after;
  }
  return held;
});

/** Makes the changes of structs; undefined where there is nothing to do, as in most of them. */
function compiler(changeBy: (plan: Plan) => Change): (struct: AnyStruct) => Change | undefined {
  const compiled = new WeakMap<AnyStruct, Change | undefined>();
  const leads = new WeakMap<AnyStruct, boolean>();

  const ofStruct = (struct: AnyStruct): Change | undefined => {
    if (compiled.has(struct)) return compiled.get(struct);
    // A struct that contains itself finds this while it is being compiled.
    compiled.set(struct, (value) => compiled.get(struct)?.(value) ?? value);
    const change = leadsToNull(struct, leads, new Set()) ? changeBy(planOf(struct)) : undefined;
    compiled.set(struct, change);
    return change;
  };

  const planOf = (struct: AnyStruct): Plan => {
    const fields = Object.entries(struct.fields as Record<string, { spec: FieldSpec }>);
    return {
      absent: fields.filter(([, { spec }]) => isAbsentAsNull(spec)).map(([name]) => name),
      empty: fields.filter(([, { spec }]) => isEmptyAsNull(spec)).map(([name]) => name),
      parts: new Map(
        fields.flatMap(([name, { spec }]) => {
          const change = ofType(spec.type);
          return change ? [[name, change] as const] : [];
        }),
      ),
    };
  };

  const ofType = (type: Type): Change | undefined => {
    switch (type.is) {
      case "struct":
        return ofStruct(type.struct());
      case "list":
        return eachItem(ofType(type.item));
      case "map":
        return eachValue(ofType(type.value));
      default:
        return undefined;
    }
  };
  return ofStruct;
}

/** Whether anything in a struct is ever written as null. */
function leadsToNull(struct: AnyStruct, results: WeakMap<AnyStruct, boolean>, above: Set<AnyStruct>): boolean {
  const found = results.get(struct);
  if (found !== undefined) return found;
  if (above.has(struct)) return false;
  above.add(struct);
  const leads = Object.values(struct.fields as Record<string, { spec: FieldSpec }>).some(({ spec }) => {
    let { type } = spec;
    while (type.is === "list" || type.is === "map") type = type.is === "list" ? type.item : type.value;
    return (
      isAbsentAsNull(spec) ||
      isEmptyAsNull(spec) ||
      (type.is === "struct" && leadsToNull(type.struct(), results, above))
    );
  });
  above.delete(struct);
  if (leads || above.size === 0) results.set(struct, leads);
  return leads;
}

const eachItem = (change: Change | undefined): Change | undefined =>
  change &&
  ((items: readonly unknown[]) => {
    let copy: unknown[] | undefined;
    for (const [i, before] of items.entries()) {
      const after = change(before);
      if (after === before) continue;
      copy ??= items.slice();
      copy[i] = after;
    }
    return copy ?? items;
  });

const eachValue = (change: Change | undefined): Change | undefined =>
  change &&
  ((entries: Values) => {
    const changed = Object.entries(entries).map(([key, before]) => [key, change(before)] as const);
    return changed.some(([key, after]) => after !== entries[key]) ? Object.fromEntries(changed) : entries;
  });
