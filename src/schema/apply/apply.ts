// Server-side apply, and the ownership of fields that it rests on.
//
// Every object says in `metadata.managedFields` who owns which of its fields: for each manager (a controller, kubectl, a person) a set
// of field paths, in the version in which it wrote them. There are two ways to write. An UPDATE (create, put, patch) brings a
// whole object. It owns whatever it changed; who owned that before loses it. So ownership follows from the difference of two
// objects, and no update can conflict. An APPLY brings a configuration: only the fields its manager cares about. It owns exactly
// the fields it mentions. Each is done in these steps:
//
//   merge     lay the configuration over the live object, field by field as the schema says what a field is: a scalar, an
//             atomic list or struct as a whole, an entry of a map, an item of a list known by its keys
//   prune     remove what the same manager applied last time and does not mention now, unless another manager owns it
//   compare   find the fields in which the result differs from the live object. Where one of them is in another manager's set,
//             this is a conflict: the answer is 409, or, if forced, that manager loses the field. Fields that are gone leave all sets
//   own       the manager's set becomes the fields of the configuration
//
// Two managers may own the same field as long as they apply the same value; it goes when the last of them lets go. Sets are trees of
// path elements (`field-set.ts`); what a field is comes from the declarations (`shape.ts`). Around this core, as upstream has it:
// an object that nobody manages gets an owner `before-first-apply` when it is first applied to; entries of updates beyond ten are
// merged into `ancient-changes`; fields of the server itself are owned by nobody; an entry's time changes only when its manager
// changed something; a client may drop all entries by sending an empty list, and nonsense in their place is ignored.
// Unions (one of several fields) have no part in this: upstream's merge library reads them from the schema and does nothing with them.
import { atOnce, type StepwiseWork } from "#base/breathe.ts";
import { ApiError } from "#base/errors.ts";
import type { AnyKind } from "../kind.ts";
import { timeOf } from "../time.ts";
import { asWritten } from "../written.ts";
import { misfits } from "./check.ts";
import type { TypedValue } from "./compare.ts";
import { ConflictError, conflictStatus } from "./conflict.ts";
import { type Creation, knownEntries, learn } from "./creation.ts";
import { shapeOf } from "./declared.ts";
import { FieldSetError } from "./element.ts";
import { isEmptySet, shared, union } from "./field-set.ts";
import type { Filter } from "./filter.ts";
import { lastAppliedManager, remainingConflicts, withLastApplied } from "./last-applied.ts";
import {
  capUpdaters,
  decodeManaged,
  encodeManaged,
  isReset,
  type ManagerOperation,
  type OwnedFieldsEntry,
  type Owner,
  type OwnersByKey,
  ownerId,
  stripped,
} from "./managed.ts";
import { ListItemError } from "./shape.ts";
import { afterApply, afterUpdate, type UpdateContext } from "./updater.ts";
import { copyJson, isMap, type JsonMap } from "./value.ts";
import { versionsOf } from "./versions.ts";

/** Who writes what, and how. */
export interface TrackedWrite {
  readonly kind: AnyKind;
  /** All served versions of the kind, where there are several: managers may have written in another one. */
  readonly versions?: readonly AnyKind[];
  /** The stored object in the version of `kind`; undefined when it is being created. */
  readonly live: JsonMap | undefined;
  /** The field manager the client names, or what its user agent begins with. */
  readonly manager: string;
  readonly subresource?: string;
  /** In milliseconds. */
  readonly now: number;
  /** What this request may own: see `excluding` and `including`. Defaults to all of it. */
  readonly resetFields?: Filter;
}

export interface UpdateWrite extends TrackedWrite {
  /** The object as it will be stored. */
  readonly updated: JsonMap;
}

export interface ApplyWrite extends TrackedWrite {
  /** The configuration as the client sent it: neither decoded by schema nor defaulted. */
  readonly applied: JsonMap;
  readonly force?: boolean;
}

export interface ApplyResult {
  /** To be decoded, defaulted and validated like any other new object; shares nothing with the inputs. Has no managedFields. */
  readonly object: JsonMap;
  readonly managedFields: readonly OwnedFieldsEntry[];
}

/**
 * The managedFields of an object that was created, replaced or patched. Empty: the object gets none, because nobody has managed it so
 * far or the client wants it so. An object whose lists break their own rules (an item without its key) gets none either.
 */
export const trackUpdate = (write: UpdateWrite): readonly OwnedFieldsEntry[] =>
  knownCreation(write) ?? atOnce(trackSteps(write));

/** The fast path for an object with the same structure as an earlier one. It halves the time of tracking a new pod. */
const knownCreation = (write: UpdateWrite): readonly OwnedFieldsEntry[] | undefined =>
  isPlainCreation(write) ? knownEntries(creationOf(write)) : undefined;

const isPlainCreation = ({ live, updated }: UpdateWrite): boolean =>
  live === undefined && managedFieldsOf(updated) === undefined;

/** The same, to be interrupted between its steps, of which each walks the whole object. */
export function* trackSteps(given: UpdateWrite): StepwiseWork<readonly OwnedFieldsEntry[]> {
  const write = inWrittenForm(given);
  const updated = asWritten(given.kind, given.updated);
  yield;
  const { live } = write;
  const managed = liveOrSent(write);
  yield;
  if (managed.size === 0 && hasUid(live)) return [];
  const before = live ?? zero(write.kind);
  try {
    const known = knownCreation(given);
    if (known) return known;
    const entries = encodeManaged(yield* tracked(write, before, updated, managed, write.manager));
    if (isPlainCreation(given)) learn(creationOf(given), entries);
    return entries;
  } catch (error) {
    if (error instanceof ListItemError) return [];
    throw error;
  }
}

const creationOf = (write: UpdateWrite): Creation => ({
  kind: write.kind,
  shape: shapeOf(write.kind),
  zero: zero(write.kind),
  object: write.updated,
  filter: write.resetFields,
  owner: { ...owner(write, write.manager, "Update"), time: timeOf(write.now) },
});

/** Throws ApiError: 409 for fields that others own, 400 and 500 for invalid configurations, with upstream's messages. */
export const applyObject = (write: ApplyWrite): ApplyResult => atOnce(applySteps(write));

/** The same, to be interrupted between its steps, of which each walks the whole object. */
export function* applySteps(given: ApplyWrite): StepwiseWork<ApplyResult> {
  const write = inWrittenForm(given);
  yield;
  const { kind, applied, manager, force = false } = write;
  checkConfiguration(kind, applied);
  yield;
  const managed = liveOwners(write.live);
  yield;
  const attempt = (forced: boolean) => applyOnce(write, managed, forced);
  try {
    const result = yield* applyOrUpgrade(write, force, attempt);
    const object = manager === lastAppliedManager ? withLastApplied(result.object, applied) : result.object;
    yield;
    return { object: copyJson(withoutManaged(object)), managedFields: encodeManaged(result.managed) };
  } catch (error) {
    if (error instanceof ConflictError) throw conflictStatus(error.conflicts);
    if (error instanceof ListItemError) throw misfitStatus("live", write.live ?? applied, error.message, error);
    throw error;
  }
}

/** Fields that are written as null are there to be owned. */
const inWrittenForm = <W extends TrackedWrite>(write: W): W =>
  write.live ? { ...write, live: asWritten(write.kind, write.live) } : write;

interface Attempt {
  readonly object: JsonMap;
  readonly managed: OwnersByKey;
}

/** For kubectl, fields that client-side apply owned are no conflicts. */
function* applyOrUpgrade(
  { kind, live, manager }: ApplyWrite,
  force: boolean,
  attempt: (force: boolean) => StepwiseWork<Attempt>,
): StepwiseWork<Attempt> {
  try {
    return yield* attempt(force);
  } catch (error) {
    if (!(error instanceof ConflictError) || manager !== lastAppliedManager || live === undefined) throw error;
    const remaining = remainingConflicts(shapeOf(kind), kind.apiVersion, live, error.conflicts);
    if (remaining.length > 0) throw new ConflictError(remaining);
    return yield* attempt(true);
  }
}

function* applyOnce(write: ApplyWrite, owners: OwnersByKey, force: boolean): StepwiseWork<Attempt> {
  const { kind, applied } = write;
  const shape = shapeOf(kind);
  const live = write.live ?? { apiVersion: kind.apiVersion, kind: kind.kind };
  const managed =
    owners.size === 0 && write.live ? yield* tracked(write, zero(kind), live, owners, "before-first-apply") : owners;
  const applier = owner(write, write.manager, "Apply");
  const id = ownerId(applier);
  const time = managed.get(id)?.time;
  const typed = (value: JsonMap): TypedValue => ({ shape, value });
  const result = yield* afterApply(
    context(write),
    typed(live),
    typed(applied),
    managed,
    id,
    { ...applier, time },
    force,
  );
  yield;
  const own = stripped(result.managed, id);
  if (result.object === undefined) return { object: live, managed: own };
  return { object: result.object as JsonMap, managed: stamped(own, id, write.now) };
}

/** The owners after an update, with what it changed now owned by `manager`. */
function* tracked(
  write: TrackedWrite,
  live: JsonMap,
  updated: JsonMap,
  managed: OwnersByKey,
  manager: string,
): StepwiseWork<OwnersByKey> {
  const shape = shapeOf(write.kind);
  const updater = owner(write, manager, "Update");
  const id = ownerId(updater);
  const before: TypedValue = { shape, value: withoutManaged(live) };
  const after: TypedValue = { shape, value: withoutManaged(updated) };
  const result = yield* afterUpdate(context(write), before, after, managed, id);
  yield;
  const now = timeOf(write.now);
  const taken = stripped(new Map([[id, { ...updater, time: now, set: result.changed }]]), id).get(id);
  if (taken === undefined || isEmptySet(taken.set)) return capUpdaters(result.managed);
  const previous = result.managed.get(id);
  const all = previous ? union(previous.set, taken.set) : taken.set;
  yield;
  const set = all === previous?.set ? all : shared(all);
  return capUpdaters(new Map(result.managed).set(id, { ...taken, set }));
}

const owner = (
  { kind, subresource = "" }: TrackedWrite,
  manager: string,
  operation: ManagerOperation,
): Omit<Owner, "set" | "time"> => ({
  manager: manager === "" ? "unknown" : manager,
  operation,
  subresource,
  apiVersion: kind.apiVersion,
});

const context = ({ kind, versions = [kind], live, resetFields }: TrackedWrite): UpdateContext => ({
  apiVersion: kind.apiVersion,
  versions: versionsOf(versions.includes(kind) ? versions : [kind, ...versions], live?.metadata),
  filter: resetFields,
});

/** Through a subresource nobody can write managedFields; nor can they be lost by clients that do not know them. */
function liveOrSent({ kind, live, updated, subresource = "" }: UpdateWrite): OwnersByKey {
  const sent = managedFieldsOf(updated);
  // Of an object that upstream holds as a map, an empty list is the same as none.
  const isNone = kind.model.publication.isUnstructured && Array.isArray(sent) && sent.length === 0;
  if (subresource === "" && !isNone && isReset(sent)) return new Map();
  const fromClient = subresource === "" ? readable(sent) : undefined;
  return fromClient && fromClient.size > 0 ? fromClient : (readable(live && managedFieldsOf(live)) ?? new Map());
}

/** Undefined for what is no list of entries: it is ignored, whoever wrote it. */
function readable(entries: unknown): OwnersByKey | undefined {
  try {
    return decodeManaged(entries);
  } catch (error) {
    if (error instanceof FieldSetError) return undefined;
    throw error;
  }
}

function liveOwners(live: JsonMap | undefined): OwnersByKey {
  try {
    return decodeManaged(live && managedFieldsOf(live));
  } catch (cause) {
    if (!(cause instanceof FieldSetError)) throw cause;
    throw new ApiError(
      { code: 500, reason: "", message: `failed to decode managed fields: ${cause.message}` },
      { cause },
    );
  }
}

function checkConfiguration(kind: AnyKind, applied: JsonMap): void {
  const named = groupVersionKind(applied);
  if (applied.apiVersion !== kind.apiVersion || applied.kind !== kind.kind)
    throw new ApiError({ code: 400, reason: "BadRequest", message: `invalid object type: ${named}` });
  if (Array.isArray(managedFieldsOf(applied)))
    throw new ApiError({ code: 400, reason: "BadRequest", message: "metadata.managedFields must be nil" });
  const wrong = misfits(shapeOf(kind), applied);
  if (wrong !== undefined) throw misfitStatus("patch", applied, wrong);
}

/** Upstream has no better answer for objects that do not fit their schema than 500 and this text. */
function misfitStatus(which: "patch" | "live", object: JsonMap, wrong: string, cause?: Error): ApiError {
  const { namespace = "", name = "" } = isMap(object.metadata) ? object.metadata : {};
  const message = `failed to create typed ${which} object (${namespace}/${name}; ${groupVersionKind(object)}): ${wrong}`;
  return new ApiError({ code: 500, reason: "", message }, { cause });
}

/** As Go prints it: "apps/v1, Kind=Deployment", "/v1, Kind=Pod". */
function groupVersionKind({ apiVersion = "", kind = "" }: JsonMap): string {
  const version = String(apiVersion);
  return `${version.includes("/") ? version : `/${version}`}, Kind=${kind}`;
}

const managedFieldsOf = ({ metadata }: JsonMap): unknown => (isMap(metadata) ? metadata.managedFields : undefined);

function withoutManaged(object: JsonMap): JsonMap {
  if (managedFieldsOf(object) === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata as JsonMap;
  return { ...object, metadata };
}

const hasUid = (object: JsonMap | undefined): boolean => {
  const uid = isMap(object?.metadata) ? object.metadata.uid : undefined;
  return uid !== undefined && uid !== "";
};

function stamped(managed: OwnersByKey, id: string, now: number): OwnersByKey {
  const own = managed.get(id);
  return own ? new Map(managed).set(id, { ...own, time: timeOf(now) }) : managed;
}

const zeros = new WeakMap<AnyKind, JsonMap>();

/** The object of the kind that has nothing yet. */
function zero(kind: AnyKind): JsonMap {
  const object = zeros.get(kind) ?? { ...kind.model.zero, apiVersion: kind.apiVersion, kind: kind.kind };
  zeros.set(kind, object);
  return object;
}
