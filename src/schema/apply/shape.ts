// What ownership needs to know of a value: whether it is owned as a whole or part by part, and how the items of a list are told
// apart. Shapes come from declarations (`declared.ts`) and from the schemas of custom resources (`json-schema.ts`).
import { own } from "#base/collections.ts";
import type { Scalar } from "../field.ts";
import { fieldElement, valueElement } from "./element.ts";
import { compareText, goJson, goQuote, isMap } from "./value.ts";

export type ScalarShape = "numeric" | "string" | "boolean" | "untyped";

/** What a value may be. More than one where the declaration leaves it open; then the value decides. */
export interface ApplyShape {
  readonly scalar?: ScalarShape;
  readonly list?: ApplyListShape;
  readonly map?: MapShape;
}

export interface MapShape {
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, FieldShape>;
  /** The shape of what is not among the fields; without one, nothing else may be there. */
  readonly element: ApplyShape | undefined;
}
export interface FieldShape {
  readonly element: string;
  readonly shape: ApplyShape;
}

/** A list without keys that is not atomic is a set. */
export interface ApplyListShape {
  readonly atomic: boolean;
  /** In the order of their names. */
  readonly keys: readonly KeyShape[];
  readonly item: ApplyShape;
}
export interface KeyShape {
  readonly name: string;
  /** How the key's element begins: `"name":`. */
  readonly prefix: string;
  readonly default: unknown;
}

export const noFields: ReadonlyMap<string, FieldShape> = new Map();

/** The fields with these names, each once. */
export function namedFields(shapes: ReadonlyMap<string, ApplyShape>): ReadonlyMap<string, FieldShape> {
  const fields = new Map<string, FieldShape>();
  for (const [name, shape] of shapes) fields.set(name, { element: fieldElement(name), shape });
  return fields;
}

const scalarShape = (scalar: ScalarShape): ApplyShape => ({ scalar });
/** Of a value whose schema is not known, inside something that is owned as a whole. */
export const untypedAtomic: ApplyShape = {
  scalar: "untyped",
  list: {
    atomic: true,
    keys: [],
    get item() {
      return untypedAtomic;
    },
  },
  map: {
    atomic: true,
    fields: noFields,
    get element() {
      return untypedAtomic;
    },
  },
};

/** Of a value whose schema is not known: maps are owned entry by entry, lists as a whole. */
export const deduced: ApplyShape = {
  scalar: "untyped",
  list: { atomic: true, keys: [], item: untypedAtomic },
  map: {
    atomic: false,
    fields: noFields,
    get element() {
      return deduced;
    },
  },
};
/** An object of a kind not known here. */
export const anyObject: ApplyShape = { map: { atomic: false, fields: noFields, element: deduced } };

export const untyped = scalarShape("untyped");
export const scalarShapes: Readonly<Record<Scalar, ApplyShape>> = {
  string: scalarShape("string"),
  bytes: scalarShape("string"),
  bool: scalarShape("boolean"),
  int32: scalarShape("numeric"),
  int64: scalarShape("numeric"),
  double: scalarShape("numeric"),
  time: untyped,
  microTime: untyped,
  duration: untyped,
  quantity: untyped,
  intOrString: untyped,
  rawExtension: anyObject,
  fieldsV1: anyObject,
  json: deduced,
};

/** A key of a list's items. `fallback` stands for it where an item leaves it out. */
export const keyShape = (name: string, fallback: unknown): KeyShape => ({
  name,
  prefix: `${goJson(name)}:`,
  default: fallback,
});

/** A list whose items are known by these keys. */
export const keyedBy = (keys: readonly KeyShape[]): readonly KeyShape[] =>
  keys.toSorted((a, b) => compareText(a.name, b.name));

/** A list item has no key: the object does not fit its schema. */
export class ListItemError extends Error {
  override readonly name = "ListItemError";
}

/** The path element by which an item of a list that is no atomic one is known. */
export function itemElement({ keys }: ApplyListShape, item: unknown): string {
  if (keys.length === 0) return setElement(item);
  if (item === null || item === undefined)
    throw new ListItemError("associative list with keys may not have a null element");
  if (!isMap(item)) throw new ListItemError("associative list with keys may not have non-map elements");
  let text = "";
  for (const { name, prefix, default: fallback } of keys) {
    const given = own(item, name);
    const value = given === undefined ? fallback : given;
    if (value !== undefined) text += `${text === "" ? "" : ","}${prefix}${goJson(value)}`;
  }
  if (text === "") {
    const names = keys.map(({ name }) => goQuote(name)).join(" ");
    throw new ListItemError(
      `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    );
  }
  return `k:{${text}}`;
}

function setElement(item: unknown): string {
  if (item === null || item === undefined)
    throw new ListItemError("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new ListItemError("not supported: associative list with lists as elements");
  if (isMap(item)) throw new ListItemError("associative list without keys has an element that's a map type");
  return valueElement(item);
}
