// The creator of an object owns all of its fields. Which fields these are follows from the structure of the object, not from its values, and
// most objects have the structure of many before them. So the managedFields of a structure are cached, and one entry serves all objects
// that are created within a second. The cache is a trie of steps (fields, keys and types): looking up a pod takes some eighty steps
// and no allocation, a twentieth of the time that computing its fields takes.
import { equal, own } from "#base/collections.ts";
import { htmlSafe } from "../go-json.ts";
import type { AnyKind } from "../kind.ts";
import { isListShape, partOf } from "./compare.ts";
import type { FieldSet } from "./field-set.ts";
import type { Filter } from "./filter.ts";
import { encodeOwner, type OwnedFieldsEntry, type Owner } from "./managed.ts";
import type { ApplyListShape, ApplyShape, FieldShape, MapShape } from "./shape.ts";
import { isMap, type JsonMap } from "./value.ts";

/** The parts of the entry besides the fields. */
export interface Creation {
  readonly kind: AnyKind;
  readonly shape: ApplyShape;
  /** The object of the kind that has nothing yet. */
  readonly zero: unknown;
  /** As the process holds it: what Go writes as null in it follows from its structure, too. */
  readonly object: unknown;
  readonly filter: Filter | undefined;
  readonly owner: Omit<Owner, "set">;
}

interface CachedEntry {
  readonly set: FieldSet;
  /** The entry made last, and for whom. */
  last: OwnedFieldsEntry;
  by: Omit<Owner, "set">;
}

/** A step of the trie: a field or key that is present, or the type of its value. */
type Step = FieldShape | string | number | boolean | null | undefined | (typeof words)[keyof typeof words];
const words = {
  map: Symbol("map"),
  list: Symbol("list"),
  end: Symbol("end"),
  empty: Symbol("empty"),
  leaf: Symbol("leaf"),
  null: Symbol("null"),
  same: Symbol("same"),
  other: Symbol("other"),
} as const;

/** A node of the trie: structures that reach it are equal so far. */
class Point {
  known: CachedEntry | undefined;
  /** Most have one step that is ever taken from them. */
  #step: Step;
  #next: Point | undefined;
  #others: Map<Step, Point> | undefined;

  after(step: Step): Point | undefined {
    return this.#next !== undefined && this.#step === step ? this.#next : this.#others?.get(step);
  }

  add(step: Step): Point {
    const point = new Point();
    if (this.#next === undefined) {
      this.#step = step;
      this.#next = point;
    } else {
      this.#others ??= new Map();
      this.#others.set(step, point);
    }
    return point;
  }
}

/** The ways of all structures of one kind, as written through one part of it. */
interface Ways {
  readonly filter: Filter | undefined;
  readonly start: Point;
}

const cache = { ways: new WeakMap<AnyKind, Map<string, Ways>>(), points: 0 };
/** At this size the cache is cleared; structures in use are soon cached again. */
const mostPoints = 50_000;
/** What is larger is seldom made twice. */
const mostSteps = 1_000;
const texts = new WeakMap<object, Text>();

/** JSON, and its bytes. */
interface Text {
  readonly json: string;
  readonly bytes: Uint8Array;
}

const encoder = new TextEncoder();

function textOf(entry: object): Text {
  const json = htmlSafe(JSON.stringify(entry));
  return { json, bytes: encoder.encode(json) };
}

function startOf({ kind, filter, owner: { subresource } }: Creation): Point {
  const ofKind = cache.ways.get(kind) ?? new Map<string, Ways>();
  cache.ways.set(kind, ofKind);
  const ways = ofKind.get(subresource);
  if (ways && ways.filter === filter) return ways.start;
  const start = new Point();
  ofKind.set(subresource, { filter, start });
  return start;
}

/** Walks a structure. A rejected step ends the walk: structures of too many steps are not cached. */
class Walk {
  point: Point;
  #left = mostSteps;

  constructor(start: Point) {
    this.point = start;
  }

  step(step: Step): boolean {
    if (this.#left-- === 0) return false;
    const next = this.point.after(step);
    if (next === undefined) cache.points++;
    this.point = next ?? this.point.add(step);
    return true;
  }
}

/** The node of the structure of a new object; undefined if it is not cached. */
function pointOf(creation: Creation): Point | undefined {
  if (cache.points > mostPoints) Object.assign(cache, { ways: new WeakMap(), points: 0 });
  const walk = new Walk(startOf(creation));
  return passBeside(walk, creation.shape, creation.zero, creation.object) ? walk.point : undefined;
}

/** The managedFields of a new object, if one like it was made before. */
export function knownEntries(creation: Creation): readonly OwnedFieldsEntry[] | undefined {
  const known = pointOf(creation)?.known;
  return known && [entryOf(known, creation.owner)];
}

/** Caches the managedFields of a new object for all objects of the same structure. */
export function learn(creation: Creation, entries: readonly OwnedFieldsEntry[]): void {
  const point = pointOf(creation);
  const [entry] = entries;
  if (!point || entries.length !== 1 || !entry?.fieldsV1) return;
  texts.set(entry, textOf(entry));
  point.known = { set: entry.fieldsV1, last: entry, by: creation.owner };
}

function entryOf(present: CachedEntry, owner: Omit<Owner, "set">): OwnedFieldsEntry {
  const { last, by } = present;
  if (by.time === owner.time && by.manager === owner.manager) return last; // the rest follows from what was created
  const entry = encodeOwner({ ...owner, set: present.set });
  texts.set(entry, textOf(entry));
  present.last = entry;
  present.by = owner;
  return entry;
}

/** The entries as JSON. Those of new objects are made once: they are half of the bytes of a new pod. */
export const managedText = (entries: readonly object[]): string =>
  `[${entries.map((entry) => texts.get(entry)?.json ?? htmlSafe(JSON.stringify(entry))).join(",")}]`;

/** The bytes of the only entry, if they have been made. */
export const knownBytes = ([entry, ...others]: readonly object[]): Uint8Array | undefined =>
  entry && others.length === 0 ? texts.get(entry)?.bytes : undefined;

/** Passes the structure of a value where `before` was: all by which comparing the two could tell one value from another. */
function passBeside(walk: Walk, shape: ApplyShape, before: unknown, value: unknown): boolean {
  if (before === undefined) return pass(walk, shape, value);
  const part = partOf(shape, value);
  if (isMap(before) && isMap(value) && part !== undefined && part !== "scalar" && !isListShape(part) && !part.atomic)
    return passEntries(walk, part, value, before);
  return walk.step(equal(before, value) ? words.same : words.other) && pass(walk, shape, value);
}

function pass(walk: Walk, shape: ApplyShape, value: unknown): boolean {
  if (typeof value !== "object") return walk.step(words.leaf);
  if (value === null) return walk.step(words.null);
  // Of some lists Go writes null if they are empty.
  if (Array.isArray(value) && value.length === 0) return walk.step(words.empty);
  const part = partOf(shape, value);
  if (part === undefined || part === "scalar" || part.atomic) return walk.step(words.leaf);
  if (Array.isArray(value)) return isListShape(part) ? passItems(walk, part, value) : walk.step(words.leaf);
  return isListShape(part) || !isMap(value) ? walk.step(words.leaf) : passEntries(walk, part, value, undefined);
}

function passEntries(walk: Walk, { fields, element }: MapShape, value: JsonMap, before: JsonMap | undefined): boolean {
  if (!walk.step(words.map)) return false;
  for (const key in value) {
    const inner = value[key];
    if (inner === undefined) continue;
    const field = fields.get(key);
    const shape = field ? field.shape : element;
    if (!shape) continue;
    if (!walk.step(field ?? key)) return false;
    if (!(before ? passBeside(walk, shape, own(before, key), inner) : pass(walk, shape, inner))) return false;
  }
  return walk.step(words.end);
}

function passItems(walk: Walk, { keys, item: shape }: ApplyListShape, items: readonly unknown[]): boolean {
  if (!walk.step(words.list)) return false;
  for (const item of items) {
    if (keys.length === 0) {
      if (!passValue(walk, item)) return false;
      continue;
    }
    if (!isMap(item)) return false;
    for (const { name } of keys) if (!passValue(walk, own(item, name))) return false;
    if (!pass(walk, shape, item)) return false;
  }
  return walk.step(words.end);
}

/** Keys of items, and items of sets, are told by their values. */
const passValue = (walk: Walk, value: unknown): boolean =>
  (value === null || typeof value !== "object") && walk.step(value as Exclude<Step, FieldShape>);
