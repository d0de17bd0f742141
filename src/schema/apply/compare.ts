// The fields in which two objects differ, and all fields of one. Both walk objects along their shape. The sets made here are in no
// order, as most serve to change others and are then forgotten; whoever keeps one brings it in order.
import { equal, own } from "#base/collections.ts";
import { fieldElement } from "./element.ts";
import { asMember, emptySet, type FieldSet, type FieldSetDraft, insert, isEmptySet, self, union } from "./field-set.ts";
import type { Filter } from "./filter.ts";
import { type ApplyListShape, type ApplyShape, itemElement, type MapShape } from "./shape.ts";
import { isEmptyMap, isMap, type JsonMap } from "./value.ts";

/** A value and what is declared of it. */
export interface TypedValue {
  readonly shape: ApplyShape;
  readonly value: unknown;
}

/** No field is in more than one of the sets. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
  /** Added or modified. */
  readonly changed: FieldSet;
}

/** Which of the things a shape allows the value is. Null fits all, and then upstream's order holds: map, scalar, list. */
export function partOf(
  { map, scalar, list }: ApplyShape,
  value: unknown,
): MapShape | ApplyListShape | "scalar" | undefined {
  if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) {
      if (list) return list;
    } else if (map) return map;
  } else if (value !== null && value !== undefined && scalar) return "scalar";
  return map ?? (scalar ? "scalar" : list);
}

export const isListShape = (part: MapShape | ApplyListShape): part is ApplyListShape => "item" in part;

/** The element and the shape of a map's entry; undefined where the schema does not allow it. */
export function entryShape(map: MapShape, key: string): { element: string; shape: ApplyShape } | undefined {
  const field = map.fields.get(key);
  if (field) return field;
  return map.element && { element: fieldElement(key), shape: map.element };
}

/** The fields added, modified and removed between `before` and `after`. Throws ListItemError for list items without their keys. */
export function compare(shape: ApplyShape, before: unknown, after: unknown): Comparison {
  const walk: Walk = { path: [], added: {}, modified: {}, removed: {} };
  compareValue(walk, shape, before, after);
  return comparison(walk.added, walk.modified, walk.removed);
}

const comparison = (added: FieldSet, modified: FieldSet, removed: FieldSet): Comparison => ({
  added,
  modified,
  removed,
  changed: union(modified, added),
});

export const filtered = (c: Comparison, filter: Filter): Comparison =>
  comparison(filter(c.added), filter(c.modified), filter(c.removed));

interface Walk {
  readonly path: string[];
  readonly added: FieldSetDraft;
  readonly modified: FieldSetDraft;
  readonly removed: FieldSetDraft;
}

function compareValue(walk: Walk, shape: ApplyShape, before: unknown, after: unknown): void {
  if (before === after) return;
  if (before === undefined) insert(walk.added, walk.path, whole(shape, after));
  else if (after === undefined) insert(walk.removed, walk.path, whole(shape, before));
  else {
    const old = partOf(shape, before);
    const now = partOf(shape, after);
    if (old !== now) compareAs(walk, old, before, after);
    compareAs(walk, now, before, after);
  }
}

function compareAs(walk: Walk, part: ReturnType<typeof partOf>, before: unknown, after: unknown): void {
  if (part === undefined || part === "scalar" || part.atomic) compareLeaf(walk, before, after);
  else if (isListShape(part)) {
    const old = Array.isArray(before) ? before : [];
    const now = Array.isArray(after) ? after : [];
    // Null and empty differ, though neither has anything in it.
    if (old.length === 0 && now.length === 0) compareLeaf(walk, before, after);
    else compareItems(walk, part, old, now);
  } else {
    const old = isMap(before) ? before : {};
    const now = isMap(after) ? after : {};
    if (isEmptyMap(old) && isEmptyMap(now)) compareLeaf(walk, before, after);
    else compareEntries(walk, part, old, now);
  }
}

function compareLeaf(walk: Walk, before: unknown, after: unknown): void {
  if (!equal(before, after)) insert(walk.modified, walk.path);
}

function compareEntries(walk: Walk, map: MapShape, before: JsonMap, after: JsonMap): void {
  for (const key of Object.keys(after)) compareEntry(walk, map, key, own(before, key), after[key]);
  for (const key of Object.keys(before))
    if (own(after, key) === undefined) compareEntry(walk, map, key, before[key], undefined);
}

function compareEntry(walk: Walk, map: MapShape, key: string, before: unknown, after: unknown): void {
  if (before === after) return;
  const entry = entryShape(map, key);
  if (entry === undefined) return;
  walk.path.push(entry.element);
  compareValue(walk, entry.shape, before, after);
  walk.path.pop();
}

/** Items with equal keys are compared and owned together. */
function compareItems(walk: Walk, list: ApplyListShape, before: readonly unknown[], after: readonly unknown[]): void {
  // Most lists do not change, and comparing them as a whole is cheaper than matching their items.
  if (equal(before, after)) return;
  const old = itemsByElement(list, before);
  const now = itemsByElement(list, after);
  for (const [element, was] of old) compareItem(walk, list, element, was, now.get(element));
  for (const [element, is] of now) if (!old.has(element)) compareItem(walk, list, element, undefined, is);
}

function compareItem(walk: Walk, list: ApplyListShape, element: string, was: unknown, is: unknown): void {
  const { path } = walk;
  path.push(element);
  if (!(was instanceof Alike) && !(is instanceof Alike)) compareValue(walk, list.item, was, is);
  else if (was instanceof Alike && is instanceof Alike) compareLeaf(walk, was.items, is.items);
  else if (was instanceof Alike) {
    if (is !== undefined) insert(walk.added, path, whole(list.item, is));
    insert(walk.removed, path);
  } else {
    if (was !== undefined) insert(walk.removed, path, whole(list.item, was));
    insert(walk.added, path);
  }
  path.pop();
}

/** Two or more items of the same keys. */
class Alike {
  readonly items: unknown[];
  constructor(...items: unknown[]) {
    this.items = items;
  }
}

function itemsByElement(list: ApplyListShape, items: readonly unknown[]): ReadonlyMap<string, unknown> {
  const byElement = new Map<string, unknown>();
  for (const item of items) {
    const element = itemElement(list, item);
    const same = byElement.get(element);
    if (same === undefined) byElement.set(element, item);
    else if (same instanceof Alike) same.items.push(item);
    else byElement.set(element, new Alike(same, item));
  }
  return byElement;
}

/** The node of a value that is there on one side only: every field of it, down to the leaves. */
function whole(shape: ApplyShape, value: unknown): FieldSet {
  const part = partOf(shape, value);
  if (part === undefined || part === "scalar" || part.atomic) return emptySet;
  const node: Record<string, FieldSet> = { [self]: emptySet };
  let empty = true;
  const add = (element: string, parts: FieldSet) => {
    node[element] = parts;
    empty = false;
  };
  if (isListShape(part)) {
    if (Array.isArray(value))
      for (const [element, item] of itemsByElement(part, value))
        add(element, item instanceof Alike ? emptySet : whole(part.item, item));
  } else if (isMap(value)) {
    for (const key of Object.keys(value)) {
      const entry = value[key] === undefined ? undefined : entryShape(part, key);
      if (entry) add(entry.element, whole(entry.shape, value[key]));
    }
  }
  return empty ? emptySet : node;
}

/**
 * All fields an applied configuration mentions. Unlike in a comparison, structs and lists are not fields of their own: applying
 * `spec.replicas` says nothing about `spec`.
 */
export const fieldsOf = ({ shape, value }: TypedValue): FieldSet => mentioned(shape, value) ?? emptySet;

function mentioned(shape: ApplyShape, value: unknown): FieldSet | undefined {
  const part = partOf(shape, value);
  if (part === undefined || part === "scalar" || part.atomic) return emptySet;
  const node: Record<string, FieldSet> = {};
  let empty = true;
  const add = (element: string, parts: FieldSet | undefined) => {
    if (parts === undefined) return;
    node[element] = parts;
    empty = false;
  };
  if (isListShape(part)) {
    if (Array.isArray(value))
      for (const [element, item] of itemsByElement(part, value))
        add(element, item instanceof Alike ? emptySet : asMember(mentioned(part.item, item)));
  } else if (isMap(value)) {
    for (const key of Object.keys(value)) {
      const entry = value[key] === undefined ? undefined : entryShape(part, key);
      if (entry === undefined) continue;
      const parts = mentioned(entry.shape, value[key]);
      const isItsOwn = value[key] === null || isEmptyMap(value[key]) || !part.fields.has(key);
      add(entry.element, isItsOwn ? asMember(parts) : parts);
    }
  }
  return empty ? undefined : node;
}

/** The set with all declared fields it has parts of: what has `spec.replicas` has `spec`, but not the items and entries on the way. */
export function withNamedFields(set: FieldSet, shape: ApplyShape): FieldSet {
  if (isEmptySet(set)) return set;
  const node: Record<string, FieldSet> = {};
  for (const element in set) {
    const part = set[element] as FieldSet;
    if (element === self || isEmptySet(part)) {
      node[element] = part;
      continue;
    }
    const name = element.slice(2);
    const named = element.startsWith("f:") && shape.map?.fields.has(name) === true;
    const inner = element.startsWith("f:")
      ? (shape.map && entryShape(shape.map, name)?.shape) || {}
      : (element.startsWith("k:") && shape.list?.item) || {};
    const parts = withNamedFields(part, inner);
    node[element] = named ? asMember(parts) : parts;
  }
  return node;
}
