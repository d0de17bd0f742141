// `metadata.managedFields`: who owns which fields. Read into one record per manager, written back sorted.
import { FieldSetError } from "./element.ts";
import { difference, emptySet, type FieldSet, isEmptySet, setOf, unionOf } from "./field-set.ts";
import { decodeFields, encodeFields } from "./fields-v1.ts";
import { compareText, goQuote, isMap, type JsonMap } from "./value.ts";

export type ManagerOperation = "Apply" | "Update";

/** One entry, in upstream's order of fields. */
export interface OwnedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: FieldSet;
  readonly subresource?: string;
}

/** Whose fields these are: one entry, taken apart. */
export interface Owner {
  readonly manager: string;
  readonly operation: ManagerOperation;
  readonly subresource: string;
  /** The version in which the fields of the set have these names. */
  readonly apiVersion: string;
  readonly time: string | undefined;
  readonly set: FieldSet;
}

/** Owners by what tells them apart. Never changed in place. */
export type OwnersByKey = ReadonlyMap<string, Owner>;

/** The same manager is another owner for each operation and subresource; and, unless it applies, for each version. */
export function ownerId({ manager, operation, subresource, apiVersion }: Omit<Owner, "set" | "time">): string {
  return JSON.stringify({
    manager: manager === "" ? undefined : manager,
    operation,
    apiVersion: operation === "Apply" ? undefined : apiVersion,
    subresource: subresource === "" ? undefined : subresource,
  });
}

/** Entries are immutable, and most are seen on every write of their object. */
const knownEntries = new WeakMap<object, { readonly id: string; readonly owner: Owner }>();

/** Whether this is an entry as it was read or written before: well-formed, and never to be changed. */
export const isKnownEntry = (entry: unknown): boolean => knownEntries.has(entry as object);

/** Throws FieldSetError for what is no list of entries. */
export function decodeManaged(entries: unknown): OwnersByKey {
  if (entries === undefined || entries === null) return new Map();
  if (!Array.isArray(entries)) throw new FieldSetError("managedFields must be a list");
  const managed = new Map<string, Owner>();
  for (const [i, entry] of entries.entries()) {
    const { id, owner } = knownEntries.get(entry as object) ?? decodeEntry(entry, i);
    managed.set(id, owner);
  }
  return managed;
}

function decodeEntry(entry: unknown, index: number): { readonly id: string; readonly owner: Owner } {
  if (!isMap(entry)) throw new FieldSetError(`managed fields entry ${index} must be an object`);
  const { operation, fieldsType } = entry;
  if (operation !== "Apply" && operation !== "Update") throw new FieldSetError("operation must be `Apply` or `Update`");
  const apiVersion = text(entry, "apiVersion");
  if (apiVersion === "") throw new FieldSetError("apiVersion must not be empty");
  if (fieldsType === undefined || fieldsType === "")
    throw new FieldSetError(`missing fieldsType in managed fields entry ${index}`);
  if (fieldsType !== "FieldsV1")
    throw new FieldSetError(`invalid fieldsType ${goQuote(String(fieldsType))} in managed fields entry ${index}`);
  const time = text(entry, "time");
  const owner: Owner = {
    manager: text(entry, "manager"),
    operation,
    subresource: text(entry, "subresource"),
    apiVersion,
    time: time === "" ? undefined : time,
    set: decodeFields(entry.fieldsV1),
  };
  const decoded = { id: ownerId(owner), owner };
  knownEntries.set(entry, decoded);
  return decoded;
}

function text(entry: JsonMap, field: string): string {
  const value = entry[field] ?? "";
  if (typeof value !== "string") throw new FieldSetError(`${field} of a managed fields entry must be a string`);
  return value;
}

/** The entries of these owners: appliers first, then by time, manager, version and subresource. */
export function encodeManaged(managed: OwnersByKey): readonly OwnedFieldsEntry[] {
  return [...managed.values()].sort(compareOwners).map(encodeOwner);
}

const encoded = new WeakMap<Owner, OwnedFieldsEntry>();

export function encodeOwner(owner: Owner): OwnedFieldsEntry {
  const present = encoded.get(owner);
  if (present) return present;
  const { manager, operation, apiVersion, time, set, subresource } = owner;
  const entry: OwnedFieldsEntry = {
    ...(manager !== "" && { manager }),
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: "FieldsV1",
    fieldsV1: encodeFields(set),
    ...(subresource !== "" && { subresource }),
  };
  encoded.set(owner, entry);
  knownEntries.set(entry, { id: ownerId(owner), owner });
  return entry;
}

const compareOwners = (a: Owner, b: Owner): number =>
  compareText(a.operation, b.operation) ||
  seconds(a) - seconds(b) ||
  compareText(a.manager, b.manager) ||
  compareText(a.apiVersion, b.apiVersion) ||
  compareText(a.subresource, b.subresource);

function seconds({ time }: Owner): number {
  const parsed = time === undefined ? 0 : Date.parse(time);
  return Number.isNaN(parsed) ? 0 : Math.floor(parsed / 1000);
}

/**
 * With more managers than `most`, the oldest entries made by updates become one per version. Appliers are never merged: their sets say
 * what to remove when they no longer apply it.
 */
export function capUpdaters(managed: OwnersByKey, most = 10): OwnersByKey {
  const updaters = [...managed].filter(([, owner]) => owner.operation === "Update");
  if (updaters.length <= most) return managed;
  updaters.sort(([a, one], [b, other]) => seconds(one) - seconds(other) || compareText(a, b));

  const capped = new Map(managed);
  const oldest = new Map<string, string>();
  /** What is merged into one entry: one union for all of them, as each copies what it adds to. */
  const merged = new Map<string, FieldSet[]>();
  let count = updaters.length;
  for (const [id, owner] of updaters) {
    if (count <= most) break;
    const { apiVersion } = owner;
    const first = oldest.get(apiVersion);
    if (first === undefined) {
      oldest.set(apiVersion, id);
      continue;
    }
    const bucket = { manager: "ancient-changes", operation: "Update", apiVersion, subresource: "" } as const;
    const bucketId = ownerId(bucket);
    const earlier = id === bucketId || !capped.has(bucketId) ? first : bucketId;
    const sets = (earlier === bucketId && merged.get(bucketId)) || [capped.get(earlier)?.set ?? emptySet];
    merged.set(bucketId, sets);
    sets.push(owner.set);
    capped.delete(earlier);
    capped.delete(id);
    capped.set(bucketId, { ...bucket, time: owner.time, set: owner.set });
    count--;
  }
  for (const [id, sets] of merged) capped.set(id, { ...(capped.get(id) as Owner), set: unionOf(sets) });
  return capped;
}

/** What belongs to the server or to the request itself is never owned. */
export const serverFields = setOf(
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => ["f:metadata", `f:${name}`]),
);

/** Without the server's fields; without the owner if nothing else is left. */
export function stripped(managed: OwnersByKey, id: string): OwnersByKey {
  const owner = managed.get(id);
  if (owner === undefined) return managed;
  const set = difference(owner.set, serverFields);
  if (set === owner.set && !isEmptySet(set)) return managed;
  const out = new Map(managed);
  if (isEmptySet(set)) out.delete(id);
  else out.set(id, { ...owner, set });
  return out;
}

/** A client that sends no entries at all means that nobody shall own anything: an empty list, or one with a single empty entry. */
export const isReset = (entries: unknown): boolean =>
  Array.isArray(entries) &&
  (entries.length === 0 || (entries.length === 1 && isMap(entries[0]) && Object.keys(entries[0]).length === 0));
