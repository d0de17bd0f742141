// Reading fields, elements and entries, also through optionals. Follows cel-go's interpreter/attributes.go.
import { elementAt, showKey } from "./libraries/operators.ts";
import { fail, noSuchOverload } from "./values/failure.ts";
import { none, OptionalValue } from "./values/optional.ts";
import type { CelValue } from "./values/value.ts";

/** What is under a name or an index, undefined if there is nothing. */
function find(value: CelValue, key: CelValue): CelValue | undefined {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return noSuchOverload();
  switch (value.kind) {
    case "map":
      return value.find(key);
    case "list":
      return elementAt(value, key);
    case "opaque":
      return typeof key === "string" && value.field ? value.field(key) : noSuchOverload();
    default:
      return noSuchOverload();
  }
}

function isOptional(value: CelValue): value is OptionalValue {
  return value instanceof OptionalValue;
}

/** `value.key`, `value[key]`. What is read from an optional is an optional, too. */
export function read(value: CelValue, key: CelValue): CelValue {
  if (isOptional(value)) return readOptional(value, key);
  const found = find(value, key);
  if (found !== undefined) return found;
  const isList = typeof value === "object" && value !== null && "kind" in value && value.kind === "list";
  return fail(isList ? `index out of bounds: ${showKey(key)}` : `no such key: ${showKey(key)}`);
}

/** `value.?key`, `value[?key]`. */
export function readOptional(value: CelValue, key: CelValue): OptionalValue {
  const inner = isOptional(value) ? value.value : value;
  const found = inner === undefined ? undefined : find(inner, key);
  if (found === undefined) return none;
  return isOptional(found) ? found : new OptionalValue(found);
}

/** `has(value.key)` */
export function isPresent(value: CelValue, key: string): boolean {
  const inner = isOptional(value) ? value.value : value;
  return inner !== undefined && find(inner, key) !== undefined;
}
