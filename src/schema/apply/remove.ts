// An object without some of its fields, or with nothing but them.
import { setOwn } from "#base/collections.ts";
import { entryShape, fieldsOf, isListShape, partOf, type TypedValue } from "./compare.ts";
import { fieldElement, isKey, keysOf } from "./element.ts";
import { below, type FieldSet, has, isEmptySet, pathsOf, setOf, union } from "./field-set.ts";
import { type ApplyListShape, type ApplyShape, itemElement, type MapShape } from "./shape.ts";
import { isMap, type JsonMap } from "./value.ts";

/** The object without the fields of the set. A list or map that loses all it had becomes null, as upstream leaves it. */
export const removeFields = ({ shape, value }: TypedValue, fields: FieldSet): TypedValue =>
  isEmptySet(fields) ? { shape, value } : { shape, value: cut(shape, value, fields, false) };

/** The object with nothing but the fields of the set. `withKeys` keeps the keys of list items even if they are not among them. */
export function extractFields(typed: TypedValue, fields: FieldSet, withKeys = false): TypedValue {
  const kept = withKeys ? union(fields, keyFields(typed, fields)) : fields;
  return { shape: typed.shape, value: cut(typed.shape, typed.value, kept, true) };
}

function keyFields(typed: TypedValue, fields: FieldSet): FieldSet {
  const present = fieldsOf(typed);
  const paths = pathsOf(fields).filter((path) => has(present, path));
  return setOf(
    ...paths.flatMap((path) =>
      path.flatMap((element, i) =>
        isKey(element) ? keysOf(element).map(([name]) => [...path.slice(0, i + 1), fieldElement(name)]) : [],
      ),
    ),
  );
}

function cut(shape: ApplyShape, value: unknown, fields: FieldSet, extract: boolean): unknown {
  const part = partOf(shape, value);
  if (part === undefined || part === "scalar") return value;
  if (isListShape(part)) {
    if (!Array.isArray(value)) return null;
    if (part.atomic || value.length === 0) return extract ? value : null;
    return cutItems(part, value, fields, extract);
  }
  if (!isMap(value)) return null;
  if (part.atomic || Object.keys(value).length === 0) return extract ? value : null;
  return cutEntries(part, value, fields, extract);
}

function cutItems(list: ApplyListShape, items: readonly unknown[], fields: FieldSet, extract: boolean): unknown {
  const out: unknown[] = [];
  for (const item of items) {
    const element = itemElement(list, item);
    const named = has(fields, [element]);
    if (named && !extract) continue;
    const parts = below(fields, element);
    if (!isEmptySet(parts)) out.push(cut(list.item, item, parts, extract));
    else if (named || !extract) out.push(item);
  }
  return out.length > 0 ? out : null;
}

function cutEntries(map: MapShape, entries: JsonMap, fields: FieldSet, extract: boolean): unknown {
  const out: Record<string, unknown> = {};
  let empty = true;
  for (const key of Object.keys(entries)) {
    if (entries[key] === undefined) continue;
    const { element, shape } = entryShape(map, key) ?? { element: fieldElement(key), shape: {} };
    const named = has(fields, [element]);
    if (named && !extract) continue;
    const parts = below(fields, element);
    if (isEmptySet(parts) && !named && extract) continue;
    setOwn(out, key, isEmptySet(parts) ? entries[key] : cut(shape, entries[key], parts, extract));
    empty = false;
  }
  return empty ? null : out;
}
