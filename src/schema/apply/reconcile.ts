// A schema may change while objects live: a struct or list that was owned field by field becomes atomic. Who owned a part of it
// then owns the whole. (The way back needs nothing: the owner of the whole keeps it, and parts are owned as they are written.)
import { entryShape, isListShape, partOf } from "./compare.ts";
import { emptySet, type FieldSet, isEmptySet, self } from "./field-set.ts";
import { type ApplyShape, deduced, type MapShape } from "./shape.ts";

/** Sets that were found to fit a shape; most are looked at on every write. */
const fitting = new WeakMap<ApplyShape, WeakSet<FieldSet>>();

/** The set as it reads under this shape. */
export function reconcile(set: FieldSet, shape: ApplyShape): FieldSet {
  const known = fitting.get(shape) ?? new WeakSet();
  fitting.set(shape, known);
  if (known.has(set)) return set;
  const fits = isEmptySet(set) ? set : reconcileParts(set, shape);
  known.add(fits);
  return fits;
}

function reconcileParts(node: FieldSet, shape: ApplyShape): FieldSet {
  const part = partOf(shape, null);
  if (part === undefined || part === "scalar") return node;
  if (part.atomic) return emptySet;
  if (!isListShape(part) && isDeduced(part)) return node;
  let copy: Record<string, FieldSet> | undefined;
  for (const element in node) {
    const inner = node[element] as FieldSet;
    if (element === self || isEmptySet(inner)) continue;
    const shape = isListShape(part)
      ? part.item
      : element.startsWith("f:")
        ? entryShape(part, element.slice(2))?.shape
        : part.element;
    const fits = shape ? reconcileParts(inner, shape) : inner;
    if (fits === inner) continue;
    copy ??= { ...node };
    copy[element] = fits;
  }
  return copy ?? node;
}

const isDeduced = ({ fields, element }: MapShape): boolean => fields.size === 0 && element === deduced;
