// From a parsed value to one that can be kept: as Go reads JSON of which nothing is known.
import { setOwn } from "#base/collections.ts";
import { DecodeError, maxDepth, WrittenNumber } from "../json.ts";

export interface JsonRead {
  readonly value: unknown;
  /** How many keys all objects have together. */
  readonly keys: number;
}

/** Works in place on what the parser made. Throws DecodeError for numbers that overflow, malformed keys, and too much nesting. */
export function readJson(value: unknown): JsonRead {
  const reader = new Reader();
  return { value: reader.read(value, 0), keys: reader.keys };
}

class Reader {
  keys = 0;

  read(value: unknown, depth: number): unknown {
    if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
    if (typeof value === "number") return finite(value, String(value));
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof WrittenNumber) return finite(value.valueOf(), value.text);
    if (depth >= maxDepth) throw new DecodeError(`nested more than ${maxDepth} levels deep`);
    return Array.isArray(value) ? this.#list(value, depth) : this.#object(value as Record<string, unknown>, depth);
  }

  #list(items: unknown[], depth: number): unknown {
    for (let i = 0; i < items.length; i++) {
      const after = this.read(items[i], depth + 1);
      if (after !== items[i]) items[i] = after;
    }
    return items;
  }

  #object(object: Record<string, unknown>, depth: number): unknown {
    for (const key of Object.keys(object)) {
      this.keys++;
      if (!key.isWellFormed()) throw new DecodeError("a key has half a surrogate pair");
      const after = this.read(object[key], depth + 1);
      if (after !== object[key]) setOwn(object, key, after);
    }
    return object;
  }
}

function finite(value: number, text: string): number {
  if (Number.isFinite(value)) return value + 0; // never -0, which JSON could not tell from 0
  throw new DecodeError(`json: cannot unmarshal number ${text} into Go value of type float64`);
}
