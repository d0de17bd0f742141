// What a write does to the owners of an object's fields, and what an apply makes of the object. The heart of server-side apply;
// `apply.ts` tells the whole story.
import type { StepwiseWork } from "#base/breathe.ts";
import { equal } from "#base/collections.ts";
import { type Comparison, compare, fieldsOf, filtered, type TypedValue, withNamedFields } from "./compare.ts";
import { ConflictError, type FieldConflict } from "./conflict.ts";
import {
  difference,
  emptySet,
  type FieldSet,
  inOrder,
  intersection,
  isEmptySet,
  isWiderThan,
  union,
} from "./field-set.ts";
import type { Filter } from "./filter.ts";
import { type Owner, type OwnersByKey, serverFields } from "./managed.ts";
import { merge } from "./merge.ts";
import { reconcile } from "./reconcile.ts";
import { removeFields } from "./remove.ts";
import type { VersionConverter } from "./versions.ts";

export interface UpdateContext {
  readonly apiVersion: string;
  readonly versions: VersionConverter;
  readonly filter: Filter | undefined;
}

/**
 * The owners after `next` took the place of `live`, and the fields in which the two differ. Whoever owned such a field loses it, but for
 * `updater`, who did it.
 */
export function* afterUpdate(
  context: UpdateContext,
  live: TypedValue,
  next: TypedValue,
  managed: OwnersByKey,
  updater: string,
): StepwiseWork<{ managed: OwnersByKey; changed: FieldSet }> {
  const settled = yield* settle(context, live, next, reconciled(context, managed), { updater, force: true });
  return { managed: settled.managed, changed: settled.comparison.changed };
}

/** The merged object, and the owners with `id` owning what it applied. `object` is undefined when the apply changes nothing. */
export function* afterApply(
  context: UpdateContext,
  live: TypedValue,
  applied: TypedValue,
  owners: OwnersByKey,
  id: string,
  applier: Omit<Owner, "set">,
  force: boolean,
): StepwiseWork<{ managed: OwnersByKey; object: unknown }> {
  const managed = new Map(reconciled(context, owners));
  yield;
  const merged = { shape: live.shape, value: merge(live.shape, live.value, applied.value) };
  yield;
  const last = managed.get(id);
  const set = fieldsOf(applied);
  yield;
  managed.set(id, { ...applier, set: inOrder(context.filter ? context.filter(set) : set) });
  yield;
  const next = yield* prune(context, merged, managed, last);
  yield;
  const settled = yield* settle(context, live, next, managed, { applier: id, force });
  return { managed: settled.managed, object: equal(live.value, next.value) ? undefined : next.value };
}

/** Owners whose version is gone are gone as well. */
function reconciled({ versions }: UpdateContext, managed: OwnersByKey): OwnersByKey {
  let out: Map<string, Owner> | undefined;
  for (const [id, owner] of managed) {
    const shape = versions.shape(owner.apiVersion);
    const set = shape && reconcile(owner.set, shape);
    if (set === owner.set) continue;
    out ??= new Map(managed);
    if (set) out.set(id, { ...owner, set });
    else out.delete(id);
  }
  return out ?? managed;
}

/** Who writes. Only an apply that is not forced can conflict. */
interface Writer {
  readonly updater?: string;
  readonly applier?: string;
  readonly force: boolean;
}

const manyOwners = 8;
const muchChanged = 200;

/** Takes the fields that changed and those that are gone from all owners but the one who writes. */
function* settle(
  context: UpdateContext,
  live: TypedValue,
  next: TypedValue,
  managed: OwnersByKey,
  { updater, applier, force }: Writer,
): StepwiseWork<{ managed: OwnersByKey; comparison: Comparison }> {
  const compareIn = (before: TypedValue, after: TypedValue): Comparison => {
    const all = compare(before.shape, before.value, after.value);
    return context.filter ? filtered(all, context.filter) : all;
  };
  const comparison = compareIn(live, next);
  yield;
  const byVersion = new Map<string, Comparison | undefined>([[context.apiVersion, comparison]]);
  function* compareAt(version: string): StepwiseWork<Comparison | undefined> {
    if (!byVersion.has(version)) {
      const before = yield* context.versions.convert(live, version);
      const after = yield* context.versions.convert(next, version);
      byVersion.set(version, before && after && compareIn(before, after));
    }
    return byVersion.get(version);
  }

  // Where much has changed, and many own something, each owner is compared by what it owns.
  const isSmaller = (set: FieldSet): boolean => managed.size < manyOwners || !isWiderThan(set, muchChanged);
  const smaller = isSmaller(comparison.changed) && isSmaller(comparison.removed) ? "b" : "a";
  const out = new Map<string, Owner>();
  const conflicts: FieldConflict[] = [];
  for (const [id, owner] of managed) {
    let { set } = owner;
    if (id !== applier) {
      const differs = yield* compareAt(owner.apiVersion);
      if (differs === undefined) continue;
      const [one, other] = smaller === "a" ? [differs.changed, set] : [set, differs.changed];
      const fields = id === updater ? emptySet : intersection(one, other);
      if (!isEmptySet(fields)) conflicts.push({ id, owner, fields });
      set = difference(difference(set, fields), differs.removed, smaller);
    }
    if (!isEmptySet(set)) out.set(id, set === owner.set ? owner : { ...owner, set });
    yield;
  }
  if (!force && conflicts.length > 0) throw new ConflictError(conflicts);
  return { managed: out, comparison };
}

/**
 * Removes what the applier applied last time and no longer does, unless someone else owns it. `managed` already has the new set of the
 * applier. A field in nobody's set stays, unless the struct or item around it goes: so defaults go with what they were filled into.
 */
function* prune(
  context: UpdateContext,
  merged: TypedValue,
  managed: OwnersByKey,
  last: Owner | undefined,
): StepwiseWork<TypedValue> {
  if (last === undefined || isEmptySet(last.set)) return merged;
  const { versions, apiVersion } = context;
  const base = yield* versions.convert(merged, last.apiVersion);
  if (base === undefined) return merged;
  const lastSet = withNamedFields(last.set, base.shape);
  yield;
  const pruned = yield* addBackOwned(versions, base, removeFields(base, lastSet), last.apiVersion, managed);

  const remaining = yield* versions.convert(pruned, last.apiVersion);
  if (remaining === undefined) return merged;
  yield;
  const gone = difference(allFields(base), allFields(remaining));
  yield;
  // Without a name in the configuration, nobody would seem to own metadata.
  const result = removeFields(base, difference(intersection(gone, lastSet), serverFields));
  return (yield* versions.convert(result, apiVersion)) ?? merged;
}

/** Puts back what any owner has, version by version; the version that was pruned first, as others may need its fields to convert. */
function* addBackOwned(
  versions: VersionConverter,
  base: TypedValue,
  pruned: TypedValue,
  prunedVersion: string,
  managed: OwnersByKey,
): StepwiseWork<TypedValue> {
  const owned = new Map<string, FieldSet>([[prunedVersion, emptySet]]);
  for (const { apiVersion, set } of managed.values())
    owned.set(apiVersion, union(owned.get(apiVersion) ?? emptySet, set));

  let all = base;
  let kept = pruned;
  for (const [version, set] of owned) {
    const allAt = yield* versions.convert(all, version);
    const keptAt = yield* versions.convert(kept, version);
    if (allAt === undefined || keptAt === undefined) continue;
    const staying = union(allFields(keptAt), withNamedFields(set, allAt.shape));
    yield;
    all = allAt;
    kept = removeFields(allAt, difference(allFields(allAt), staying));
  }
  return kept;
}

const allFields = (typed: TypedValue): FieldSet => withNamedFields(fieldsOf(typed), typed.shape);
