import type { CelType } from "../types.ts";
import { fail } from "./failure.ts";
import type { CelValue } from "./value.ts";

export interface MapValue {
  readonly kind: "map";
  readonly size: number;
  /** The struct it is an object of; undefined for plain maps. */
  readonly type?: CelType;
  find(key: CelValue): CelValue | undefined;
  keys(): Iterable<CelValue>;
}

/** What a key is looked up by: 1, 1u and 1.0 are the same key. Undefined for what cannot be a key. */
function lookupKey(key: CelValue): string | number | bigint | boolean | undefined {
  switch (typeof key) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return key;
  }
  if (key === null || key instanceof Uint8Array) return undefined;
  if (key.kind === "uint") return key.value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(key.value) : key.value;
  if (key.kind === "double" && Number.isInteger(key.value))
    return Number.isSafeInteger(key.value) ? key.value + 0 : BigInt(key.value);
  return undefined;
}

/** A map of entries that are there already. */
export class EntryMap implements MapValue {
  readonly kind = "map";
  readonly #entries = new Map<unknown, { readonly key: CelValue; readonly value: CelValue }>();

  constructor(entries: Iterable<readonly [CelValue, CelValue]> = []) {
    for (const [key, value] of entries) this.insert(key, value);
  }

  /** Only while nobody else sees the map. Fails if the key is there already, unless it `replaces`, or cannot be one. */
  insert(key: CelValue, value: CelValue, replaces = false): this {
    const lookup =
      typeof key === "object" && key !== null && "kind" in key && key.kind === "double" ? undefined : lookupKey(key);
    if (lookup === undefined) fail("unsupported key type");
    if (!replaces && this.#entries.has(lookup)) fail(`Failed with repeated key`);
    this.#entries.set(lookup, { key, value });
    return this;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(key: CelValue): CelValue | undefined {
    const lookup = lookupKey(key);
    return lookup === undefined ? undefined : this.#entries.get(lookup)?.value;
  }

  *keys(): Generator<CelValue> {
    for (const { key } of this.#entries.values()) yield key;
  }
}
