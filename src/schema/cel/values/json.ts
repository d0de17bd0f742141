// Values of JSON, and JSON of values. Objects and lists are wrapped and not converted, since an expression reads little of an object.
import type { CelType } from "../types.ts";
import { Double } from "./double.ts";
import { formatSeconds } from "./duration.ts";
import { fail } from "./failure.ts";
import { elementsOf, type ListValue } from "./list.ts";
import type { MapValue } from "./map.ts";
import { formatTimestamp } from "./timestamp.ts";
import { type CelValue, typeOf } from "./value.ts";

/** Makes the value of a part of an object; undefined if it counts as absent. */
export type JsonReader = (json: unknown) => CelValue | undefined;

/** Without a schema: whole numbers are integers, other numbers doubles. */
export function valueOfJson(json: unknown): CelValue {
  switch (typeof json) {
    case "string":
    case "boolean":
      return json;
    case "number":
      return Number.isSafeInteger(json) ? json : new Double(json);
    case "bigint":
      return json;
  }
  if (json === null || json === undefined) return null;
  if (Array.isArray(json)) return new JsonListValue(json, valueOfJson);
  return new JsonMapValue(json, valueOfJson);
}

export class JsonListValue implements ListValue {
  readonly kind = "list";
  readonly #items: readonly unknown[];
  readonly #read: JsonReader;

  constructor(items: readonly unknown[], read: JsonReader) {
    this.#items = items;
    this.#read = read;
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): CelValue | undefined {
    const item = this.#items[index];
    return item === undefined ? undefined : (this.#read(item) ?? null);
  }
}

/** A JSON object whose keys are data: all have values of one type. */
export class JsonMapValue implements MapValue {
  readonly kind = "map";
  readonly #object: object;
  readonly #read: JsonReader;

  constructor(object: object, read: JsonReader) {
    this.#object = object;
    this.#read = read;
  }

  get size(): number {
    return Object.keys(this.#object).length;
  }

  find(key: CelValue): CelValue | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#object, key)) return undefined;
    const json = Reflect.get(this.#object, key);
    return json === undefined ? undefined : this.#read(json);
  }

  keys(): Iterable<CelValue> {
    return Object.keys(this.#object);
  }
}

/** A field as expressions see it: `key` in JSON may be escaped in the expression. */
export interface ObjectField {
  readonly key: string;
  readonly read: JsonReader;
}

/** A JSON object of a struct: each field is of its own type, and has the name that expressions can write. */
export class JsonStruct implements MapValue {
  readonly kind = "map";
  readonly type: CelType;
  readonly #object: object;
  readonly #fields: ReadonlyMap<string, ObjectField>;

  constructor(type: CelType, object: object, fields: ReadonlyMap<string, ObjectField>) {
    this.type = type;
    this.#object = object;
    this.#fields = fields;
  }

  get size(): number {
    return [...this.keys()].length;
  }

  find(name: CelValue): CelValue | undefined {
    const field = typeof name === "string" ? this.#fields.get(name) : undefined;
    if (!field || !Object.hasOwn(this.#object, field.key)) return undefined;
    const json = Reflect.get(this.#object, field.key);
    return json === undefined ? undefined : field.read(json);
  }

  *keys(): Generator<CelValue> {
    for (const name of this.#fields.keys()) if (this.find(name) !== undefined) yield name;
  }
}

/** Fails if JSON has nothing for the value. */
export function jsonOfValue(value: CelValue): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return base64(value);
  switch (value.kind) {
    case "uint":
      return Number(value.value);
    case "double":
      return value.value;
    case "timestamp":
      return formatTimestamp(value);
    case "duration":
      return formatSeconds(value);
    case "list":
      return [...elementsOf(value)].map(jsonOfValue);
    case "map": {
      const object: Record<string, unknown> = Object.create(null);
      for (const key of value.keys()) object[String(jsonOfValue(key))] = jsonOfValue(value.find(key) ?? null);
      return Object.setPrototypeOf(object, Object.prototype);
    }
    default:
      return fail(`unsupported conversion of ${typeOf(value).name} to JSON`);
  }
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
