// The body of a request made in the same process: an object instead of bytes.
import { setOwn } from "#base/collections.ts";
import { isKnownEntry } from "#schema/apply/managed.ts";
import { isMap } from "#schema/apply/value.ts";
import { decodeValue } from "#schema/decode.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { PatchType, RequestBody } from "#wire/api-request.ts";

/**
 * The body of a write of the status: a server of the same process is given that and the metadata, since it takes all else from what
 * it has. Over the network the whole object goes.
 */
export function statusBody(kind: AnyKind, object: object): RequestBody {
  const part: Record<string, unknown> = { ...object };
  for (const field of kind.model.fieldsOf(object)) if (field !== "status") delete part[field];
  return { decode: objectBody(part).decode, value: () => copyObject(object) };
}

/** The server gets a copy, since it fills in what is missing; the sender's object, often from a cache, stays as it is. */
export const objectBody = (object: unknown, patchType?: PatchType): RequestBody => ({
  decode: (subject) => decodeValue(subject, copyObject(object)),
  value: () => copyObject(object),
  ...(patchType && { patchType }),
});

/** Entries of managedFields are passed on as they are: a server that sees its own again need not read them again. */
function copyObject(value: unknown): unknown {
  if (!isMap(value) || !isMap(value.metadata) || !Array.isArray(value.metadata.managedFields)) return copy(value);
  const { managedFields, ...metadata } = value.metadata;
  const entries = managedFields.map((entry) => (isKnownEntry(entry) ? entry : copy(entry)));
  const made = copy({ ...value, metadata }) as { readonly metadata: Record<string, unknown> };
  made.metadata.managedFields = entries;
  return made;
}

/** A copy of a JSON value. Undefined fields are left out, as JSON leaves them out. Takes a fraction of structuredClone's time. */
function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : copy(item)));
  const source = value as Readonly<Record<string, unknown>>;
  const made: Record<string, unknown> = {};
  for (const key of Object.keys(source)) if (source[key] !== undefined) setOwn(made, key, copy(source[key]));
  return made;
}
