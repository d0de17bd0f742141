// FieldsV1 as it comes from clients and from the store: checked, and brought into the one spelling and order of sets.
import { FieldSetError, parseElement } from "./element.ts";
import { emptySet, type FieldSet, self, shared } from "./field-set.ts";
import { isMap } from "./value.ts";

/** Deeper than any object the API can hold, and well within the stack. */
const maxDepth = 500;

/** Objects are immutable once they are stored, so no document need be read twice. What this code made is in here from the start. */
const parsed = new WeakMap<object, FieldSet>();

/** The set that a `fieldsV1` document stands for. Throws FieldSetError. */
export function decodeFields(document: unknown): FieldSet {
  if (document === undefined || document === null) return emptySet;
  if (!isMap(document)) throw new FieldSetError("FieldsV1 must be an object");
  const present = parsed.get(document);
  if (present) return present;
  const decoded = shared(read(document, 0));
  parsed.set(document, decoded);
  return encodeFields(decoded);
}

/** A set is its own document; from here on it is known to be one. */
export function encodeFields(set: FieldSet): FieldSet {
  parsed.set(set, set);
  return set;
}

/** A field without parts always belongs to the set, whether its node says so or not. */
function read(node: unknown, depth: number): FieldSet {
  if (depth > maxDepth) throw new FieldSetError("FieldsV1: exceeded max depth");
  if (node === null) return emptySet;
  if (!isMap(node)) throw new FieldSetError(`FieldsV1: expect an object, got ${JSON.stringify(node)}`);
  const parts: Record<string, FieldSet> = {};
  let empty = true;
  for (const text of Object.keys(node)) {
    const element = text === self ? undefined : parseElement(text);
    if (element === undefined) continue;
    parts[element] = read(node[text], depth + 1);
    empty = false;
  }
  if (empty) return emptySet;
  return depth > 0 && Object.hasOwn(node, self) ? { [self]: emptySet, ...parts } : parts;
}
