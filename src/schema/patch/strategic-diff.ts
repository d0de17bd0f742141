// The strategic merge patch that leads from one object to another, and the one that carries someone's changes to an object
// that others have changed too. Made by clients; the server applies them.

import { equal, own, setOwn } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import type { Type } from "../field.ts";
import type { AnyStruct } from "../struct.ts";
import { PatchConflictError, PatchError } from "./error.ts";
import { haveConflicts } from "./strategic-conflict.ts";
import { itemKind, keyReader, positions, requireKey, requireObject, sorted } from "./strategic-list.ts";
import { directive, elementOrder, mergeObject, primitiveDeletions, retainKeys } from "./strategic-merge.ts";
import { type FieldMerge, listMerge, objectMerge } from "./strategic-schema.ts";
import { checkDepth, goText, hasKeys, isList, type JsonList, type JsonObject } from "./value.ts";

/** The patch that makes `modified` of `original`, {} if they are equal. Throws PatchError for lists without their keys. */
export function createStrategicPatch(struct: AnyStruct, original: JsonObject, modified: JsonObject): JsonObject {
  for (const object of [original, modified]) checkDepth(object);
  return diffObjects(original, modified, rootType(struct), { changes: true, deletions: true, order: true });
}

export interface ThreeWay {
  /** What was wanted last time. */
  readonly original: JsonObject;
  /** What is wanted now. */
  readonly modified: JsonObject;
  /** What is. */
  readonly current: JsonObject;
}

/**
 * The patch that brings `current` to what `modified` wants: what differs is set, and what `original` had and `modified`
 * has no more is removed; what others have added stays. Throws PatchConflictError when others have changed the same
 * since, unless `overwrite` is set.
 */
export function createThreeWayStrategicPatch(struct: AnyStruct, states: ThreeWay, overwrite: boolean): JsonObject {
  const { original, modified, current } = states;
  for (const object of [original, modified, current]) checkDepth(object);
  const type = rootType(struct);
  const changes = diffObjects(current, modified, type, { changes: true, deletions: false, order: true });
  const deletions = diffObjects(original, modified, type, { changes: false, deletions: true, order: true });
  const patch = mergeObject(deletions, changes, type, "patch");
  if (!overwrite) {
    const changed = diffObjects(original, current, type, { changes: true, deletions: true, order: false });
    if (haveConflicts(patch, changed, type)) throw new PatchConflictError(patch, changed);
  }
  return patch;
}

/** Refuses a patch that touches what makes an object this object, such as `kind` or `metadata.name`. */
export function requireUnchanged(patch: JsonObject, ...paths: readonly string[]): void {
  for (const path of paths) {
    let value: unknown = patch;
    for (const key of path.split(".")) value = isObject(value) ? own(value, key) : undefined;
    if (value !== undefined) throw new PatchError(422, `precondition failed for: ${goText(patch)}`);
  }
}

interface DiffOptions {
  readonly changes: boolean;
  readonly deletions: boolean;
  /** Whether the order of lists is part of the patch. */
  readonly order: boolean;
}

const rootType = (struct: AnyStruct): Type => ({ is: "struct", struct: () => struct });

function diffObjects(
  original: JsonObject,
  modified: JsonObject,
  type: Type,
  options: DiffOptions,
  retain = false,
): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(modified)) {
    if (modified[key] === undefined) continue;
    if (own(original, key) === undefined) {
      if (options.changes) setOwn(patch, key, modified[key]);
    } else diffField(patch, key, [original[key], modified[key]], type, options);
  }
  const gone = Object.keys(original).filter((key) => original[key] !== undefined && own(modified, key) === undefined);
  if (options.deletions) for (const key of gone) setOwn(patch, key, null);

  const kept = retain
    ? Object.keys(modified).filter((key) => modified[key] !== null && modified[key] !== undefined)
    : [];
  if (kept.length > 0 && (hasKeys(patch) || gone.some((key) => original[key] !== null)))
    patch[retainKeys] = kept.sort();
  return patch;
}

function diffField(
  patch: Record<string, unknown>,
  key: string,
  [before, after]: readonly [unknown, unknown],
  type: Type,
  options: DiffOptions,
): void {
  if (key === directive) {
    if (typeof before !== "string" || typeof after !== "string")
      throw new PatchError(422, `invalid value for special key: ${directive}`);
    if (before !== after) patch[directive] = after;
  } else if (isObject(before) && isObject(after)) {
    if (equal(before, after)) return;
    const field = objectMerge(type, key);
    if (field.strategy !== "replace") {
      const inner = diffObjects(before, after, field.type, options, field.retainKeys);
      if (hasKeys(inner)) setOwn(patch, key, inner);
    } else if (options.changes) setOwn(patch, key, after);
  } else if (isList(before) && isList(after)) {
    if (equal(before, after)) return;
    const field = listMerge(type, key);
    if (field.strategy === "merge") diffLists(patch, key, [before, after], field, options);
    else if (options.changes) setOwn(patch, key, after);
  } else if (options.changes && !equal(before, after)) setOwn(patch, key, after);
}

function diffLists(
  patch: Record<string, unknown>,
  key: string,
  [before, after]: readonly [JsonList, JsonList],
  field: FieldMerge,
  options: DiffOptions,
): void {
  if (before.length === 0) {
    if (options.changes) setOwn(patch, key, after);
    return;
  }
  if (itemKind(before, after) !== "object") {
    diffValues(patch, key, [before, after], options);
    return;
  }
  const items = diffItems(before, after, field, options);
  if (items.length > 0) setOwn(patch, key, items);
  const keyOf = keyReader(field.mergeKey);
  const sameOrder = before.length === after.length && after.every((item, i) => keyOf(item) === keyOf(before[i]));
  if (options.order && (items.length > 0 || (options.changes && !sameOrder)) && after.length > 0)
    setOwn(
      patch,
      `${elementOrder}/${key}`,
      after.map((item) => ({ [field.mergeKey]: requireKey(item, field.mergeKey) })),
    );
}

function diffValues(
  patch: Record<string, unknown>,
  key: string,
  [before, after]: readonly [JsonList, JsonList],
  { changes, deletions, order }: DiffOptions,
): void {
  const [had, has] = [new Set(before), new Set(after)];
  const added = [...has].filter((item) => !had.has(item));
  const gone = [...had].filter((item) => !has.has(item)).sort(byText);
  if (changes && added.length > 0) setOwn(patch, key, added);
  if (deletions && gone.length > 0) setOwn(patch, `${primitiveDeletions}/${key}`, gone);
  const matters = (deletions && gone.length > 0) || (changes && !equal(before, after));
  if (order && matters && after.length > 0) setOwn(patch, `${elementOrder}/${key}`, after);
}

/** What is to be done to the items: those changed and added in the order of `after`, then those to be deleted. */
function diffItems(before: JsonList, after: JsonList, field: FieldMerge, options: DiffOptions): JsonList {
  const { mergeKey } = field;
  const textOf = (item: unknown) => goText(requireKey(item, mergeKey));
  const patches: JsonObject[] = [];
  const deletions: JsonObject[] = [];
  const unmatched = new Map<string, JsonObject[]>();
  for (const item of before.toSorted((a, b) => compare(textOf(a), textOf(b))).map(requireObject)) {
    const same = unmatched.get(textOf(item));
    if (same) same.push(item);
    else unmatched.set(textOf(item), [item]);
  }

  for (const item of after.map(requireObject)) {
    const match = unmatched.get(textOf(item))?.shift();
    if (match !== undefined) {
      const inner = diffObjects(match, item, field.type, options, field.retainKeys);
      if (hasKeys(inner)) patches.push({ ...inner, [mergeKey]: item[mergeKey] });
    } else if (options.changes) patches.push(item);
  }
  if (options.deletions)
    for (const item of [...unmatched.values()].flat())
      deletions.push({ [mergeKey]: item[mergeKey], [directive]: "delete" });
  const keyOf = keyReader(mergeKey);
  return [...sorted(patches, positions(after, keyOf), keyOf), ...deletions];
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byText = (a: unknown, b: unknown): number => compare(goText(a), goText(b));
