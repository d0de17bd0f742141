// JSON merge patch (RFC 7386): an object whose keys are set, whose nulls are removed, and whose lists replace.
//
// As in the library upstream uses, nulls are also taken out of objects inside lists that a patch brings.

import { equal, own, setOwn } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import { PatchConflictError, PatchError } from "./error.ts";
import { checkDepth, copyObject, hasKeys, isList, type JsonObject, kindOf } from "./value.ts";

/** The document with the patch merged into it; neither is changed. Throws PatchError. */
export function applyMergePatch(document: JsonObject, patch: unknown): JsonObject {
  if (patch === null) throw new PatchError(400, "Invalid JSON Patch");
  if (!isObject(patch))
    throw new PatchError(
      400,
      `error decoding patch: json: cannot unmarshal ${isList(patch) ? "array" : kindOf(patch)} into Go value of type map[string]interface {}`,
    );
  checkDepth(patch);
  return merge(document, patch);
}

/**
 * The patch that makes `modified` of `original`, {} if they are equal. There is none that sets a null:
 * keys with null count as removed.
 */
export function createMergePatch(original: JsonObject, modified: JsonObject): JsonObject {
  checkDepth(original);
  checkDepth(modified);
  return diff(original, modified);
}

/**
 * The patch that brings `current` to what `modified` wants: what differs is set, and what `original` had and `modified`
 * has no more is removed. What others have added stays. Throws PatchConflictError when one key would be both set and removed.
 */
export function createThreeWayMergePatch(original: JsonObject, modified: JsonObject, current: JsonObject): JsonObject {
  const changes = withoutNulls(createMergePatch(current, modified));
  const deletions = onlyNulls(createMergePatch(original, modified));
  if (conflict(changes, deletions)) throw new PatchConflictError(changes, deletions);
  return merge(deletions, changes);
}

function merge(document: JsonObject, patch: JsonObject): JsonObject {
  const merged = copyObject(document);
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null || value === undefined) delete merged[key];
    else setOwn(merged, key, mergeValue(own(merged, key), value));
  }
  return merged;
}

function mergeValue(current: unknown, patch: unknown): unknown {
  if (!isObject(current)) return pruned(patch);
  return isObject(patch) ? merge(current, patch) : patch;
}

function pruned(value: unknown): unknown {
  if (isList(value)) return value.map(pruned);
  return isObject(value) ? merge({}, value) : value;
}

function diff(original: JsonObject, modified: JsonObject): JsonObject {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(modified)) {
    const before = own(original, key);
    const after = modified[key];
    if (after === undefined) continue;
    if (isObject(before) && isObject(after)) {
      const inner = diff(before, after);
      if (hasKeys(inner)) setOwn(patch, key, inner);
    } else if (!equal(before, after)) setOwn(patch, key, after);
  }
  for (const key of Object.keys(original))
    if (original[key] !== undefined && own(modified, key) === undefined) setOwn(patch, key, null);
  return patch;
}

/** What a patch sets. An object that is empty because it was given so is a value, not an empty patch. */
function withoutNulls(patch: JsonObject): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) continue;
    const inner = isObject(value) && hasKeys(value) ? withoutNulls(value) : undefined;
    if (inner === undefined || hasKeys(inner)) setOwn(kept, key, inner ?? value);
  }
  return kept;
}

/** What a patch removes. */
function onlyNulls(patch: JsonObject): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    const inner = isObject(value) ? onlyNulls(value) : undefined;
    if (value === null || (inner !== undefined && hasKeys(inner))) setOwn(kept, key, inner ?? null);
  }
  return kept;
}

function conflict(left: unknown, right: unknown): boolean {
  if (isObject(left))
    return (
      !isObject(right) || Object.keys(left).some((key) => Object.hasOwn(right, key) && conflict(left[key], right[key]))
    );
  return !equal(left, right);
}
